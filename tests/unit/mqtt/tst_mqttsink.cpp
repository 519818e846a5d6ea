// SPDX-License-Identifier: Apache-2.0
#include "brokerwatcher.h"
#include "recordinghost.h"
#include "resender.h"
#include "support/droppingproxy.h"
#include "tools/procs/privatebroker.h"

#include <QElapsedTimer>
#include <QJsonDocument>
#include <QPluginLoader>
#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>

#include <set>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

using Kind = RecordingHost::Call::Kind;

constexpr char kPrefix[] = "gridloom/v1/gw1";
constexpr char kStatus[] = "gridloom/v1/gw1/status";

OutboundMessage numbered(std::uint64_t id, std::uint8_t qos = 1)
{
    return {id, QByteArray(kPrefix) + "/telemetry/a", R"({"id":)" + QByteArray::number(id) + "}", qos, false};
}

std::vector<OutboundMessage> window(std::uint64_t firstId)
{
    std::vector<OutboundMessage> messages;
    for (std::uint64_t id = firstId; id < firstId + kSinkWindow; ++id)
        messages.push_back(numbered(id));
    return messages;
}

QJsonObject paramsFor(quint16 port)
{
    return {{QStringLiteral("host"), QStringLiteral("127.0.0.1")}, {QStringLiteral("port"), port}};
}

} // namespace

class MqttSinkTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void manifestLiesBesideTheCode();
    void deliversOnAcknowledgement();
    void killedBrokerFailsAllThatIsHeld();
    void everyNumberArrivesThroughLosses();
    void frozenBrokerIsLeft();
    void silentBrokerMeetsTheDeadline();
    void loginFromThePasswordFile();
    void stopSaysOffline();
    void stopWithAFullWindow();
    void suddenEndSaysOffline();
    void messageThatCannotBePublishedFailsAlone();
    void version5CarriesTheId();
    void wrongParametersAreNamed_data();
    void wrongParametersAreNamed();

private:
    std::unique_ptr<Sink> makeSink(SinkHost &host, const QJsonObject &params)
    {
        auto sink = m_factory->createSink(host, m_clock);
        const auto configured = sink->configure(params, kPrefix);
        if (!configured) {
            QTest::qFail(qPrintable(configured.error().message), __FILE__, __LINE__);
            return nullptr;
        }
        sink->start();
        return sink;
    }

    SystemClock m_clock;
    QPluginLoader m_loader;
    SinkFactory *m_factory = nullptr;
};

void MqttSinkTest::initTestCase()
{
    m_loader.setFileName(QStringLiteral(GRIDLOOM_BINARY_DIR "/lib/gridloom/plugins/sinks/mqtt/libmqtt.so"));
    m_factory = qobject_cast<SinkFactory *>(m_loader.instance());
    QVERIFY2(m_factory, qPrintable(m_loader.errorString()));
}

