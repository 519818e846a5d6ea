// SPDX-License-Identifier: Apache-2.0
// T12 and T13: the broker is away, silent, refuses, is slow to acknowledge; the runtime is killed meanwhile. Nothing that was
// taken over is lost, each topic keeps its order, and no more comes twice than is on its way at a time.
#include "faults/faultsize.h"
#include "faults/loadbed.h"
#include "support/droppingproxy.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <algorithm>

using namespace gridloom;
using namespace gridloom::faults;
using namespace std::chrono_literals;

namespace {
constexpr int kWindow = 20; ///< messages on their way at a time
constexpr auto kSimulation = R"({"devices":[{"id":"dev","type":"bulk"}]})";

qint64 rssKb(qint64 pid)
{
    QFile file(QStringLiteral("/proc/%1/status").arg(pid));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    for (const QByteArray &line : file.readAll().split('\n'))
        if (line.startsWith("VmRSS:"))
            return line.mid(6).trimmed().split(' ').first().toLongLong();
    return 0;
}

int openSockets(qint64 pid)
{
    int sockets = 0;
    for (const QFileInfo &link :
         QDir(QStringLiteral("/proc/%1/fd").arg(pid)).entryInfoList(QDir::System | QDir::Files | QDir::NoDotAndDotDot))
        sockets += QFile::symLinkTarget(link.filePath()).contains(QLatin1String("socket:")) ? 1 : 0;
    return sockets;
}
} // namespace

class BrokerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void awayAndKilled();
    void silentDrop();
    void acceptsAndCloses();
    void lateAcknowledgements();
    void refusesTheLogin();

private:
    /// A runtime whose one trigger publishes its run number every 20 ms, through the proxy.
    static QString prepare(LoadBed &bed, std::unique_ptr<DroppingProxy> &proxy, const QByteArray &sinkParams = {});
    static QJsonObject statusOf(LoadBed &bed, const std::function<bool(const QJsonObject &)> &holds, int timeoutMs);
    static void checkComplete(LoadBed &bed, int kills);
};

QString BrokerTest::prepare(LoadBed &bed, std::unique_ptr<DroppingProxy> &proxy, const QByteArray &sinkParams)
{
    const auto ports = bed.startSimulator(kSimulation);
    if (ports.isEmpty())
        return QStringLiteral("no simulator");
    if (const QString why = bed.startBroker(); !why.isEmpty())
        return why;
    proxy = std::make_unique<DroppingProxy>(bed.broker().port());
    DesignDocument files = GatewayBed::baseDesign(proxy->port());
    files["sinks/mqtt.json"].replace("}}", sinkParams + "}}");
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    GatewayBed::addPeriodicTrigger(files, "talk", 20, R"(mqtt.publish("numbers", {run = run.number}))");
    bed.writeDesign(files);
    return bed.startRuntime() ? QString() : QString::fromUtf8(bed.runtime().output());
}

// The subscriber reads meanwhile.
QJsonObject BrokerTest::statusOf(LoadBed &bed, const std::function<bool(const QJsonObject &)> &holds, int timeoutMs)
{
    QJsonObject status;
    const auto came = [&] {
        const QJsonObject next = bed.takeStatus();
        if (!next.isEmpty())
            status = next;
        return !next.isEmpty() && holds(next);
    };
    return QTest::qWaitFor(came, timeoutMs) ? status : QJsonObject();
}

// After an orderly stop: each run that has a record has its message outside, in order, and hardly any comes twice.
void BrokerTest::checkComplete(LoadBed &bed, int kills)
{
    QJsonObject last;
    // What is on its way is waited for.
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "inFlight"}) <= kWindow;
                 },
                 60'000)
                 .isEmpty());
    bed.runtime().requestStop();
    QVERIFY(QTest::qWaitFor([&] { return !bed.runtime().isRunning(); }, 20'000));
    QVERIFY2(bed.stopRuntime(last) == 0, bed.runtime().output().right(2000).constData());
    QVERIFY(ledgersAddUp(last));
    QCOMPARE(sqlNumber(bed.recordsDb(), "SELECT count(*) FROM outbox"), 0);
    QTest::qWait(200); // what the broker still holds for the subscriber
    const qint64 runs = sqlNumber(bed.recordsDb(), "SELECT count(*) FROM run_records");
    const auto received = bed.received().size();
    qint64 again = 0;
    for (const int times : bed.received())
        again += times - 1;
    report("messages", static_cast<qint64>(received));
    report("messagesTwice", again);
    QVERIFY2(received >= runs, qPrintable(QStringLiteral("%1 runs, %2 messages").arg(runs).arg(received)));
    QVERIFY(again <= qint64{kWindow} * (kills + 2));
    // A repetition goes back by a window at most; leaving out what came before, only new and higher ones come.
    for (const QList<qint64> &ids : bed.order()) {
        qint64 highest = 0;
        for (const qint64 id : ids) {
            QVERIFY2(id > highest || bed.received().value(id) > 1, "a message overtook an older one of its topic");
            highest = std::max(highest, id);
        }
    }
}

void BrokerTest::awayAndKilled()
{
    const int awayMs = bySize(2'000, 60'000, 3'600'000);
    LoadBed bed;
    std::unique_ptr<DroppingProxy> proxy;
    const QString why = prepare(bed, proxy);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "done"}) > 20;
                 },
                 10'000)
                 .isEmpty());
    const qint64 rssBefore = rssKb(bed.runtime().pid());
    proxy->setClosing(true);
    proxy->reset();
    QTest::qWait(awayMs / 2);
    bed.killRuntime(); // in the outage
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QTest::qWait(awayMs / 2);
    const qint64 rssAfter = rssKb(bed.runtime().pid());
    QVERIFY(sqlNumber(bed.recordsDb(), "SELECT count(*) FROM outbox") >= 0);
    proxy->setClosing(false);
    const qint64 before = bed.received().size();
    QVERIFY(QTest::qWaitFor([&] { return bed.received().size() > before + 5; }, 70'000));
    bed.killRuntime(); // in the drain
    QElapsedTimer drain;
    drain.start();
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "inFlight"}) <= kWindow;
                 },
                 bySize(30'000, 120'000, 720'000))
                 .isEmpty());
    report("T12.drainS", static_cast<double>(drain.elapsed()) * 1e-3);
    report("T12.rssGrowthKb", rssAfter - rssBefore);
    QVERIFY(rssAfter - rssBefore <= 16 * 1'024);
    checkComplete(bed, 2);
}

