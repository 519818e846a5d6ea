// SPDX-License-Identifier: Apache-2.0
// What fails must not stop the rest, and what was acknowledged must not be lost.
#include "protocols/mqtt/mqttclient.h"
#include "support/gatewaybed.h"

#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QSet>
#include <QTest>

#include <sqlite3.h>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr const char *kTwoDevices = R"({"devices":[{"id":"dev","type":"bulk"},{"id":"other","type":"bulk"}]})";
constexpr const char *kControl = R"(control.write("dev.set", run.number))";

qint64 countRows(const QString &database, const char *query)
{
    sqlite3 *db = nullptr;
    sqlite3_stmt *statement = nullptr;
    qint64 n = -1;
    if (sqlite3_open_v2(database.toUtf8().constData(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK
        && sqlite3_prepare_v2(db, query, -1, &statement, nullptr) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return n;
}

bool hasAlarm(const QJsonObject &status, const char *name)
{
    const QJsonArray alarms = status[QLatin1String("alarms")].toArray();
    return std::any_of(alarms.begin(), alarms.end(), [=](const QJsonValue &alarm) {
        return alarm[QLatin1String("name")].toString() == QLatin1String(name);
    });
}
} // namespace

class FaultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void killLosesNothingAcknowledged();
    void aDeadDeviceAndBrokerStopNothingElse();
    void aFullDiskStopsNoControl();
    void aDamagedLogIsAnAlarmNotAnEnd();
    void aSwitchedOffChannelRejectsItsWrites();
    void endlessScriptsDelayNoStop();
    void aDesignOfAlmostNothingRuns();
};

// kill -9 while the broker is away: every message that was committed arrives after the restart, every alarm
// transition that was reported durable is in the journal once.
void FaultsTest::killLosesNothingAcknowledged()
{
    GatewayBed bed;
    PrivateBroker broker;
    QVERIFY(broker.start().ok());
    broker.stop();
    const auto ports = bed.startSimulator(kTwoDevices);
    DesignDocument files = GatewayBed::baseDesign(broker.port());
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    files["alarms/site.json"] =
        R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})";
    GatewayBed::addPeriodicTrigger(files, "task", 50, R"(
        state.active = not state.active
        if state.active then alarm.raise("site.event") else alarm.clear("site.event") end
        mqtt.publish("numbers", {run = run.number}))");
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QJsonObject before = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"ledger", "alarms", "done"}) >= 40 && numberAt(s, {"records", "outbox"}) >= 40;
    });
    QVERIFY(!before.isEmpty());
    bed.killRuntime();

    QVERIFY(broker.restart().ok());
    MqttSettings settings;
    settings.host = QStringLiteral("127.0.0.1");
    settings.port = broker.port();
    settings.clientId = "outside";
    MqttClient client(settings);
    QSet<qint64> runs;
    QObject::connect(&client, &MqttClient::messageReceived, &client, [&](const MqttMessage &message) {
        const QJsonObject payload = QJsonDocument::fromJson(message.payload).object();
        if (message.topic == "gridloom/v1/gw/numbers")
            runs.insert(payload[QLatin1String("run")].toInteger());
    });
    QVERIFY(client.subscribe("gridloom/v1/#", 1).ok());
    client.open();
    QTRY_VERIFY_WITH_TIMEOUT(client.isConnected(), 10'000);

    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    // Runs are numbered from 1 in the first life; the second starts far above. Each run is one message.
    const qint64 committed = numberAt(before, {"ledger", "alarms", "done"});
    const auto allArrived = [&] {
        for (qint64 run = 1; run <= committed; ++run)
            if (!runs.contains(run))
                return false;
        return true;
    };
    QTRY_VERIFY_WITH_TIMEOUT(allArrived(), 20'000);
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(report));
    const QString database = bed.stateDir() + QStringLiteral("/records.db");
    QVERIFY(countRows(database, "SELECT count(*) FROM alarm_transitions WHERE run BETWEEN 1 AND 40") >= 40);
    QCOMPARE(countRows(database, "SELECT count(*) - count(DISTINCT run) FROM alarm_transitions WHERE run > 0"), 0);
    QCOMPARE(countRows(database, "SELECT count(*) FROM outbox"), 0);
}

