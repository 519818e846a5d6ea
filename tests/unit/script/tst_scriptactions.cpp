// SPDX-License-Identifier: Apache-2.0
// What a script may ask for, and what it may not.
#include "scriptbench.h"

#include <QJsonDocument>
#include <QTest>

using namespace gridloom;
using gridloom::test::ScriptBench;

class ScriptActionsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void collectsInOrder();
    void payloads_data();
    void payloads();
    void payloadsAreStrictJson();
    void refuses_data();
    void refuses();
    void actionsAreLimited();
    void bytesAreLimited();
    void oneLogCallIsOneLine();
    void logIsLimited();
    void alarmTextIsCut();

private:
    std::unique_ptr<ScriptBench> m_bench;
};

void ScriptActionsTest::init()
{
    m_bench = std::make_unique<ScriptBench>();
    const PointHandle power = m_bench->addPoint(QStringLiteral("power"));
    m_bench->addPoint(QStringLiteral("limit"), PointKind::Setpoint);
    m_bench->addRow(QStringLiteral("task"));
    m_bench->addRow(QStringLiteral("mean"), false);
    m_bench->addAlarm(QStringLiteral("overload"));
    m_bench->design.coordinationByName.insert("island", 3);
    m_bench->set(power, Value(50.5));
}

void ScriptActionsTest::collectsInOrder()
{
    const ScriptResult result = m_bench->run(QStringLiteral(
        "control.write('meter1.limit', point('meter1.power').value, {priority = 'gridLimit', ttlMs = 5000})\n"
        "control.write('meter1.limit', true)\n"
        "alarm.raise('site.overload', 'at ' .. 50)\nalarm.clear('site.overload')\n"
        "mqtt.publish('plant/state', {b = 1, a = {true, false}}, {qos = 2, retain = true})\n"
        "aggregation.write('rows.task', run.number)\n"
        "coordination.start('island')"));
    QCOMPARE(result.error, QString());
    QCOMPARE(result.actions.size(), std::size_t{7});
    const auto &write = std::get<ControlAction>(result.actions[0]);
    QCOMPARE(write.point, PointHandle{1});
    QVERIFY(write.value == Value(50.5));
    QCOMPARE(write.priority, std::optional(ControlPriority::GridLimit));
    QCOMPARE(write.ttl, std::optional(std::chrono::milliseconds(5000)));
    const auto &plain = std::get<ControlAction>(result.actions[1]);
    QVERIFY(plain.value == Value(true));
    QVERIFY(!plain.priority && !plain.ttl);
    const auto &raise = std::get<AlarmAction>(result.actions[2]);
    QCOMPARE(raise.alarm, 0);
    QVERIFY(raise.isRaise);
    QCOMPARE(raise.text, QByteArray("at 50"));
    QVERIFY(!std::get<AlarmAction>(result.actions[3]).isRaise);
    const auto &publish = std::get<PublishAction>(result.actions[4]);
    QCOMPARE(publish.topic, QByteArray("plant/state"));
    QCOMPARE(publish.payload, QByteArray("{\"a\":[true,false],\"b\":1}"));
    QCOMPARE(int(publish.qos), 2);
    QVERIFY(publish.isRetained);
    const auto &row = std::get<AggregationAction>(result.actions[5]);
    QCOMPARE(row.point, PointHandle{2});
    QVERIFY(row.value == Value(std::int64_t{1}));
    QCOMPARE(std::get<CoordinationAction>(result.actions[6]).task, 3);
}