void MqttSinkTest::manifestLiesBesideTheCode()
{
    QFile file(QStringLiteral(GRIDLOOM_BINARY_DIR "/lib/gridloom/plugins/sinks/mqtt/plugin.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonObject manifest = QJsonDocument::fromJson(file.readAll()).object();
    QCOMPARE(manifest.value(QStringLiteral("id")).toString(), QStringLiteral("mqtt"));
    QCOMPARE(manifest.value(QStringLiteral("kind")).toString(), QStringLiteral("sink"));
    QCOMPARE(manifest.value(QStringLiteral("api")).toInt(), kSdkApi);
    QCOMPARE(m_loader.metaData().value(QStringLiteral("MetaData")).toObject(), manifest);
    QCOMPARE(m_loader.metaData().value(QStringLiteral("IID")).toString(), QStringLiteral(GRIDLOOM_SINK_IID));
}

void MqttSinkTest::deliversOnAcknowledgement()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    RecordingHost host;
    const auto sink = makeSink(host, paramsFor(broker.port()));
    QTRY_VERIFY(host.isUp);
    sink->send(window(1));
    const OutboundMessage unconfirmed = numbered(100, 0);
    sink->send({&unconfirmed, 1});
    QCOMPARE(host.count(Kind::Delivered), 0); // never from inside send()
    QTRY_COMPARE(host.count(Kind::Delivered), 21);
    QCOMPARE(host.count(Kind::Failed), 0);
    QTRY_COMPARE(watcher.payloads(QByteArray(kPrefix) + "/telemetry/a").size(), 21);
    QCOMPARE(watcher.payloads(QByteArray(kPrefix) + "/telemetry/a").at(19), QByteArray(R"({"id":20})"));
    const SinkStatistics statistics = sink->statistics();
    QCOMPARE(statistics.sent, 21u);
    QCOMPARE(statistics.acknowledged, 21u); // the status message counts nowhere
    QCOMPARE(statistics.connects, 1u);
    QVERIFY(statistics.isConnected);

    BrokerWatcher late;
    QVERIFY(late.start(broker.port()));
    QTRY_COMPARE(late.messages().size(), 1); // what is retained: the status
    QCOMPARE(late.messages().at(0).topic, QByteArray(kStatus));
    QCOMPARE(late.messages().at(0).isRetained, QByteArray("1"));
    QCOMPARE(QJsonDocument::fromJson(late.messages().at(0).payload).object().value(QStringLiteral("state")).toString(),
             QStringLiteral("online"));
}

void MqttSinkTest::killedBrokerFailsAllThatIsHeld()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    RecordingHost host;
    const auto sink = makeSink(host, paramsFor(broker.port()));
    QTRY_VERIFY(host.isUp);
    broker.setFrozen(true); // takes bytes, acknowledges nothing
    sink->send(window(1));
    broker.kill();
    QTRY_VERIFY(!host.isUp);
    QCOMPARE(host.count(Kind::Failed), 20);
    QCOMPARE(host.calls.last().kind, Kind::Down); // after every failed()
    QCOMPARE(host.calls.last().code, QStringLiteral("mqtt.lost"));
    QList<std::uint64_t> failed;
    for (const auto &call : std::as_const(host.calls)) {
        if (call.kind == Kind::Failed)
            failed.append(call.id);
    }
    for (std::uint64_t id = 1; id <= 20; ++id)
        QCOMPARE(failed.at(static_cast<int>(id) - 1), id);
    QVERIFY(!sink->statistics().isConnected);

    QVERIFY(broker.restart());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    QTRY_VERIFY_WITH_TIMEOUT(host.isUp, 10'000); // first retry after 1 to 1.5 s
    sink->send(window(1));
    QTRY_COMPARE(host.count(Kind::Delivered), 20);
    // Each once: nothing of the old connection was sent again by the library.
    QTRY_COMPARE(watcher.payloads(QByteArray(kPrefix) + "/telemetry/a").size(), 20);
    QCOMPARE(sink->statistics().connects, 2u);
}

// PC-14: through resets and silent losses of the network every number arrives; repeated ones only from the window.
void MqttSinkTest::everyNumberArrivesThroughLosses()
{
    constexpr std::uint64_t kCount = 3'000;
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    DroppingProxy link(broker.port());
    RecordingHost host;
    QJsonObject params = paramsFor(link.port());
    params.insert(QStringLiteral("ackTimeoutMs"), 300);
    const auto sink = makeSink(host, params);
    Resender resender(host, *sink, kCount, [](std::uint64_t id) { return numbered(id); });
    QTRY_VERIFY(resender.delivered() >= 500);
    link.reset();
    QTRY_VERIFY(!host.isUp);
    QTRY_VERIFY(resender.delivered() >= 1'000);
    link.setSilent(true); // no RST: bytes vanish in both directions
    QTRY_VERIFY(!host.isUp);
    QCOMPARE(host.lastError.code, QStringLiteral("mqtt.ackTimeout"));
    link.setSilent(false);
    QTRY_COMPARE_WITH_TIMEOUT(resender.delivered(), kCount, 20'000);
    QVERIFY(host.count(Kind::Failed) >= 1);
    QVERIFY(host.count(Kind::Failed) <= 2 * static_cast<int>(kSinkWindow));

    const QByteArray topic = QByteArray(kPrefix) + "/telemetry/a";
    QTRY_VERIFY(watcher.payloads(topic).contains(numbered(kCount).payload));
    const QList<QByteArray> payloads = watcher.payloads(topic);
    const std::set<QByteArray> distinct(payloads.begin(), payloads.end());
    for (std::uint64_t id = 1; id <= kCount; ++id)
        QVERIFY2(distinct.count(numbered(id).payload) == 1, qPrintable(QString::number(id)));
    QVERIFY(payloads.size() - static_cast<qsizetype>(distinct.size()) <= host.count(Kind::Failed));
}

void MqttSinkTest::frozenBrokerIsLeft()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    RecordingHost host;
    QJsonObject params = paramsFor(broker.port());
    params.insert(QStringLiteral("ackTimeoutMs"), 300);
    const auto sink = makeSink(host, params);
    QTRY_VERIFY(host.isUp);
    broker.setFrozen(true);
    QElapsedTimer timer;
    timer.start();
    sink->send(window(1));
    QTRY_VERIFY(!host.isUp);
    QVERIFY(timer.elapsed() >= 290);
    QVERIFY(timer.elapsed() < 3'000);
    QCOMPARE(host.lastError.code, QStringLiteral("mqtt.ackTimeout"));
    QCOMPARE(host.count(Kind::Failed), 20);
    broker.setFrozen(false);
    QTRY_VERIFY_WITH_TIMEOUT(host.isUp, 10'000);
    sink->send(window(1));
    QTRY_COMPARE(host.count(Kind::Delivered), 20);
}

void MqttSinkTest::silentBrokerMeetsTheDeadline()
{
    QTcpServer silent;
    QVERIFY(silent.listen(QHostAddress::LocalHost));
    RecordingHost host;
    QJsonObject params = paramsFor(silent.serverPort());
    params.insert(QStringLiteral("connectTimeoutMs"), 200);
    const auto sink = makeSink(host, params);
    QTRY_COMPARE(host.calls.size(), 1);
    QCOMPARE(host.calls.at(0).kind, Kind::Down);
    QCOMPARE(host.lastError.code, QStringLiteral("mqtt.timeout"));
}

void MqttSinkTest::loginFromThePasswordFile()
{
    PrivateBroker broker({QStringLiteral("gw"), QStringLiteral("s3cret"), {}, QStringLiteral("mosquitto")});
    QVERIFY(broker.start());
    QTemporaryDir folder;
    QFile passwords(folder.filePath(QStringLiteral("password")));
    QVERIFY(passwords.open(QIODevice::WriteOnly));
    passwords.write("guess\n");
    passwords.close();
    RecordingHost host;
    QJsonObject params = paramsFor(broker.port());
    params.insert(QStringLiteral("username"), QStringLiteral("gw"));
    params.insert(QStringLiteral("passwordFile"), passwords.fileName());
    const auto sink = makeSink(host, params);
    QTRY_COMPARE(host.calls.size(), 1);
    QCOMPARE(host.lastError.code, QStringLiteral("mqtt.refused"));
    QVERIFY(passwords.open(QIODevice::WriteOnly | QIODevice::Truncate));
    passwords.write("s3cret\n");
    passwords.close();
    QTRY_VERIFY_WITH_TIMEOUT(host.isUp, 10'000); // without a restart
}

void MqttSinkTest::stopSaysOffline()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    RecordingHost host;
    const auto sink = makeSink(host, paramsFor(broker.port()));
    QTRY_COMPARE(watcher.payloads(kStatus).size(), 1);
    sink->stop();
    sink->stop();
    QTRY_COMPARE(watcher.payloads(kStatus).size(), 2);
    const QJsonObject status = QJsonDocument::fromJson(watcher.payloads(kStatus).at(1)).object();
    QCOMPARE(status.value(QStringLiteral("state")).toString(), QStringLiteral("offline"));
    QVERIFY(status.contains(QStringLiteral("time"))); // the sink's own words, not the will
}

void MqttSinkTest::stopWithAFullWindow()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    RecordingHost host;
    const auto sink = makeSink(host, paramsFor(broker.port()));
    QTRY_VERIFY(host.isUp);
    broker.setFrozen(true);
    sink->send(window(1)); // must not keep the goodbye back
    sink->stop();
    broker.setFrozen(false);
    QCOMPARE(host.count(Kind::Failed), 20);
    QCOMPARE(host.lastError.code, QStringLiteral("mqtt.stopped"));
    // Goodbye or will: what stays at the broker is "offline".
    QTRY_VERIFY([&] {
        BrokerWatcher late;
        return late.start(broker.port()).ok() && QTest::qWaitFor([&] { return !late.payloads(kStatus).isEmpty(); })
            && late.payloads(kStatus).at(0).contains("offline");
    }());
}

void MqttSinkTest::suddenEndSaysOffline()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    RecordingHost host;
    auto sink = makeSink(host, paramsFor(broker.port()));
    QTRY_COMPARE(watcher.payloads(kStatus).size(), 1);
    sink.reset(); // the socket closes without a word, as when the process is killed
    QTRY_COMPARE(watcher.payloads(kStatus).size(), 2);
    QCOMPARE(watcher.payloads(kStatus).at(1), QByteArray(R"({"state":"offline"})"));
}

void MqttSinkTest::messageThatCannotBePublishedFailsAlone()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    RecordingHost host;
    const auto sink = makeSink(host, paramsFor(broker.port()));
    QTRY_VERIFY(host.isUp);
    OutboundMessage bad = numbered(7);
    bad.topic = "gridloom/v1/gw1/state/RGB+CW";
    const std::vector<OutboundMessage> messages{numbered(6), bad, numbered(8)};
    sink->send(messages);
    QTRY_COMPARE(host.count(Kind::Delivered), 2);
    QCOMPARE(host.count(Kind::Failed), 1);
    QCOMPARE(host.lastError.code, QStringLiteral("mqtt.topic"));
    QVERIFY(!host.lastError.isRetryable);
    QVERIFY(host.isUp);
}

void MqttSinkTest::version5CarriesTheId()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    RecordingHost host;
    QJsonObject params = paramsFor(broker.port());
    params.insert(QStringLiteral("version"), QStringLiteral("5"));
    const auto sink = makeSink(host, params);
    QTRY_VERIFY(host.isUp);
    const OutboundMessage message = numbered(18'446'744'073'709'551'615ULL);
    sink->send({&message, 1});
    QTRY_COMPARE(host.count(Kind::Delivered), 1);
    QTRY_COMPARE(watcher.messages().size(), 2);
    QVERIFY2(watcher.messages().at(1).property.contains("18446744073709551615"),
             watcher.messages().at(1).property.constData());
}

