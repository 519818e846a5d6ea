// SPDX-License-Identifier: Apache-2.0
#include "brokerwatcher.h"
#include "clientsettings.h"
#include "protocols/mqtt/mqttclient.h"
#include "tools/procs/privatebroker.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <QTest>

#include <ctime>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

/// An open() that takes longer than this has waited for the other side: seconds with a dead host or name server. A busy
/// machine alone can cost tens of milliseconds.
constexpr qint64 kBlockedMs = 200;

std::int64_t cpuMs()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

} // namespace

class MqttClientTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void publishesAtEveryQos();
    void refusesWhatCannotBePublished();
    void receivesAndResubscribes();
    void takesAFlood();
    void deadBrokerCostsNothing();
    void silentBrokerMeetsTheDeadline();
    void refusedLogin();
    void lossIsReportedAndRepaired();
    void willOnlyWithoutGoodbye();
    void userPropertyAndRefusalOfVersion5();
    void hostNames();
    void destroyedInAnyState();
};

void MqttClientTest::publishesAtEveryQos()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    MqttClient client(settingsFor(broker.port()));
    QSignalSpy connected(&client, &MqttClient::connected);
    QSignalSpy acknowledged(&client, &MqttClient::acknowledged);
    QVERIFY(!client.publish({"t", "early", 1, false}));
    client.open();
    QTRY_COMPARE(connected.count(), 1);

    QList<int> ids;
    for (std::uint8_t qos = 0; qos <= 2; ++qos) {
        const auto id = client.publish({"Z\xC3\xA4hler/1", "payload " + QByteArray::number(qos), qos, false});
        QVERIFY(id.ok());
        ids.append(id.value());
    }
    QCOMPARE(acknowledged.count(), 0); // never from inside publish(), not even at QoS 0
    QTRY_COMPARE(acknowledged.count(), 3);
    for (const auto &call : std::as_const(acknowledged))
        QVERIFY(ids.removeOne(call.at(0).toInt()));
    QTRY_COMPARE(watcher.messages().size(), 3);
    QCOMPARE(watcher.payloads("Z\xC3\xA4hler/1"), (QList<QByteArray>{"payload 0", "payload 1", "payload 2"}));
    QCOMPARE(watcher.messages().at(2).qos, QByteArray("2"));
}

