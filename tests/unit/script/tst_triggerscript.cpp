// SPDX-License-Identifier: Apache-2.0
// What a script sees: points, parameters, state, the run; its errors and its isolation.
#include "scriptbench.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

using namespace gridloom;
using gridloom::test::ScriptBench;

class TriggerScriptTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsValueQualityAndAge();
    void badPointsHaveNoValue();
    void integersKeepEveryDigit();
    void uint64Calculates_data();
    void uint64Calculates();
    void unknownPointIsNamed();
    void paramsAreReadOnly();
    void stateOutlivesTheRunAndGlobalsDoNot();
    void librariesCannotBeChanged();
    void runIsVisible();
    void errorsHaveTheirLine_data();
    void errorsHaveTheirLine();
    void syntaxErrorHasItsLine();
    void failingRunKeepsEarlierActions();
    void scriptsAreIsolated();
    void coroutinesAndProtectedCallsWork();
    void manyRunsDoNotGrow();
    void aRunIsCheap();
};

void TriggerScriptTest::readsValueQualityAndAge()
{
    ScriptBench bench;
    const PointHandle power = bench.addPoint(QStringLiteral("activePower"));
    const PointHandle name = bench.addPoint(QStringLiteral("name"));
    const PointHandle on = bench.addPoint(QStringLiteral("on"));
    bench.set(power, Value(12.5), Quality::UncertainLastUsable, std::chrono::milliseconds(1500));
    bench.set(name, Value(QByteArray("Zähler")));
    bench.set(on, Value(true));
    QCOMPARE(bench.log(QStringLiteral("local p = point('meter1.activePower')\n"
                                      "log(p.value, p.quality, p.good, p.age, point('meter1.name').value,"
                                      " point('meter1.on').value, point('meter1.on').good)")),
             QStringLiteral("12.5 Uncertain_LastUsableValue false 1.5 Zähler true true"));
    QVERIFY(bench.log(QStringLiteral("log(point('meter1.on').valu)")).contains(QLatin1String("no field 'valu'")));
}

void TriggerScriptTest::badPointsHaveNoValue()
{
    ScriptBench bench;
    bench.addPoint(QStringLiteral("never"));
    const PointHandle bad = bench.addPoint(QStringLiteral("bad"));
    bench.set(bad, Value(17), Quality::BadCommunicationError);
    QCOMPARE(bench.log(QStringLiteral("local n, b = point 'meter1.never', point 'meter1.bad'\n"
                                      "log(n.value, n.quality, n.good, n.age > 1e300, b.value, b.quality)")),
             QStringLiteral("nil Bad_WaitingForInitialData false true nil Bad_CommunicationError"));
}

// PC-02: 64-bit values above 2^53 keep their last digit on their way through Lua.
void TriggerScriptTest::integersKeepEveryDigit()
{
    ScriptBench bench;
    const PointHandle a = bench.addPoint(QStringLiteral("a"));
    const PointHandle b = bench.addPoint(QStringLiteral("b"));
    const PointHandle c = bench.addPoint(QStringLiteral("c"));
    const PointHandle out = bench.addPoint(QStringLiteral("out"), PointKind::Setpoint);
    bench.set(a, Value(std::int64_t{9007199254740993}));
    bench.set(b, Value(std::int64_t{-9007199254740993}));
    bench.set(c, Value(std::uint64_t{18446744073709551615ULL}));
    const ScriptResult result = bench.run(
        QStringLiteral("for _, n in ipairs{'a', 'b', 'c'} do\n local v = point('meter1.' .. n).value\n log(v)\n"
                       " control.write('meter1.out', v)\n mqtt.publish('x', {v = v})\nend"));
    QCOMPARE(result.error, QString());
    QCOMPARE(result.log, (std::vector<QByteArray>{"9007199254740993", "-9007199254740993", "18446744073709551615"}));
    const Value expected[] = {Value(std::int64_t{9007199254740993}), Value(std::int64_t{-9007199254740993}),
                              Value(std::uint64_t{18446744073709551615ULL})};
    QCOMPARE(result.actions.size(), std::size_t{6});
    for (std::size_t i = 0; i < 3; ++i) {
        const auto &write = std::get<ControlAction>(result.actions[2 * i]);
        QCOMPARE(write.point, out);
        QVERIFY(write.value == expected[i]);
        QCOMPARE(std::get<PublishAction>(result.actions[2 * i + 1]).payload, "{\"v\":" + result.log[i] + "}");
    }
}

