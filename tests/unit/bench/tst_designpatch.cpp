// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/designpatch.h"
#include "tools/bench/scenario.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

using namespace gridloom;

class DesignPatchTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void portsFollowTheDevices();
    void unservedChannelIsAnError();
    void scenariosOfTheFileFit_data();
    void scenariosOfTheFileFit();
    void unknownScenarioListsTheOthers();
};

namespace {

const DesignDocument kDesign{
    {"gridloom.json", "{\"schema\":1}"},
    {"channels/bus1.json",
     R"({"id":"bus1","driver":"modbus","params":{"host":"10.0.0.5","port":502,"timeoutMs":700}})"},
    {"channels/bus2.json", R"({"id":"bus2","driver":"modbus","params":{"host":"10.0.0.6"}})"},
    {"channels/host.json", R"({"id":"host","driver":"sysinfo"})"},
    {"devices/meter1.json", R"({"id":"meter1","channel":"bus1"})"},
    {"devices/ev1.json", R"({"id":"ev1","channel":"bus2"})"},
    {"devices/ev2.json", R"({"id":"ev2","channel":"bus2"})"},
    {"devices/site.json", R"({"id":"site"})"},
    {"sinks/broker.json", R"({"id":"broker","sink":"mqtt","params":{"host":"b","port":1883,"clientId":"x"}})"},
};

QJsonObject params(const DesignDocument &document, const char *path)
{
    return QJsonDocument::fromJson(document.at(path)).object().value(QLatin1String("params")).toObject();
}

QByteArray scenarios()
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/baselines/scenarios.json"));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

void DesignPatchTest::portsFollowTheDevices()
{
    const QHash<QString, int> ports{
        {QStringLiteral("meter1"), 15021}, {QStringLiteral("ev1"), 15022}, {QStringLiteral("ev2"), 15022}};
    const auto patched = patchAddresses(kDesign, ports, 18830);
    QVERIFY(patched.ok());
    const DesignDocument &design = patched.value();
    QCOMPARE(params(design, "channels/bus1.json"),
             (QJsonObject{{QStringLiteral("host"), QStringLiteral("127.0.0.1")},
                          {QStringLiteral("port"), 15021},
                          {QStringLiteral("timeoutMs"), 700}}));
    QCOMPARE(params(design, "channels/bus2.json").value(QLatin1String("port")).toInt(), 15022);
    QCOMPARE(params(design, "channels/host.json"), QJsonObject());
    QCOMPARE(params(design, "sinks/broker.json"),
             (QJsonObject{{QStringLiteral("host"), QStringLiteral("127.0.0.1")},
                          {QStringLiteral("port"), 18830},
                          {QStringLiteral("clientId"), QStringLiteral("x")}}));
    for (const char *untouched : {"gridloom.json", "devices/meter1.json", "devices/site.json"})
        QCOMPARE(design.at(untouched), kDesign.at(untouched));
}

void DesignPatchTest::unservedChannelIsAnError()
{
    const auto patched = patchAddresses(kDesign, {{QStringLiteral("meter1"), 15021}}, 18830);
    QVERIFY(!patched);
    QCOMPARE(patched.error().code, QStringLiteral("bench.design"));
    QVERIFY(patched.error().message.contains(QStringLiteral("bus2")));
}

void DesignPatchTest::scenariosOfTheFileFit_data()
{
    QTest::addColumn<QString>("id");
    QTest::addColumn<int>("devices");
    QTest::addColumn<int>("triggers");
    QTest::addColumn<bool>("isRealTime");
    QTest::newRow("S1") << QStringLiteral("S1") << 10 << 10 << true;
    QTest::newRow("S2") << QStringLiteral("S2") << 40 << 22 << true;
    QTest::newRow("S2.5") << QStringLiteral("S2.5") << 40 << 22 << false;
    QTest::newRow("S3") << QStringLiteral("S3") << 100 << 54 << true;
    QTest::newRow("S3.5") << QStringLiteral("S3.5") << 100 << 54 << false;
    QTest::newRow("S6") << QStringLiteral("S6") << 100 << 60 << true;
}

void DesignPatchTest::scenariosOfTheFileFit()
{
    QFETCH(QString, id);
    const auto scenario = parseScenario(scenarios(), id);
    QVERIFY2(scenario.ok(), scenario.ok() ? "" : qPrintable(scenario.error().message));
    QTEST(scenario.value().bulkDevices(), "devices");
    QTEST(scenario.value().triggers(), "triggers");
    QTEST(scenario.value().isRealTimeStorage, "isRealTime");
}

void DesignPatchTest::unknownScenarioListsTheOthers()
{
    const auto scenario = parseScenario(scenarios(), QStringLiteral("S9"));
    QVERIFY(!scenario);
    QVERIFY(scenario.error().message.contains(QStringLiteral("S2.5")));
    QVERIFY(!parseScenario("not json", QStringLiteral("S1")));
}

QTEST_APPLESS_MAIN(DesignPatchTest)
#include "tst_designpatch.moc"