void MqttClientTest::refusesWhatCannotBePublished()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    MqttClient client(settingsFor(broker.port()));
    QSignalSpy connected(&client, &MqttClient::connected);
    QSignalSpy disconnected(&client, &MqttClient::disconnected);
    client.open();
    QTRY_COMPARE(connected.count(), 1);
    // PC-15: such a topic must not reach the broker, which would close the connection for ever.
    for (const QByteArray &topic : {QByteArray("a/RGB+CW"), QByteArray("A#1"), QByteArray(), QByteArray(65'536, 'x'),
                                    QByteArray("a\0b", 3), QByteArray("\xC3")}) {
        const auto result = client.publish({topic, "x", 1, false});
        QVERIFY(!result);
        QCOMPARE(result.error().code, QStringLiteral("mqtt.topic"));
        QVERIFY(!result.error().isRetryable);
    }
    QVERIFY(!client.subscribe("a/#/b", 0));
    QSignalSpy acknowledged(&client, &MqttClient::acknowledged);
    QVERIFY(client.publish({QByteArray(65'535, 'x'), "x", 1, false}).ok());
    QTRY_COMPARE(acknowledged.count(), 1);
    QCOMPARE(disconnected.count(), 0);
}

void MqttClientTest::receivesAndResubscribes()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    MqttClient receiver(settingsFor(broker.port()));
    MqttSettings senderSettings = settingsFor(broker.port());
    senderSettings.clientId = "sender";
    MqttClient sender(senderSettings);
    QSignalSpy subscribed(&receiver, &MqttClient::subscribed);
    QSignalSpy received(&receiver, &MqttClient::messageReceived);
    QSignalSpy ready(&sender, &MqttClient::connected);
    QVERIFY(receiver.subscribe("in/+", 1));
    receiver.open();
    sender.open();
    QTRY_COMPARE(subscribed.count(), 1);
    QCOMPARE(subscribed.at(0).at(1).toBool(), true);
    QTRY_COMPARE(ready.count(), 1);
    QVERIFY(sender.publish({"in/a", "first", 1, false}).ok());
    QTRY_COMPARE(received.count(), 1);

    broker.kill();
    QVERIFY(broker.restart());
    QTRY_COMPARE(subscribed.count(), 2);
    QTRY_COMPARE(ready.count(), 2);
    const QByteArray binary("\0\xFF second", 9);
    QVERIFY(sender.publish({"in/b", binary, 1, true}).ok());
    QTRY_COMPARE(received.count(), 2);
    const auto message = received.at(1).at(0).value<MqttMessage>();
    QCOMPARE(message.topic, QByteArray("in/b"));
    QCOMPARE(message.payload, binary);
    QCOMPARE(message.qos, std::uint8_t(1));
}

void MqttClientTest::takesAFlood()
{
    constexpr int kMessages = 20'000;
    PrivateBroker broker;
    QVERIFY(broker.start());
    MqttClient client(settingsFor(broker.port()));
    QSignalSpy subscribed(&client, &MqttClient::subscribed);
    QEventLoop loop; // QTRY_ sleeps between its looks, which would be all that is measured
    int received = 0;
    int inOrder = 0;
    connect(&client, &MqttClient::messageReceived, this, [&](const MqttMessage &message) {
        inOrder += message.payload.toInt() == received ? 1 : 0;
        if (++received == kMessages)
            loop.quit();
    });
    QVERIFY(client.subscribe("flood", 1));
    client.open();
    QTRY_COMPARE(subscribed.count(), 1);
    int sent = 0;
    const auto sendMore = [&] {
        if (sent < kMessages)
            QVERIFY(client.publish({"flood", QByteArray::number(sent++), 1, false}).ok());
    };
    connect(&client, &MqttClient::acknowledged, this, sendMore); // a slot may publish
    for (int i = 0; i < 20; ++i)
        sendMore();
    QTimer::singleShot(30s, &loop, &QEventLoop::quit);
    loop.exec();
    QCOMPARE(received, kMessages);
    QCOMPARE(inOrder, kMessages);
}

void MqttClientTest::deadBrokerCostsNothing()
{
    MqttClient client(settingsFor(PrivateBroker::findFreePort()));
    QSignalSpy disconnected(&client, &MqttClient::disconnected);
    QElapsedTimer timer;
    timer.start();
    client.open();
    QVERIFY(timer.elapsed() < kBlockedMs);
    const LoopTurns turns;
    const std::int64_t cpuBefore = cpuMs();
    QTRY_COMPARE_WITH_TIMEOUT(disconnected.count(), 8, 10'000);
    // 20, 40, 66 .. ms and longer, never shorter: eight failures need seven waits.
    QVERIFY2(timer.elapsed() >= 20 + 40 + 5 * 66, qPrintable(QString::number(timer.elapsed())));
    QCOMPARE(lastError(disconnected).code, QStringLiteral("mqtt.connect"));
    QVERIFY2(lastError(disconnected).message.contains(QStringLiteral("Connection refused")),
             qPrintable(lastError(disconnected).message));
    QVERIFY2(turns.count < 500, qPrintable(QString::number(turns.count)));
    QVERIFY(cpuMs() - cpuBefore < timer.elapsed() / 2);

    MqttSettings unreachable = settingsFor(1883);
    unreachable.host = QStringLiteral("192.0.2.1"); // TEST-NET-1: nobody answers, or no route
    unreachable.connectTimeout = 100ms;
    MqttClient lost(unreachable);
    QSignalSpy given(&lost, &MqttClient::disconnected);
    timer.start();
    lost.open();
    QVERIFY(timer.elapsed() < kBlockedMs);
    QTRY_VERIFY(given.count() >= 2);
}

void MqttClientTest::silentBrokerMeetsTheDeadline()
{
    QTcpServer silent; // accepts by the backlog and never answers
    QVERIFY(silent.listen(QHostAddress::LocalHost));
    MqttSettings settings = settingsFor(silent.serverPort());
    settings.connectTimeout = 300ms;
    MqttClient client(settings);
    QSignalSpy disconnected(&client, &MqttClient::disconnected);
    const LoopTurns turns;
    QElapsedTimer timer;
    timer.start();
    client.open();
    QTRY_COMPARE(disconnected.count(), 1);
    QVERIFY(timer.elapsed() >= 280);
    QVERIFY(timer.elapsed() < 2'000);
    QCOMPARE(lastError(disconnected).code, QStringLiteral("mqtt.timeout"));
    QVERIFY2(turns.count < 100, qPrintable(QString::number(turns.count)));
    QTRY_COMPARE(disconnected.count(), 3);
}

void MqttClientTest::refusedLogin()
{
    PrivateBroker broker({QStringLiteral("gateway"), QStringLiteral("secret"), {}, QStringLiteral("mosquitto")});
    QVERIFY(broker.start());
    MqttSettings settings = settingsFor(broker.port());
    settings.username = QStringLiteral("gateway");
    settings.password = QStringLiteral("wrong");
    MqttClient wrong(settings);
    QSignalSpy disconnected(&wrong, &MqttClient::disconnected);
    wrong.open();
    QTRY_VERIFY(disconnected.count() >= 2);
    QCOMPARE(lastError(disconnected).code, QStringLiteral("mqtt.refused"));
    QVERIFY(!lastError(disconnected).message.contains(QStringLiteral("wrong")));
    wrong.close();

    settings.password = QStringLiteral("secret");
    MqttClient right(settings);
    QSignalSpy connected(&right, &MqttClient::connected);
    right.open();
    QTRY_COMPARE(connected.count(), 1);
}

void MqttClientTest::lossIsReportedAndRepaired()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    MqttClient client(settingsFor(broker.port()));
    QSignalSpy connected(&client, &MqttClient::connected);
    QSignalSpy disconnected(&client, &MqttClient::disconnected);
    client.open();
    QTRY_COMPARE(connected.count(), 1);
    broker.kill();
    // Writing into the dead connection, before its end was seen, is an error or stays unacknowledged; never a crash.
    const auto published = client.publish({"t", "lost", 1, false});
    QVERIFY(published.ok() || published.error().isRetryable);
    QTRY_VERIFY(disconnected.count() >= 1);
    QCOMPARE(disconnected.at(0).at(0).value<Error>().code, QStringLiteral("mqtt.lost"));
    QVERIFY(!client.isConnected());
    QVERIFY(broker.restart());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    QTRY_COMPARE(connected.count(), 2);
    QVERIFY(client.publish({"t", "after", 1, false}).ok());
    QTRY_COMPARE(watcher.payloads("t"), QList<QByteArray>{"after"}); // nothing of the old session
    client.dropConnection({QStringLiteral("test.drop"), QStringLiteral("the test says so"), true});
    QTRY_COMPARE(connected.count(), 3);
    QCOMPARE(lastError(disconnected).code, QStringLiteral("test.drop"));
}

void MqttClientTest::willOnlyWithoutGoodbye()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    MqttSettings settings = settingsFor(broker.port());
    settings.will = MqttWill{"gone", "will", 1, true};
    for (const bool saysGoodbye : {true, false}) {
        MqttClient client(settings);
        QSignalSpy connected(&client, &MqttClient::connected);
        client.open();
        QTRY_COMPARE(connected.count(), 1);
        QVERIFY(client.publish({"before", "x", 0, false}).ok());
        if (saysGoodbye) {
            client.close();
            client.close();
        }
    }
    QTRY_COMPARE(watcher.payloads("gone"), QList<QByteArray>{"will"});
    QTRY_COMPARE(watcher.payloads("before").size(), 2);
    QCOMPARE(watcher.messages().last().topic, QByteArray("gone")); // of the second client, after both "before"
}

void MqttClientTest::userPropertyAndRefusalOfVersion5()
{
    QTemporaryDir folder;
    QFile rules(folder.filePath(QStringLiteral("acl")));
    QVERIFY(rules.open(QIODevice::WriteOnly));
    rules.write("topic readwrite allowed/#\ntopic read #\n");
    rules.close();
    PrivateBroker broker({{}, {}, {QStringLiteral("acl_file ") + rules.fileName()}, QStringLiteral("mosquitto")});
    const auto started = broker.start();
    QVERIFY2(started.ok(), qPrintable(started.error().message));
    BrokerWatcher watcher;
    QVERIFY(watcher.start(broker.port()));
    MqttSettings settings = settingsFor(broker.port());
    settings.isVersion5 = true;
    MqttClient client(settings);
    QSignalSpy connected(&client, &MqttClient::connected);
    QSignalSpy acknowledged(&client, &MqttClient::acknowledged);
    QSignalSpy refused(&client, &MqttClient::refused);
    client.open();
    QTRY_COMPARE(connected.count(), 1);
    QVERIFY(client.publish({"allowed/t", "x", 1, false}, {{"id", "4711"}}).ok());
    const auto forbidden = client.publish({"forbidden/t", "x", 1, false});
    QVERIFY(forbidden.ok());
    QTRY_COMPARE(refused.count(), 1);
    QCOMPARE(refused.at(0).at(0).toInt(), forbidden.value());
    QTRY_COMPARE(acknowledged.count(), 1);
    QTRY_COMPARE(watcher.messages().size(), 1);
    QVERIFY2(watcher.messages().at(0).property.contains("4711"), watcher.messages().at(0).property.constData());
}

void MqttClientTest::hostNames()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    MqttSettings settings = settingsFor(broker.port());
    settings.host = QStringLiteral("localhost");
    MqttClient client(settings);
    QSignalSpy connected(&client, &MqttClient::connected);
    client.open();
    QTRY_COMPARE(connected.count(), 1);

    settings.host = QStringLiteral("no-such-host.invalid"); // RFC 6761: never resolves
    settings.connectTimeout = 200ms;
    MqttClient lost(settings);
    QSignalSpy disconnected(&lost, &MqttClient::disconnected);
    QElapsedTimer timer;
    timer.start();
    lost.open();
    QVERIFY(timer.elapsed() < kBlockedMs);
    QTRY_VERIFY(disconnected.count() >= 2);
    // Without a name server the resolver is slower than the deadline.
    QVERIFY(lastError(disconnected).code == QLatin1String("mqtt.host")
            || lastError(disconnected).code == QLatin1String("mqtt.timeout"));
}

void MqttClientTest::destroyedInAnyState()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    {
        MqttClient neverOpened(settingsFor(broker.port()));
    }
    {
        MqttClient opening(settingsFor(broker.port()));
        opening.open();
    }
    {
        MqttSettings settings = settingsFor(broker.port());
        settings.host = QStringLiteral("localhost");
        MqttClient lookingUp(settings);
        lookingUp.open();
    }
    auto *client = new MqttClient(settingsFor(broker.port()));
    QSignalSpy destroyed(client, &QObject::destroyed);
    connect(client, &MqttClient::connected, client, [client] {
        QVERIFY(client->publish({"t", "x", 0, false}).ok());
        client->close();
        client->deleteLater();
    });
    client->open();
    QTRY_COMPARE(destroyed.count(), 1);
}

QTEST_GUILESS_MAIN(MqttClientTest)
#include "tst_mqttclient.moc"