// Expected results by Python's integers, which have no limit.
void TriggerScriptTest::uint64Calculates_data()
{
    QTest::addColumn<QString>("expression");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char *expression, const char *expected) {
        QTest::newRow(expression) << QString::fromLatin1(expression) << QString::fromLatin1(expected);
    };
    row("u - 1", "18446744073709551614");
    row("1 - u", "result does not fit");
    row("u - u", "0");
    row("u // 10", "1844674407370955161");
    row("u % 10", "5");
    row("u // -10", "-1844674407370955162");
    row("u % -10", "-5");
    row("-3 // u", "-1");
    row("-3 % u", "18446744073709551612");
    row("u // 0", "attempt to perform 'n//0' by zero");
    row("u + 1", "result does not fit");
    row("u * u", "result does not fit");
    row("m * 1", "9223372036854775808");
    row("m + m - 1", "result does not fit");
    row("m + (m - 1)", "18446744073709551615");
    row("-m", "-9223372036854775808");
    row("m - 1", "9223372036854775807");
    row("math.type(m - 1)", "integer");
    row("u + 1.5", "arithmetic of uint64 and float");
    row("u / 2", "use //");
    row("u:tofloat() / 2", "9.2233720368548e+18");
    row("u == u - 0", "true");
    row("u == m", "false");
    row("u > m", "true");
    row("u > 1", "true");
    row("-1 < u", "true");
    row("u < 1.8446744073709552e19", "true");
    row("u >= 1.8446744073709550e19", "true");
    row("u < 'x'", "attempt to compare");
    row("u .. '!'", "18446744073709551615!");
    row("getmetatable(u)", "false");
}

void TriggerScriptTest::uint64Calculates()
{
    QFETCH(QString, expression);
    QFETCH(QString, expected);
    ScriptBench bench;
    const PointHandle u = bench.addPoint(QStringLiteral("u"));
    const PointHandle m = bench.addPoint(QStringLiteral("m"));
    bench.set(u, Value(std::uint64_t{18446744073709551615ULL}));
    bench.set(m, Value(std::uint64_t{9223372036854775808ULL}));
    const QString text = bench.log(QStringLiteral("local u, m = point('meter1.u').value, point('meter1.m').value\n"
                                                  "log(%1)")
                                       .arg(expression));
    if (expected.contains(QLatin1Char(' ')))
        QVERIFY2(text.contains(expected), qPrintable(text));
    else
        QCOMPARE(text, expected);
}

void TriggerScriptTest::unknownPointIsNamed()
{
    ScriptBench bench;
    bench.addPoint(QStringLiteral("activePower"));
    QCOMPARE(bench.log(QStringLiteral("\nlog(point('meter1.activPower').value)")),
             QStringLiteral("test.lua:2: unknown point 'meter1.activPower'; did you mean 'meter1.activePower'?"));
    QVERIFY(bench.log(QStringLiteral("point('nothing.alike')")).contains(QLatin1String("no device and point")));
}

void TriggerScriptTest::paramsAreReadOnly()
{
    ScriptBench bench;
    bench.trigger.params =
        QJsonDocument::fromJson(
            R"({"limit":40,"factor":0.5,"big":9007199254740993,"loads":["a","b"],"deep":{"on":true}})")
            .object();
    QCOMPARE(bench.log(QStringLiteral("log(math.type(param.limit), param.factor, param.big, #param.loads,"
                                      " table.concat(param.loads, '+'), param.deep.on, param.none)")),
             QStringLiteral("integer 0.5 9007199254740993 2 a+b true nil"));
    QCOMPARE(bench.log(QStringLiteral("local n = 0 for k, v in pairs(param) do n = n + 1 end\n"
                                      "for i, v in ipairs(param.loads) do n = n + i end log(n, next(param.deep))")),
             QStringLiteral("8 on true"));
    for (const char *change : {"param.limit = 1", "param.deep.on = false", "param.loads[1] = 'x'",
                               "rawset(param, 'limit', 1)", "table.insert(param.loads, 'x')", "table.sort(param.loads)",
                               "setmetatable(param, {})", "getmetatable(param).x = 1"}) {
        const ScriptResult result = bench.run(QString::fromLatin1(change));
        QVERIFY2(result.outcome == ScriptOutcome::Failed, change);
    }
}

