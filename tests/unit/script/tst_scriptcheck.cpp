// SPDX-License-Identifier: Apache-2.0
#include "script/scriptcheck.h"

#include <QTest>

using namespace gridloom;

class ScriptCheckTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyNameIsChecked_data();
    void everyNameIsChecked();
    void aCycleOfComputedPointsIsAFault();

private:
    static std::shared_ptr<const Design> design(const QByteArray &lua, const QByteArray &expression = "1");
};

std::shared_ptr<const Design> ScriptCheckTest::design(const QByteArray &lua, const QByteArray &expression)
{
    const DesignDocument files = {
        {"gridloom.json", R"({"schema":1,"site":{"id":"s","name":"S","zone":"UTC"},"gateway":{"id":"g","name":"G"}})"},
        {"channels/bus.json", R"({"id":"bus","name":"bus","driver":"fake","params":{}})"},
        {"devices/dev.json",
         R"({"id":"dev","name":"dev","channel":"bus","params":{},"points":[
            {"id":"power","name":"power","kind":"measured","address":"1","type":"int16"},
            {"id":"limit","name":"limit","kind":"setpoint","address":"2","type":"int16","write":{}},
            {"id":"sum","name":"sum","kind":"computed","expression":")"
             + expression + R"("}]})"},
        {"aggregations/sums.json", R"({"id":"sums","name":"sums","aggregations":[{"id":"row","name":"row"},
            {"id":"mean","name":"mean","inputs":["dev.power"],"windowMs":1000,"fold":"mean"}]})"},
        {"alarms/site.json", R"({"id":"site","name":"site","alarms":[{"id":"hot","name":"hot","severity":"low"}]})"},
        {"coordination/c.json", R"({"id":"c","name":"island","steps":[{"id":"a","point":"dev.limit","value":1}]})"},
        {"triggers/t.json", R"({"id":"t","name":"t","when":{"kind":"periodic","periodMs":1000}})"},
        {"triggers/t.lua", lua}};
    DesignContext context;
    context.manifests[QStringLiteral("driver/fake")] = {{QStringLiteral("id"), QStringLiteral("fake")},
                                                        {QStringLiteral("kind"), QStringLiteral("driver")},
                                                        {QStringLiteral("params"), QJsonObject()},
                                                        {QStringLiteral("deviceParams"), QJsonObject()},
                                                        {QStringLiteral("addressPattern"), QStringLiteral(".*")}};
    const ParsedDesign parsed = parseDesign(files, context);
    for (const DesignFault &fault : parsed.faults)
        qFatal("%s", qPrintable(fault.text()));
    return parsed.design;
}

void ScriptCheckTest::everyNameIsChecked_data()
{
    QTest::addColumn<QByteArray>("lua");
    QTest::addColumn<QString>("code"); // empty: no fault
    QTest::addColumn<QString>("says");
    const auto row = [](const char *lua, const char *code, const char *says) {
        QTest::newRow(lua) << QByteArray("-- one\n") + lua << QString::fromLatin1(code) << QString::fromLatin1(says);
    };
    row("return point('dev.power').value + point('sums.mean').value", "", "");
    row("control.write('dev.limit', 1) alarm.raise('site.hot') aggregation.write('sums.row', 1)", "", "");
    row("return point('dev.pwer')", "design.unknownPoint", "did you mean \"dev.power\"?");
    row("control.write('dev.limt', 1)", "design.unknownPoint", "did you mean \"dev.limit\"?");
    row("control.write('dev.power', 1)", "design.notAnOutput", "write");
    row("aggregation.write('sums.mean', 1)", "design.notARow", "without inputs");
    row("aggregation.write('dev.limit', 1)", "design.notARow", "without inputs");
    row("alarm.clear('site.cold')", "design.unknownAlarm", "site.cold");
    row("coordination.start('island')", "", "");
    row("coordination.start 'iland'", "design.unknownTask", "did you mean \"island\"?");
}

void ScriptCheckTest::everyNameIsChecked()
{
    QFETCH(QByteArray, lua);
    QFETCH(QString, code);
    QFETCH(QString, says);
    const auto faults = checkScripts(*design(lua));
    if (code.isEmpty()) {
        QVERIFY(faults.empty());
        return;
    }
    QCOMPARE(faults.size(), std::size_t(1));
    QCOMPARE(faults[0].code, code);
    QCOMPARE(faults[0].path, QStringLiteral("triggers/t.lua"));
    QCOMPARE(faults[0].line, 2);
    QVERIFY2(faults[0].message.contains(says), qPrintable(faults[0].message));
}

void ScriptCheckTest::aCycleOfComputedPointsIsAFault()
{
    QVERIFY(checkScripts(*design("", "point('dev.power').value")).empty());
    const auto faults = checkScripts(*design("", "point('dev.sum').value"));
    QCOMPARE(faults.size(), std::size_t(1));
    QCOMPARE(faults[0].code, QStringLiteral("design.expression"));
    QVERIFY(faults[0].message.contains(QStringLiteral("dev.sum")));
}

QTEST_APPLESS_MAIN(ScriptCheckTest)
#include "tst_scriptcheck.moc"
