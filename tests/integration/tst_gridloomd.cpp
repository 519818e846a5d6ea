// SPDX-License-Identifier: Apache-2.0
// gridloomd as a user meets it: options, a wrong design, an ordinary run, an orderly stop.
#include "support/gatewaybed.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr const char *kBulk = R"({"devices":[{"id":"dev","type":"bulk","setpoints":4}]})";
// All four effects of a run, as the performance test defines a task.
constexpr const char *kTask = R"(
state.active = not state.active
control.write("dev.set", run.number)
if state.active then alarm.raise("site.event") else alarm.clear("site.event") end
mqtt.publish("alarm/task", {trigger = "task", run = run.number})
aggregation.write("sums.row", run.number)
)";

DesignDocument wholeDesign(int devicePort, int brokerPort)
{
    DesignDocument files = GatewayBed::baseDesign(brokerPort);
    GatewayBed::addBulkDevice(files, devicePort);
    GatewayBed::addPeriodicTrigger(files, "task", 100, kTask);
    files["alarms/site.json"] =
        R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})";
    files["aggregations/sums.json"] = R"({"id":"sums","name":"sums","aggregations":[
        {"id":"mean","name":"mean","inputs":["dev.a"],"windowMs":1000,"fold":"mean"},{"id":"row","name":"row"}]})";
    return files;
}
} // namespace

class GridloomdTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void optionsAreChecked_data();
    void optionsAreChecked();
    void aWrongDesignIsRefusedWhole();
    void everyEffectIsConfirmedAndCounted();
};

void GridloomdTest::optionsAreChecked_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QByteArray>("says");
    const auto list = [](std::initializer_list<const char *> words) {
        QStringList l;
        for (const char *word : words)
            l << QLatin1String(word);
        return l;
    };
    QTest::newRow("version") << list({"--version"}) << 0 << QByteArray("gridloomd 0.1.0");
    QTest::newRow("help") << list({"--help"}) << 0 << QByteArray("--status-socket");
    QTest::newRow("unknown option") << list({"--desing", "x"}) << 2 << QByteArray("desing");
    QTest::newRow("stray word") << list({"site"}) << 2 << QByteArray("site");
    QTest::newRow("speed is no number") << list({"--speed", "fast"}) << 2 << QByteArray("--speed");
    QTest::newRow("no such configuration")
        << list({"--config", "/nonexistent.conf"}) << 2 << QByteArray("/nonexistent.conf");
    QTest::newRow("no such design") << list({"--design", "/nonexistent", "--check"}) << 3 << QByteArray("/nonexistent");
    QTest::newRow("origin of settings") << list({"--print-config", "--speed", "3"}) << 0
                                        << QByteArray("runtime/speed = 3  (command line)");
}

void GridloomdTest::optionsAreChecked()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, exitCode);
    QFETCH(QByteArray, says);
    ChildProcess process;
    QVERIFY(process.start(GatewayBed::program("gridloomd"), arguments).ok());
    QVERIFY(process.waitForExit(10s));
    QCOMPARE(process.exitCode(), exitCode);
    QVERIFY2(process.output().contains(says), process.output().constData());
}

void GridloomdTest::aWrongDesignIsRefusedWhole()
{
    GatewayBed bed;
    DesignDocument files = wholeDesign(1, 1);
    files["devices/dev.json"] = R"({"id":"dev","name":"dev","channel":"dev-bus","params":{"unit":300},"points":[
        {"id":"a","name":"a.b","kind":"measured","address":"holding:99999","type":"int17"}]})";
    files["devices/lost.json"] = R"({"id":"lost","name":"lost","channel":"nowhere","params":{},"points":[]})";
    files["triggers/task.lua"] = "local x =\nretrun 1";
    bed.writeDesign(files);
    QVERIFY(!bed.startRuntime());
    QVERIFY(bed.runtime().waitForExit(10s));
    QCOMPARE(bed.runtime().exitCode(), 3);
    const QByteArray &said = bed.runtime().output();
    for (const char *place :
         {"devices/lost.json/channel", "devices/dev.json/params/unit", "devices/dev.json/points/0/name",
          "devices/dev.json/points/0/address", "devices/dev.json/points/0/type", "triggers/task.lua:2"})
        QVERIFY2(said.contains(place), (QByteArray(place) + " is missing in:\n" + said).constData());
    QVERIFY(!QFileInfo::exists(bed.stateDir())); // nothing was begun
}

void GridloomdTest::everyEffectIsConfirmedAndCounted()
{
    GatewayBed bed;
    PrivateBroker broker;
    QVERIFY(broker.start().ok());
    const auto ports = bed.startSimulator(kBulk);
    QVERIFY(ports.contains(QStringLiteral("dev")));
    bed.writeDesign(wholeDesign(ports[QStringLiteral("dev")], broker.port()));
    QVERIFY2(bed.startRuntime({QStringLiteral("--status-points"), QStringLiteral("dev.a,sums.mean")}),
             bed.runtime().output().constData());
    const QJsonObject status = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"ledger", "triggers", "done"}) >= 30
            && !s[QLatin1String("values")][QLatin1String("sums.mean")][QLatin1String("v")].isNull();
    });
    QVERIFY2(!status.isEmpty(), bed.runtime().output().constData());
    QVERIFY(ledgersAddUp(status));
    QCOMPARE(status[QLatin1String("values")][QLatin1String("dev.a")][QLatin1String("q")].toString(),
             QStringLiteral("Good"));

    QElapsedTimer stopTime;
    stopTime.start();
    QJsonObject report;
    QCOMPARE(bed.stopRuntime(report), 0);
    QVERIFY(stopTime.elapsed() < 10'000);
    QCOMPARE(report[QLatin1String("state")].toString(), QStringLiteral("stopped"));
    QVERIFY(ledgersAddUp(report));
    for (const char *name : {"points", "triggers", "control", "mqtt", "alarms"}) {
        QCOMPARE(numberAt(report, {"ledger", name, "inFlight"}), 0);
        QCOMPARE(numberAt(report, {"ledger", name, "done"}), numberAt(report, {"ledger", name, "offered"}));
    }
    const qint64 runs = numberAt(report, {"ledger", "triggers", "done"});
    QCOMPARE(numberAt(report, {"aggregationRuns"}), runs);
    QCOMPARE(numberAt(report, {"store", "aggregationRows"}), runs);
    // The simulator's own count of what reached it.
    const QJsonObject outside = bed.stopSimulator();
    QCOMPARE(numberAt(outside, {"writes"}),
             numberAt(report, {"control", "confirmed"}) + numberAt(report, {"control", "mismatch"}));
    QCOMPARE(numberAt(outside, {"reads"}),
             numberAt(report, {"requests", "reads"}) + numberAt(report, {"requests", "readBacks"}));
}

QTEST_GUILESS_MAIN(GridloomdTest)
#include "tst_gridloomd.moc"