void TriggerScriptTest::stateOutlivesTheRunAndGlobalsDoNot()
{
    ScriptBench bench;
    const auto script = bench.compile(QStringLiteral(
        "state.n = (state.n or 0) + 1\nlog(state.n, leaked)\nleaked = 'from an earlier run'\nlog(leaked)"));
    for (int i = 1; i <= 3; ++i) {
        const ScriptResult result = bench.run(*script);
        QCOMPARE(result.log.front(), QByteArray::number(i) + " nil");
        QCOMPARE(result.log.back(), QByteArray("from an earlier run"));
    }
    QVERIFY(bench.log(QStringLiteral("state = {}")).contains(QLatin1String("'state' cannot be assigned")));
    QVERIFY(bench.log(QStringLiteral("function point() end")).contains(QLatin1String("cannot be assigned")));
}

void TriggerScriptTest::librariesCannotBeChanged()
{
    ScriptBench bench;
    for (const char *change :
         {"string.rep = nil", "rawset(string, 'rep', print)", "math.pi = 3", "control.write = nil",
          "getmetatable('').__index = math", "getmetatable(_ENV).__index = nil", "setmetatable(_ENV, nil)",
          "getmetatable(math).__index.pi = 3", "table.insert(table, 1)", "run.number = 7"}) {
        const ScriptResult result = bench.run(QString::fromLatin1(change));
        QVERIFY2(result.outcome == ScriptOutcome::Failed, change);
    }
}

void TriggerScriptTest::runIsVisible()
{
    ScriptBench bench;
    const auto script = bench.compile(QStringLiteral("log(run.number, string.format('%.3f', run.time))"));
    QCOMPARE(bench.run(*script, 41).log.front(), QByteArray("41 1785542400.250"));
    QCOMPARE(bench.run(*script, 42).log.front(), QByteArray("42 1785542400.250"));
}

void TriggerScriptTest::errorsHaveTheirLine_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<QString>("error");
    QTest::newRow("error") << QStringLiteral("\n\nerror('broken')") << QStringLiteral("test.lua:3: broken");
    QTest::newRow("nil arithmetic") << QStringLiteral("local x\nlocal y = x + 1")
                                    << QStringLiteral(
                                           "test.lua:2: attempt to perform arithmetic on a nil value (local 'x')");
    QTest::newRow("bad argument") << QStringLiteral(
        "\nstring.rep()") << QStringLiteral("test.lua:2: bad argument #1 to 'rep' (string expected, got no value)");
    QTest::newRow("error(nil)") << QStringLiteral("error(nil)")
                                << QStringLiteral("test.lua: the error is a nil value, not a text");
    QTest::newRow("error({})") << QStringLiteral("error({})")
                               << QStringLiteral("test.lua: the error is a table value, not a text");
    QTest::newRow("error(42)") << QStringLiteral("error(42)") << QStringLiteral("42");
    QTest::newRow("__tostring") << QStringLiteral(
        "error(setmetatable({}, {__tostring = function() return 'mine' end}))")
                                << QStringLiteral("mine");
    QTest::newRow("failing __tostring")
        << QStringLiteral("error(setmetatable({}, {__tostring = function() error(nil) end}))")
        << QStringLiteral("test.lua: the error is a table value, not a text, and its __tostring fails");
    QTest::newRow("control characters") << QStringLiteral("error('a\\n\\27b', 0)") << QStringLiteral("a\\n\\x1bb");
}

void TriggerScriptTest::errorsHaveTheirLine()
{
    QFETCH(QString, lua);
    ScriptBench bench;
    const ScriptResult result = bench.run(lua);
    QCOMPARE(result.outcome, ScriptOutcome::Failed);
    QTEST(result.error, "error");
}

void TriggerScriptTest::syntaxErrorHasItsLine()
{
    ScriptBench bench;
    bench.trigger.script = QStringLiteral("local a = 1\nif a then\nlog('x'");
    const auto script = TriggerScript::compile(bench.design, bench.trigger);
    QVERIFY(!script);
    QCOMPARE(script.error().code, QStringLiteral("script.syntax"));
    QVERIFY2(script.error().message.startsWith(QLatin1String("test.lua:3: ")), qPrintable(script.error().message));

    bench.trigger.script = QStringLiteral("\x1bLua");
    QVERIFY(!TriggerScript::compile(bench.design, bench.trigger));
}

void TriggerScriptTest::failingRunKeepsEarlierActions()
{
    ScriptBench bench;
    bench.addAlarm(QStringLiteral("overload"));
    const ScriptResult result =
        bench.run(QStringLiteral("alarm.raise('site.overload', 'too much')\nlog('before')\nerror('x')\nlog('after')"));
    QCOMPARE(result.outcome, ScriptOutcome::Failed);
    QCOMPARE(result.actions.size(), std::size_t{1});
    QCOMPARE(result.log, std::vector<QByteArray>{"before"});
}