void BrokerTest::silentDrop()
{
    LoadBed bed;
    std::unique_ptr<DroppingProxy> proxy;
    const QString why = prepare(bed, proxy, R"(,"ackTimeoutMs":2000,"keepAliveS":5)");
    QVERIFY2(why.isEmpty(), qPrintable(why));
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "done"}) > 20;
                 },
                 10'000)
                 .isEmpty());
    proxy->setSilent(true);
    QTest::qWait(bySize(2'500, 60'000, 600'000));
    proxy->setSilent(false);
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "inFlight"}) <= kWindow;
                 },
                 90'000)
                 .isEmpty());
    checkComplete(bed, 1);
}

void BrokerTest::acceptsAndCloses()
{
    if (size() == Size::Short)
        QSKIP("waits for back-offs of many seconds: ./dev test slow --only T13");
    LoadBed bed;
    std::unique_ptr<DroppingProxy> proxy;
    const QString why = prepare(bed, proxy);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "done"}) > 20;
                 },
                 10'000)
                 .isEmpty());
    const int sockets = openSockets(bed.runtime().pid());
    proxy->setClosing(true);
    proxy->reset();
    const auto accepted = proxy->accepted();
    const int forMs = bySize(5'000, 60'000, 3'600'000);
    QTest::qWait(forMs);
    const auto attempts = static_cast<qint64>(proxy->accepted() - accepted);
    report("T13.attempts", attempts);
    QVERIFY(attempts >= 1);
    QVERIFY2(attempts <= forMs / 1'000 + 2, "attempts came faster than once a second: no back-off");
    QVERIFY(openSockets(bed.runtime().pid()) <= sockets);
    proxy->setClosing(false);
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "inFlight"}) <= kWindow;
                 },
                 90'000)
                 .isEmpty());
    checkComplete(bed, 1);
}

void BrokerTest::lateAcknowledgements()
{
    if (size() == Size::Short)
        QSKIP("waits for back-offs of many seconds: ./dev test slow --only T13");
    LoadBed bed;
    std::unique_ptr<DroppingProxy> proxy;
    const QString why = prepare(bed, proxy);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "done"}) > 20;
                 },
                 10'000)
                 .isEmpty());
    proxy->setDelay(bySize(1'500ms, 5'000ms, 5'000ms));
    QTest::qWait(bySize(3'000, 30'000, 300'000));
    proxy->setDelay(0ms);
    QVERIFY(!statusOf(
                 bed,
                 [](const QJsonObject &s) {
                     return numberAt(s, {"ledger", "mqtt", "inFlight"}) <= kWindow;
                 },
                 90'000)
                 .isEmpty());
    checkComplete(bed, 0);
}

// The broker wants a login that the gateway does not have; later one comes up that takes it.
void BrokerTest::refusesTheLogin()
{
    PrivateBroker strict({QStringLiteral("somebody"), QStringLiteral("secret"), {}, QStringLiteral("mosquitto")});
    QVERIFY(strict.start().ok());
    GatewayBed bed;
    const auto ports = bed.startSimulator(kSimulation);
    DesignDocument files = GatewayBed::baseDesign(strict.port());
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    GatewayBed::addPeriodicTrigger(files, "talk", 100, R"(
        mqtt.publish("numbers", {run = run.number})
        control.write("dev.set", run.number))");
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"control", "confirmed"}) >= 20 && numberAt(s, {"records", "outbox"}) >= 20;
    });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().right(2000).constData());
    QVERIFY(!status[QLatin1String("sinks")][0][QLatin1String("connected")].toBool());
    QCOMPARE(numberAt(status, {"ledger", "mqtt", "done"}), 0);
    QVERIFY(ledgersAddUp(status));
    const auto runs = numberAt(status, {"ledger", "mqtt", "offered"});
    bed.killRuntime();

    LoadBed open;
    const QString why = open.startBroker();
    QVERIFY2(why.isEmpty(), qPrintable(why));
    files["sinks/mqtt.json"].replace(QByteArray::number(strict.port()), QByteArray::number(open.broker().port()));
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QVERIFY(QTest::qWaitFor([&] { return open.received().size() >= runs; }, 30'000));
    QJsonObject last;
    QVERIFY2(bed.stopRuntime(last) == 0, bed.runtime().output().right(2000).constData());
}

QTEST_GUILESS_MAIN(BrokerTest)
#include "tst_fault_broker.moc"