void ScriptActionsTest::payloads_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<QByteArray>("json");
    const auto row = [](const char *lua, const char *json) {
        QTest::newRow(lua) << QString::fromUtf8(lua) << QByteArray(json);
    };
    row("nil", "null");
    row("true", "true");
    row("9007199254740993", "9007199254740993");
    row("-1.3", "-1.3");
    row("0.1 + 0.2", "0.30000000000000004");
    row("1e300", "1e+300");
    row("0/0", "null");
    row("{v = 1/0, w = -1/0}", "{\"v\":null,\"w\":null}");
    row("'a\"b\\n'", "\"a\\\"b\\n\"");
    row("{}", "{}");
    row("{{}, {1, {2}}}", "[{},[1,[2]]]");
    row("{Z = 1, a = 2, ['Z.1'] = 3, [''] = 4}", "{\"\":4,\"Z\":1,\"Z.1\":3,\"a\":2}");
    row("param", "{\"n\":[1,2]}");
    row("param.n", "[1,2]");
}

void ScriptActionsTest::payloads()
{
    QFETCH(QString, lua);
    m_bench->trigger.params = QJsonDocument::fromJson(R"({"n":[1,2]})").object();
    const ScriptResult result = m_bench->run(QStringLiteral("mqtt.publish('x', %1)").arg(lua));
    QCOMPARE(result.error, QString());
    QTEST(std::get<PublishAction>(result.actions.at(0)).payload, "json");
}

// Qt's parser is the independent judge of what is JSON.
void ScriptActionsTest::payloadsAreStrictJson()
{
    const ScriptResult result = m_bench->run(QStringLiteral("mqtt.publish('x', {t = 'ctl\\1\\127\\xff \\u{1F600}', n = "
                                                            "{-0.0, 1e-320, math.pi, math.mininteger}, q = '\\\\'})"));
    QCOMPARE(result.error, QString());
    QJsonParseError error;
    QJsonDocument::fromJson(std::get<PublishAction>(result.actions.at(0)).payload, &error);
    QCOMPARE(error.error, QJsonParseError::NoError);
}

void ScriptActionsTest::refuses_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<QString>("part");
    const auto row = [](const char *lua, const char *part) {
        QTest::newRow(lua) << QString::fromUtf8(lua) << QString::fromUtf8(part);
    };
    row("control.write('meter1.limt', 1)", "unknown point 'meter1.limt'; did you mean 'meter1.limit'?");
    row("control.write('meter1.power', 1)", "'meter1.power' is not an output");
    row("control.write('rows.task', 1)", "is not an output");
    row("control.write('meter1.limit')", "the value is nil");
    row("control.write('meter1.limit', 0/0)", "not a finite number");
    row("control.write('meter1.limit', 1/0)", "not a finite number");
    row("control.write('meter1.limit', {})", "a table cannot be written");
    row("control.write('meter1.limit', point('meter1.power'))", "a point cannot be written");
    row("control.write('meter1.limit', 1, {prio = 1})", "unknown option 'prio'");
    row("control.write('meter1.limit', 1, {priority = 'high'})", "'priority' has to be one of safety");
    row("control.write('meter1.limit', 1, {ttlMs = 0})", "'ttlMs' has to be");
    row("control.write('meter1.limit', 1, {ttlMs = 1.5})", "'ttlMs' has to be");
    row("coordination.start('iland')", "unknown coordination task 'iland'; did you mean 'island'?");
    row("coordination.start()", "bad argument #1 to 'start'");
    row("alarm.raise('site.overlod')", "unknown alarm 'site.overlod'; did you mean 'site.overload'?");
    row("alarm.clear('x')", "unknown alarm 'x'");
    row("aggregation.write('rows.mean', 1)", "is not a row for triggers");
    row("aggregation.write('meter1.power', 1)", "is not a row for triggers");
    row("aggregation.write('rows.task', -1/0)", "not a finite number");
    row("mqtt.publish('a/+', 1)", "a topic holds no");
    row("mqtt.publish('a/#', 1)", "a topic holds no");
    row("mqtt.publish('/a', 1)", "a topic holds no");
    row("mqtt.publish('a\\0b', 1)", "a topic holds no");
    row("mqtt.publish('', 1)", "1 to 1024 bytes");
    row("mqtt.publish('\\xff', 1)", "UTF-8");
    row("mqtt.publish('x')", "value expected");
    row("mqtt.publish('x', {1, a = 2})", "mixes numbers and texts");
    row("mqtt.publish('x', {1, [3] = 2})", "gaps");
    row("mqtt.publish('x', {[1.5] = 2})", "key that is a number");
    row("mqtt.publish('x', {f = log})", "cannot hold a function");
    row("mqtt.publish('x', point('meter1.power'))", "cannot hold a point");
    row("local t = {} t.t = t mqtt.publish('x', t)", "more than 16 levels");
    row("mqtt.publish('x', 1, {qos = 3})", "'qos' has to be");
    row("mqtt.publish('x', 1, {retain = 1})", "'retain' has to be");
    row("mqtt.publish('x', 1, 'qos')", "table expected");
    row("mqtt.publish('x', 1, {2})", "unknown option 'number'");
}