void FaultsTest::aDeadDeviceAndBrokerStopNothingElse()
{
    GatewayBed bed;
    const auto ports = bed.startSimulator(kTwoDevices);
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort()); // nobody listens there
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    GatewayBed::addBulkDevice(files, PrivateBroker::findFreePort(), "dead");
    GatewayBed::addPeriodicTrigger(files, "control", 100, kControl);
    GatewayBed::addPeriodicTrigger(files, "talk", 100, R"(mqtt.publish("x", {run = run.number}))");
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime({QStringLiteral("--status-points"), QStringLiteral("dev.a,dead.a")}),
             bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"control", "confirmed"}) >= 30;
    });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(status));
    const QJsonValue values = status[QLatin1String("values")];
    QCOMPARE(values[QLatin1String("dev.a")][QLatin1String("q")].toString(), QStringLiteral("Good"));
    QVERIFY(values[QLatin1String("dead.a")][QLatin1String("q")].toString().startsWith(QStringLiteral("Bad_")));
    QVERIFY(values[QLatin1String("dead.a")][QLatin1String("v")].isNull());
    QVERIFY(numberAt(status, {"ledger", "mqtt", "inFlight"}) > 0); // they wait in the outbox
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(report));
}

void FaultsTest::aFullDiskStopsNoControl()
{
    GatewayBed bed;
    const auto ports = bed.startSimulator(kTwoDevices);
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    files["aggregations/sums.json"] = R"({"id":"sums","name":"sums","aggregations":[{"id":"row","name":"row"}]})";
    GatewayBed::addPeriodicTrigger(files, "control", 20, R"(
        control.write("dev.set", run.number)
        aggregation.write("sums.row", run.number))");
    bed.writeDesign(files);
    // No file may grow beyond 8 kB: what a full disk looks like to write(2), for history and records alike.
    QVERIFY2(bed.startRuntime({}, {QStringLiteral("prlimit"), QStringLiteral("--fsize=8192")}),
             bed.runtime().output().constData());
    const QJsonObject first = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"store", "lost"}) > 0 && numberAt(s, {"records", "failed"}) > 0;
    });
    QVERIFY2(!first.isEmpty(), bed.runtime().output().constData());
    const QJsonObject later = bed.statusWhere([&](const QJsonObject &s) {
        return numberAt(s, {"control", "confirmed"}) >= numberAt(first, {"control", "confirmed"}) + 50;
    });
    QVERIFY2(!later.isEmpty(), bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(later));
    QVERIFY(hasAlarm(later, "system.historyLost"));
    QVERIFY(hasAlarm(later, "system.recordsLost"));
}

void FaultsTest::aDamagedLogIsAnAlarmNotAnEnd()
{
    GatewayBed bed;
    const auto ports = bed.startSimulator(kTwoDevices);
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    bed.killRuntime();
    QFile database(bed.stateDir() + QStringLiteral("/records.db"));
    QVERIFY(database.open(QIODevice::WriteOnly | QIODevice::Truncate));
    database.write(QByteArray(8192, '\0')); // PC-18: same length, all NUL
    database.close();
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) { return hasAlarm(s, "system.stateDamaged"); });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().constData());
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
}

void FaultsTest::aSwitchedOffChannelRejectsItsWrites()
{
    GatewayBed bed;
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    GatewayBed::addBulkDevice(files, PrivateBroker::findFreePort());
    files["channels/dev-bus.json"].replace(R"("driver")", R"("enabled":false,"driver")");
    GatewayBed::addPeriodicTrigger(files, "control", 100, kControl);
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"control", "rejected"}) >= 10;
    });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().constData());
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(report));
    QCOMPARE(numberAt(report, {"ledger", "control", "inFlight"}), 0);
}

void FaultsTest::endlessScriptsDelayNoStop()
{
    GatewayBed bed;
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    for (int i = 0; i < 20; ++i) {
        const QByteArray id = "endless-" + QByteArray::number(i);
        GatewayBed::addPeriodicTrigger(files, id, 1000, "while true do end");
        files["triggers/" + id + ".json"].replace("}}", R"(},"timeLimitMs":1000})");
    }
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QVERIFY(!bed.statusWhere([](const QJsonObject &s) {
                    return numberAt(s, {"ledger", "triggers", "timedOut"}) >= 1;
                })
                 .isEmpty());
    QElapsedTimer time;
    time.start();
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    QVERIFY2(time.elapsed() < 10'000, "the stop took more than 10 s");
    QVERIFY(ledgersAddUp(report));
    QCOMPARE(numberAt(report, {"ledger", "triggers", "inFlight"}), 0);
}

void FaultsTest::aDesignOfAlmostNothingRuns()
{
    GatewayBed bed;
    DesignDocument files = GatewayBed::baseDesign(1);
    files.erase("sinks/mqtt.json");
    files.erase("stores/local.json");
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(report));
}

QTEST_GUILESS_MAIN(FaultsTest)
#include "tst_faults.moc"
