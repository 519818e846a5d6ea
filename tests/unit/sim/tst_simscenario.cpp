// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/simscenario.h"

#include <QFile>
#include <QTest>

using namespace gridloom;

namespace {

Result<SimScenario> parse(const QByteArray &json)
{
    return parseSimScenario(json, QStringLiteral("s.json"));
}

} // namespace

class SimScenarioTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsTheSampleSite();
    void fillsDefaults();
    void everyFaultHasItsPlace_data();
    void everyFaultHasItsPlace();
    void listsAllFaults();
};

void SimScenarioTest::readsTheSampleSite()
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/samples/site-sim.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto scenario = parse(file.readAll());
    QVERIFY2(scenario, scenario ? "" : qPrintable(scenario.error().message));
    QStringList ids;
    for (const DeviceScenario &device : scenario.value().devices)
        ids.append(device.id);
    QCOMPARE(ids.join(QLatin1Char(' ')), QStringLiteral("meter1 pv1 pv2 battery1 ev1 ev2"));
    QCOMPARE(scenario.value().devices[5].portOf, std::optional<std::size_t>(4));
    QCOMPARE(scenario.value().devices[5].unit, 2);
    // 10:40 in January in Vienna is 09:40 UTC.
    QCOMPARE(scenario.value().site.start.toUTC(), QDateTime(QDate(2026, 1, 15), QTime(9, 40), Qt::UTC));
    QVERIFY(scenario.value().hasSite());
}

void SimScenarioTest::fillsDefaults()
{
    const auto scenario =
        parse(R"({"devices": [{"id": "b1", "type": "bulk"}, {"id": "p", "type": "pvInverter", "ratedKw": 7}]})");
    QVERIFY(scenario);
    const DeviceScenario &bulk = scenario.value().devices[0];
    QCOMPARE(bulk.port, quint16{0});
    QCOMPARE(bulk.unit, 1);
    QCOMPARE(bulk.setpoints, 16);
    QCOMPARE(bulk.changeEvery, std::chrono::milliseconds(1000));
    QCOMPARE(scenario.value().devices[1].peakKw, 7.0);
    QCOMPARE(scenario.value().site.profile, QStringLiteral("commerce"));
    QVERIFY(!scenario.value().site.start.isValid());
    QVERIFY(!parse(R"({"devices": [{"id": "b1", "type": "bulk"}]})").value().hasSite());
}

void SimScenarioTest::everyFaultHasItsPlace_data()
{
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QString>("place");
    const auto row = [](const char *name, const char *json, const char *place) {
        QTest::newRow(name) << QByteArray(json) << QString::fromLatin1(place);
    };
    row("no JSON", "{", "s.json:");
    row("no devices", "{}", "/devices");
    row("empty devices", R"({"devices": []})", "/devices");
    row("unknown key", R"({"devices": [{"id": "a", "type": "bulk", "ports": 1}]})", "/devices/0/ports");
    row("key of another type", R"({"devices": [{"id": "a", "type": "bulk", "maxA": 16}]})", "/devices/0/maxA");
    row("unknown type", R"({"devices": [{"id": "a", "type": "windmill"}]})", "/devices/0/type");
    row("id", R"({"devices": [{"id": "A b", "type": "bulk"}]})", "/devices/0/id");
    row("id twice", R"({"devices": [{"id": "a", "type": "bulk"}, {"id": "a", "type": "bulk"}]})", "/devices/1/id");
    row("unit 0", R"({"devices": [{"id": "a", "type": "bulk", "unit": 0}]})", "/devices/0/unit");
    row("port", R"({"devices": [{"id": "a", "type": "bulk", "port": 65536}]})", "/devices/0/port");
    row("portOf a later device",
        R"({"devices": [{"id": "a", "type": "bulk", "portOf": "b"}, {"id": "b", "type": "bulk"}]})",
        "/devices/0/portOf");
    row("two ports",
        R"({"devices": [{"id": "a", "type": "bulk"}, {"id": "b", "type": "bulk", "portOf": "a", "port":5, "unit":2}]})",
        "/devices/1/port");
    row("same unit by portOf",
        R"({"devices": [{"id": "a", "type": "bulk"}, {"id": "b", "type": "bulk", "portOf": "a"}]})", "/devices/1/unit");
    row("same unit by port",
        R"({"devices": [{"id": "a", "type": "bulk", "port": 5}, {"id": "b", "type": "bulk", "port": 5}]})",
        "/devices/1/unit");
    row("two meters", R"({"devices": [{"id": "a", "type": "gridMeter"}, {"id": "b", "type": "gridMeter"}]})",
        "/devices/1/type");
    row("rating", R"({"devices": [{"id": "a", "type": "battery", "ratedKw": 501}]})", "/devices/0/ratedKw");
    row("zone", R"({"site": {"zone": "Europe/Atlantis"}, "devices": [{"id": "a", "type": "bulk"}]})", "/site/zone");
    row("start", R"({"site": {"startOfDay": "today"}, "devices": [{"id": "a", "type": "bulk"}]})", "/site/startOfDay");
    row("negative load", R"({"site": {"loadKwhPerYear": -1}, "devices": [{"id": "a", "type": "bulk"}]})",
        "/site/loadKwhPerYear");
}

void SimScenarioTest::everyFaultHasItsPlace()
{
    QFETCH(QByteArray, json);
    QFETCH(QString, place);
    const auto scenario = parse(json);
    QVERIFY(!scenario);
    QCOMPARE(scenario.error().code, QStringLiteral("sim.scenario"));
    QVERIFY2(scenario.error().message.contains(place), qPrintable(scenario.error().message));
    QCOMPARE(scenario.error().message.count(QLatin1Char('\n')), 0);
}

void SimScenarioTest::listsAllFaults()
{
    const auto scenario =
        parse(R"({"site": {"seed": -1}, "devices": [{"id": "a", "type": "evCharger", "maxA": 5}], "x": 1})");
    QVERIFY(!scenario);
    for (const char *place : {"/site/seed", "/devices/0/maxA", "/x"})
        QVERIFY2(scenario.error().message.contains(QLatin1String(place)), place);
}

QTEST_APPLESS_MAIN(SimScenarioTest)
#include "tst_simscenario.moc"
