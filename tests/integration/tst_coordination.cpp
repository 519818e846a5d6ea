// SPDX-License-Identifier: Apache-2.0
// Coordination tasks over real processes: what the devices hold afterwards is read from them directly, not from the
// runtime, and what happened is read from records.db.
#include "support/gatewaybed.h"

#include <QTcpSocket>
#include <QTest>
#include <QtEndian>

#include <sqlite3.h>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr const char *kDevices =
    R"({"devices":[{"id":"dev","type":"bulk"},{"id":"other","type":"bulk"},{"id":"ev","type":"evCharger","maxA":32}]})";

/// A setpoint of a bulk device, asked for by a Modbus request of the test's own (function 3, uint32 ABCD).
qint64 heldBy(int port, int address)
{
    QTcpSocket socket;
    socket.connectToHost(QStringLiteral("127.0.0.1"), static_cast<quint16>(port));
    if (!socket.waitForConnected(5'000))
        return -1;
    QByteArray request = QByteArray::fromHex("000100000006010300000002");
    qToBigEndian(static_cast<quint16>(address), request.data() + 8);
    socket.write(request);
    QByteArray answer;
    while (answer.size() < 13 && socket.waitForReadyRead(5'000))
        answer += socket.readAll();
    return answer.size() == 13 ? qFromBigEndian<quint32>(answer.constData() + 9) : -1;
}

/// The only row of coordination_records, as "task|outcome|compensated|error"; empty until it is there.
QByteArray coordinationRecord(const QString &database)
{
    sqlite3 *db = nullptr;
    sqlite3_stmt *statement = nullptr;
    QByteArray text;
    if (sqlite3_open_v2(database.toUtf8().constData(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK
        && sqlite3_prepare_v2(
               db,
               "SELECT group_concat(task_id || '|' || outcome || '|' || compensated || '|' || error, ';') "
               "FROM coordination_records",
               -1, &statement, nullptr)
            == SQLITE_OK
        && sqlite3_step(statement) == SQLITE_ROW)
        text = reinterpret_cast<const char *>(sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}

/// Sets dev.set to 10 and starts the task once that and all of `known` can be read back.
QByteArray starter(const QByteArray &known)
{
    return R"(
        if not state.isPrimed then
          control.write("dev.set", 10)
          state.isPrimed = true
        elseif not state.isStarted and point("dev.set").value == 10 and )"
        + known + R"( then
          coordination.start("shift")
          state.isStarted = true
        end)";
}
} // namespace

class CoordinationTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRefusedStepPutsTheFirstDeviceBack();
    void aKilledRunIsTakenBackAtTheNextStart();
};

void CoordinationTest::aRefusedStepPutsTheFirstDeviceBack()
{
    GatewayBed bed;
    const auto ports = bed.startSimulator(kDevices);
    QCOMPARE(ports.size(), 3);
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    const int port = ports[QStringLiteral("dev")];
    GatewayBed::addBulkDevice(files, port);
    files["devices/dev.json"].replace(R"("periodMs":1000)", R"("periodMs":100)");
    files["channels/ev-bus.json"] =
        R"({"id":"ev-bus","name":"ev-bus","driver":"modbus","params":{"host":"127.0.0.1","port":)"
        + QByteArray::number(ports[QStringLiteral("ev")]) + "}}";
    files["devices/ev.json"] = R"({"id":"ev","name":"ev","channel":"ev-bus","params":{"unit":1},"points":[
        {"id":"limit","name":"limit","kind":"setpoint","address":"holding:0","type":"uint16","scale":0.1,
         "periodMs":100,"write":{}}]})";
    // 40 A is more than the charger takes: it answers with an exception.
    files["coordination/shift.json"] = R"({"id":"shift","name":"shift","steps":[
        {"id":"first","point":"dev.set","value":77,"compensate":{"previous":true}},
        {"id":"second","point":"ev.limit","value":40,"compensate":{"previous":true}}]})";
    GatewayBed::addPeriodicTrigger(files, "start", 100, starter(R"(point("ev.limit").good)"));
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"ledger", "coordination", "failed"}) == 1;
    });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(status));
    QCOMPARE(numberAt(status, {"ledger", "coordination", "offered"}), 1);
    const QJsonObject task = status[QLatin1String("coordination")][0].toObject();
    QCOMPARE(task[QLatin1String("compensated")].toInt(), 1);
    QCOMPARE(heldBy(port, 1000), 10);

    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    const QByteArray record = coordinationRecord(bed.stateDir() + QStringLiteral("/records.db"));
    QVERIFY2(record.startsWith("shift|Failed|1|step \"second\": ev.limit"), record.constData());
    QCOMPARE(heldBy(port, 1000), 10);
    // 10 by the trigger, 77, and 10 again.
    const QJsonObject sim = bed.stopSimulator();
    QCOMPARE(sim[QLatin1String("registerWrites")][QLatin1String("dev")][QLatin1String("holding:1000")].toInt(), 3);
}

// kill -9 after step 1, while step 2 is on its ramp.
void CoordinationTest::aKilledRunIsTakenBackAtTheNextStart()
{
    GatewayBed bed;
    const auto ports = bed.startSimulator(kDevices);
    QCOMPARE(ports.size(), 3);
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    const int port = ports[QStringLiteral("dev")];
    const int otherPort = ports[QStringLiteral("other")];
    GatewayBed::addBulkDevice(files, port);
    GatewayBed::addBulkDevice(files, otherPort, "other");
    for (const char *device : {"devices/dev.json", "devices/other.json"})
        files[device].replace(R"("periodMs":1000)", R"("periodMs":100)");
    files["devices/other.json"].replace(R"("write":{})", R"("write":{"rampPerS":10,"minIntervalMs":50})");
    files["coordination/shift.json"] = R"({"id":"shift","name":"shift","leaseMs":3600000,"steps":[
        {"id":"first","point":"dev.set","value":77,"compensate":{"previous":true}},
        {"id":"second","point":"other.set","value":100000,"deadlineMs":3600000,"compensate":{"previous":true}}]})";
    // The ramp counts from what was written before.
    GatewayBed::addPeriodicTrigger(
        files, "start", 100,
        R"(if not state.isWritten then control.write("other.set", 5) state.isWritten = true end )"
            + starter(R"(point("other.set").value == 5)"));
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QTRY_VERIFY_WITH_TIMEOUT(heldBy(otherPort, 1000) > 5, 20'000);
    QCOMPARE(heldBy(port, 1000), 77);
    bed.killRuntime();
    QCOMPARE(heldBy(port, 1000), 77);

    // The next life knows it, also without the trigger, and even when the task is gone from the design.
    files.erase("triggers/start.json");
    files.erase("triggers/start.lua");
    files.erase("coordination/shift.json");
    bed.writeDesign(files);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"ledger", "coordination", "failed"}) == 1;
    });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(status));
    QCOMPARE(heldBy(port, 1000), 10);
    QCOMPARE(heldBy(otherPort, 1000), 5);
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    const QString database = bed.stateDir() + QStringLiteral("/records.db");
    const QByteArray record = coordinationRecord(database);
    QCOMPARE(record, QByteArray("shift|Failed|1|the gateway was interrupted in the middle of this run"));

    // Once: the third life has nothing to take back.
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    QCOMPARE(numberAt(report, {"ledger", "coordination", "offered"}), 0);
    QCOMPARE(coordinationRecord(database), record);
}

QTEST_GUILESS_MAIN(CoordinationTest)
#include "tst_coordination.moc"