void TriggerScriptTest::scriptsAreIsolated()
{
    ScriptBench bench;
    const auto one = bench.compile(QStringLiteral("state.secret = 'one'\nshared = 1"));
    const auto two = bench.compile(QStringLiteral("log(state.secret, shared)"));
    QCOMPARE(bench.run(*one).outcome, ScriptOutcome::Ok);
    QCOMPARE(bench.run(*two).log.front(), QByteArray("nil nil"));
}

void TriggerScriptTest::coroutinesAndProtectedCallsWork()
{
    ScriptBench bench;
    QCOMPARE(bench.log(QStringLiteral(
                 "local co = coroutine.wrap(function(a) local ok, b = pcall(coroutine.yield, a + 1) return b * 2 end)\n"
                 "log(co(1), co(20), pcall(error, 'e'), select('#', pcall(error)))")),
             QStringLiteral("2 40 false 2"));
    QCOMPARE(
        bench.log(QStringLiteral("log(xpcall(function(a) error(a, 0) end, function(m) return m .. '!' end, 'x'))")),
        QStringLiteral("false x!"));
    QCOMPARE(bench.log(QStringLiteral("log(xpcall(function(...) return ... end, error, 1, 2))")),
             QStringLiteral("true 1 2"));
    QCOMPARE(bench.log(QStringLiteral("local co = coroutine.create(function() error('inside', 0) end)\n"
                                      "log(coroutine.resume(co)) ")),
             QStringLiteral("false inside"));
    QCOMPARE(bench.log(QStringLiteral("local C = {} C.__index = C function C.get(o) return o.v end\n"
                                      "local o = setmetatable({v = 7}, C) log(o:get(), getmetatable(o) == C)")),
             QStringLiteral("7 true"));
}

void TriggerScriptTest::manyRunsDoNotGrow()
{
    ScriptBench bench;
    const PointHandle power = bench.addPoint(QStringLiteral("power"));
    bench.addPoint(QStringLiteral("out"), PointKind::Setpoint);
    bench.set(power, Value(50.0));
    const auto script = bench.compile(QStringLiteral(
        "local t = {} for i = 1, 20 do t[i] = string.format('%d:%g', i, point('meter1.power').value) end\n"
        "state.last = table.concat(t, ',') counter = (counter or 0) + 1\n"
        "control.write('meter1.out', point('meter1.power').value) mqtt.publish('x', {a = {1, 2}, b = state.last})"));
    std::size_t early = 0;
    for (int i = 0; i < 1000; ++i)
        early = std::max(early, bench.run(*script).memory);
    std::size_t late = 0;
    for (int i = 0; i < 10'000; ++i) {
        const ScriptResult result = bench.run(*script);
        QCOMPARE(result.outcome, ScriptOutcome::Ok);
        late = std::max(late, result.memory);
    }
    QVERIFY2(late <= early + early / 10, qPrintable(QStringLiteral("%1 -> %2").arg(early).arg(late)));
}

// A prepared run with 3 reads and 4 actions takes a few microseconds; the bound leaves room for sanitizers.
void TriggerScriptTest::aRunIsCheap()
{
    ScriptBench bench;
    for (const char *name : {"a", "b", "c"})
        bench.addPoint(QString::fromLatin1(name));
    bench.addPoint(QStringLiteral("out"), PointKind::Setpoint);
    bench.addRow(QStringLiteral("row"));
    bench.addAlarm(QStringLiteral("overload"));
    for (PointHandle point = 0; point < 3; ++point)
        bench.set(point, Value(50.0));
    const auto script = bench.compile(QStringLiteral(
        "local mean = (point('meter1.a').value + point('meter1.b').value + point('meter1.c').value) / 3\n"
        "if mean > 40 then control.write('meter1.out', mean) alarm.raise('site.overload')\n"
        "mqtt.publish('x/y', {run = run.number, mean = mean}) aggregation.write('rows.row', mean) end"));
    const auto image = bench.store->freeze(bench.now(), WallTime{});
    const RunContext context{image.get(), 1, bench.now(), WallTime{}};
    QCOMPARE(script->run(context).actions.size(), std::size_t{4});
    constexpr int kRuns = 20'000;
    std::size_t actions = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRuns; ++i)
        actions += script->run(context).actions.size();
    const auto each = (std::chrono::steady_clock::now() - start) / kRuns;
    qInfo("one run: %.2f us", std::chrono::duration<double, std::micro>(each).count());
    QCOMPARE(actions, std::size_t{4 * kRuns});
    QVERIFY(each < std::chrono::microseconds(200));
}

QTEST_APPLESS_MAIN(TriggerScriptTest)
#include "tst_triggerscript.moc"