void MqttSinkTest::wrongParametersAreNamed_data()
{
    QTest::addColumn<QByteArray>("params");
    QTest::addColumn<QString>("word");
    QTest::newRow("no host") << QByteArray(R"({})") << QStringLiteral("host");
    QTest::newRow("port") << QByteArray(R"({"host":"h","port":65536})") << QStringLiteral("65536");
    QTest::newRow("half a login") << QByteArray(R"({"host":"h","passwordFile":"/p"})") << QStringLiteral("username");
    QTest::newRow("half a certificate") << QByteArray(R"({"host":"h","tls":{"certFile":"/c"}})")
                                        << QStringLiteral("keyFile");
}

void MqttSinkTest::wrongParametersAreNamed()
{
    QFETCH(QByteArray, params);
    QFETCH(QString, word);
    RecordingHost host;
    const auto sink = m_factory->createSink(host, m_clock);
    const auto result = sink->configure(QJsonDocument::fromJson(params).object(), kPrefix);
    QVERIFY(!result);
    QCOMPARE(result.error().code, QStringLiteral("mqtt.settings"));
    QVERIFY2(result.error().message.contains(word), qPrintable(result.error().message));
}

QTEST_GUILESS_MAIN(MqttSinkTest)
#include "tst_mqttsink.moc"
