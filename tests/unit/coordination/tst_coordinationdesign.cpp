// SPDX-License-Identifier: Apache-2.0
// coordination/ID.json: what it says, and each rule broken once, with the fault expected at exactly that place.
#include "../design/smalldesign.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;

namespace {
const QByteArray kPath = "coordination/island.json";
}

class CoordinationDesignTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyKey();
    void oneFault_data();
    void oneFault();
    void files_data();
    void files();
    void anOutputsFaultIsNotATasks();
};

void CoordinationDesignTest::everyKey()
{
    const auto design = parseDesign(smallDesign(), smallContext()).design;
    QVERIFY(design);
    QCOMPARE(design->coordinationList.size(), 1);
    QCOMPARE(design->coordinationByName.value("island mode", -1), 0);
    const CoordinationTask &task = *design->coordinationList.at(0);
    QCOMPARE(task.index, 0);
    QVERIFY(task.isEnabled && task.isDurable && task.hasCompensation());
    QCOMPARE(task.when->period, Milliseconds(5'000));
    QCOMPARE(task.when->phase, Milliseconds(500));
    QCOMPARE(task.priority, ControlPriority::GridLimit);
    QCOMPARE(task.lease, Milliseconds(4'000));
    QCOMPARE(task.steps.size(), 3);
    QCOMPARE(task.steps[0].output, PointHandle(1));
    QCOMPARE(std::get<Value>(task.steps[0].value), Value(5)); // an integer stays one
    QCOMPARE(task.steps[0].deadline, Milliseconds(300));
    QVERIFY(std::holds_alternative<CoordinationTask::Previous>(task.steps[0].compensation));
    QCOMPARE(std::get<CoordinationTask::CopyOf>(task.steps[1].value).point, PointHandle(5));
    QCOMPARE(task.steps[1].deadline, Milliseconds(2'000)); // the output's own
    QCOMPARE(std::get<Value>(task.steps[1].compensation), Value(-50));
    QVERIFY(std::holds_alternative<CoordinationTask::RunNumber>(task.steps[2].value));
    QCOMPARE(task.steps[2].compensation.index(), std::size_t(0));

    DesignDocument plain = smallDesign();
    plain["coordination/island.json"] = R"({"id": "island", "name": "i", "steps": [
        {"id": "a", "point": "meter1.setpoint", "value": 0.5}, {"id": "b", "point": "meter1.setpoint", "value": true}]})";
    const ParsedDesign parsed = parseDesign(plain, smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    const CoordinationTask &defaults = *parsed.design->coordinationList.at(0);
    QVERIFY(defaults.isEnabled && !defaults.isDurable && !defaults.hasCompensation() && !defaults.when);
    QCOMPARE(defaults.priority, ControlPriority::Schedule);
    QCOMPARE(defaults.lease, Milliseconds(10'000));
    QCOMPARE(std::get<Value>(defaults.steps[0].value), Value(0.5));
    QCOMPARE(std::get<Value>(defaults.steps[1].value), Value(true));
}

void CoordinationDesignTest::oneFault_data()
{
    QTest::addColumn<QString>("pointer");
    QTest::addColumn<QByteArray>("value"); ///< none: the key is removed
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("at"); ///< where the fault is, if not at the pointer
    const auto row = [](const char *pointer, const char *value, const char *code, const char *at = nullptr) {
        QTest::addRow("%s = %s", pointer, value) << QString::fromLatin1(pointer) << QByteArray(value)
                                                 << QString::fromLatin1(code) << QString::fromLatin1(at ? at : pointer);
    };
    row("/id", "\"other\"", "design.idMismatch");
    row("/enabled", "\"no\"", "design.wrongType");
    row("/when", "1", "design.wrongType");
    row("/when/periodMs", "9", "design.outOfRange");
    row("/when/phaseMs", "5000", "design.outOfRange");
    row("/when/kind", "\"periodic\"", "design.unknownKey");
    row("/priority", "\"urgent\"", "design.unknownWord");
    row("/leaseMs", "9", "design.outOfRange");
    row("/durable", "1", "design.wrongType");
    row("/overlap", "\"skip\"", "design.unknownKey");
    row("/steps", "", "design.missing");
    row("/steps", "[]", "design.missing");
    row("/steps/1/id", "\"one\"", "design.duplicateId");
    row("/steps/0/point", "\"meter1.set-point\"", "design.unknownPoint");
    row("/steps/0/point", "\"meter1.active-power\"", "design.notAnOutput");
    row("/steps/0/point", "\"demand.shaved\"", "design.notAnOutput");
    row("/steps/0/value", "", "design.missing");
    row("/steps/0/value", "null", "design.wrongType");
    row("/steps/0/value", "\"5\"", "design.wrongType");
    row("/steps/0/value", "50.1", "design.outOfRange");
    row("/steps/0/value", "-51", "design.outOfRange");
    row("/steps/1/value", "{}", "design.missing", "/steps/1/value/point");
    row("/steps/1/value/point", "\"demand.shaven\"", "design.unknownPoint");
    row("/steps/1/value/scale", "2", "design.unknownKey");
    row("/steps/2/value/run", "false", "design.outOfRange");
    row("/steps/2/value/run", "1", "design.wrongType");
    row("/steps/2/value/point", "\"demand.shaved\"", "design.unknownKey");
    row("/steps/0/deadlineMs", "0", "design.outOfRange");
    row("/steps/0/compensate", "\"previous\"", "design.wrongType");
    row("/steps/0/compensate", "{}", "design.missing", "/steps/0/compensate/previous");
    row("/steps/0/compensate/previous", "false", "design.outOfRange");
    row("/steps/1/compensate", "51", "design.outOfRange");
    row("/steps/0/compensation", "1", "design.unknownKey");
    row("/steps", "[5]", "design.wrongType", "/steps/0");
}

void CoordinationDesignTest::oneFault()
{
    QFETCH(QString, pointer);
    QFETCH(QByteArray, value);
    QFETCH(QString, code);
    QFETCH(QString, at);
    const ParsedDesign parsed = parseDesign(changed(kPath, pointer, value), smallContext());
    QVERIFY(!parsed.design);
    QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
    QCOMPARE(parsed.faults.front().code, code);
    QCOMPARE(parsed.faults.front().path, QString::fromUtf8(kPath));
    QCOMPARE(parsed.faults.front().pointer, at);
}

void CoordinationDesignTest::files_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("code");
    QTest::newRow("script") << QByteArray("coordination/task.lua") << QByteArray("log(1)") << "design.unknownFile";
    QTest::newRow("nothing to be durable for")
        << QByteArray("coordination/plain.json") << QByteArray(R"({"id": "plain", "name": "plain", "durable": true,
               "steps": [{"id": "a", "point": "meter1.setpoint", "value": 1}]})")
        << "design.notAllowed";
    QTest::newRow("name") << QByteArray("coordination/again.json")
                          << QByteArray(R"({"id": "again", "name": "island mode",
               "steps": [{"id": "a", "point": "meter1.setpoint", "value": 1}]})")
                          << "design.duplicateName";
    QByteArray many;
    for (int i = 0; i < 101; ++i)
        many += R"({"id": "s)" + QByteArray::number(i) + R"(", "point": "meter1.setpoint", "value": 1},)";
    QTest::newRow("steps") << QByteArray("coordination/many.json")
                           << R"({"id": "many", "name": "many", "steps": [)" + many.chopped(1) + "]}"
                           << "design.tooMany";
}

void CoordinationDesignTest::files()
{
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, text);
    DesignDocument document = smallDesign();
    document[path] = text;
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
    QTEST(parsed.faults.front().code, "code");
}

// What is wrong with an output is said once, where it stands.
void CoordinationDesignTest::anOutputsFaultIsNotATasks()
{
    const QString write = QStringLiteral("/points/1/write");
    for (const auto &[pointer, value] : {std::pair(write, QByteArray()), std::pair(write, QByteArray("true")),
                                         std::pair(write + QLatin1String("/min"), QByteArray("51"))}) {
        const ParsedDesign parsed = parseDesign(changed("devices/meter1.json", pointer, value), smallContext());
        QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
        QCOMPARE(parsed.faults.front().pointer, pointer);
    }
    const ParsedDesign unverified =
        parseDesign(changed("devices/meter1.json", write + QLatin1String("/verify"), "false"), smallContext());
    QVERIFY2(unverified.faults.size() == 3, texts(unverified.faults)); // one for each step
    QCOMPARE(unverified.faults.front().code, QStringLiteral("design.notAllowed"));
}

QTEST_APPLESS_MAIN(CoordinationDesignTest)
#include "tst_coordinationdesign.moc"