void ScriptActionsTest::refuses()
{
    QFETCH(QString, lua);
    QFETCH(QString, part);
    const ScriptResult result = m_bench->run(QStringLiteral("\n") + lua);
    QCOMPARE(result.outcome, ScriptOutcome::Failed);
    QVERIFY2(result.error.startsWith(QLatin1String("test.lua:2: ")) && result.error.contains(part),
             qPrintable(result.error));
    QVERIFY(result.actions.empty());
}

void ScriptActionsTest::actionsAreLimited()
{
    const ScriptResult result = m_bench->run(QStringLiteral("for i = 1, 300 do control.write('meter1.limit', i) end"));
    QCOMPARE(result.outcome, ScriptOutcome::Failed);
    QCOMPARE(result.actions.size(), ScriptLimits{}.actions);
    QVERIFY2(result.error.contains(QLatin1String("more than 256 actions")), qPrintable(result.error));
}

// Payloads are held outside of the Lua heap: shared tables must not make them grow without end.
void ScriptActionsTest::bytesAreLimited()
{
    const ScriptResult doubling =
        m_bench->run(QStringLiteral("local t = {1} for i = 1, 14 do t = {t, t, t, t} end mqtt.publish('x', t)"));
    QCOMPARE(doubling.outcome, ScriptOutcome::Failed);
    QVERIFY2(doubling.error.contains(QLatin1String("longer than 262144 bytes")), qPrintable(doubling.error));
    const ScriptResult many =
        m_bench->run(QStringLiteral("local s = ('x'):rep(30000) for i = 1, 200 do mqtt.publish('x', s) end"));
    QCOMPARE(many.outcome, ScriptOutcome::Failed);
    QCOMPARE(many.actions.size(), std::size_t{8});
}

void ScriptActionsTest::oneLogCallIsOneLine()
{
    const ScriptResult result =
        m_bench->run(QStringLiteral("log('a\\nb\\27[2J', 1, nil, 'Zähler', {} ~= nil)\nlog()\nlog('')"));
    QCOMPARE(result.log, (std::vector<QByteArray>{"a\\nb\\x1b[2J 1 nil Zähler true", "", ""}));
}

void ScriptActionsTest::logIsLimited()
{
    const ScriptResult result = m_bench->run(
        QStringLiteral("log(('x'):rep(4000)) log(('y'):rep(200)) for i = 1, 1000 do log('z') log('') end"));
    QCOMPARE(result.outcome, ScriptOutcome::Ok);
    qsizetype bytes = 0;
    for (const QByteArray &line : result.log)
        bytes += line.size();
    QCOMPARE(bytes, qsizetype{4096});
    QCOMPARE(result.log.at(1), QByteArray(96, 'y'));
    QCOMPARE(result.logCut, std::uint64_t{2001});
}

void ScriptActionsTest::alarmTextIsCut()
{
    const ScriptResult result = m_bench->run(QStringLiteral("alarm.raise('site.overload', ('ä'):rep(600) .. '\\n')"));
    QCOMPARE(std::get<AlarmAction>(result.actions.at(0)).text, QByteArray("ä").repeated(512));
}

QTEST_APPLESS_MAIN(ScriptActionsTest)
#include "tst_scriptactions.moc"
