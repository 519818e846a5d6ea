// SPDX-License-Identifier: Apache-2.0
// The `state` table of a script over a restart: every value exact, everything else refused with its place.
#include "scriptbench.h"

#include <QTest>

using namespace gridloom;
using gridloom::test::ScriptBench;

class ScriptStateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytesAreTheDocumentedOnes();
    void everyValueIsExact();
    void emptyIsNothing();
    void goesOnWhereItWas();
    void onlyWhenAskedFor();
    void whatCannotBeKeptIsNamed_data();
    void whatCannotBeKeptIsNamed();
    void cutStatesAreRefused();
    void aStateThatDoesNotFitIsRefused();

private:
    static QByteArray saved(ScriptBench &bench, const QString &lua);
};

QByteArray ScriptStateTest::saved(ScriptBench &bench, const QString &lua)
{
    const auto script = bench.compile(lua);
    const ScriptResult result = bench.run(*script);
    if (result.outcome != ScriptOutcome::Ok)
        return result.error.toUtf8();
    const auto state = script->saveState();
    return state ? state.value() : "error: " + state.error().message.toUtf8();
}

// By hand from the layout in script/luastate.cpp; tables of one entry, since the order of several is Lua's.
void ScriptStateTest::bytesAreTheDocumentedOnes()
{
    ScriptBench bench;
    QCOMPARE(saved(bench, QStringLiteral("state.n = -3")).toHex(), QByteArray("01" "06016e" "0305" "00"));
    QCOMPARE(saved(bench, QStringLiteral("state[1] = {[true] = 1.5}")).toHex(),
             QByteArray("01" "0302" "07" "02" "04000000000000f83f" "00" "00"));
    QCOMPARE(saved(bench, QStringLiteral("state.t = false")).toHex(), QByteArray("01" "060174" "01" "00"));
}

void ScriptStateTest::everyValueIsExact()
{
    ScriptBench bench;
    bench.set(bench.addPoint(QStringLiteral("big")), Value(std::uint64_t{18446744073709551615U}));
    const auto before = bench.compile(QStringLiteral(
        "state.a, state.b, state.i, state.f = true, false, 9007199254740993, 0.1\n"
        "state.least, state.inf, state.u = math.mininteger, 1/0, point('meter1.big').value\n"
        "state.text, state.empty = 'Z\\0\\xff\\u{e4}', ''\n"
        "state[1], state[2.5], state[true], state[-7] = 'one', 'float', 'yes', 'minus'\n"
        "state.deep = {a = {b = {c = {1, 2, {x = 'y'}}}}}\n"
        "state.none = {}"));
    QVERIFY(bench.run(*before).outcome == ScriptOutcome::Ok);
    const auto state = before->saveState();
    QVERIFY2(state.ok(), qPrintable(state ? QString() : state.error().message));
    const auto after = bench.compile(QStringLiteral(
        "local d = state.deep.a.b.c\n"
        "log(state.a == true, state.b == false, math.type(state.i), state.i, math.type(state.f), state.f == 0.1,"
        " state.least == math.mininteger, state.inf == 1/0, tostring(state.u), #state.text,"
        " state.text == 'Z\\0\\xff\\u{e4}', state.empty == '', state[1], state[2.5], state[true], state[-7],"
        " #d, d[2], d[3].x, next(state.none) == nil)"));
    QVERIFY(after->restoreState(state.value()));
    const ScriptResult result = bench.run(*after);
    QVERIFY2(result.log.size() == 1, qPrintable(result.error));
    QCOMPARE(result.log[0], QByteArray("true true integer 9007199254740993 float true true true 18446744073709551615 5 "
                                       "true true one float yes minus 3 2 y true"));
}

void ScriptStateTest::emptyIsNothing()
{
    ScriptBench bench;
    QCOMPARE(saved(bench, QStringLiteral("local x = 1")), QByteArray());
    QCOMPARE(saved(bench, QStringLiteral("state.x = 1; state.x = nil")), QByteArray());
}

void ScriptStateTest::goesOnWhereItWas()
{
    ScriptBench bench;
    const QString lua = QStringLiteral("state.n = (state.n or 0) + 1; state.list = state.list or {};"
                                       "table.insert(state.list, state.n); log(state.n, #state.list)");
    QByteArray kept;
    for (int start = 1; start <= 3; ++start) {
        const auto script = bench.compile(lua);
        QVERIFY(kept.isEmpty() || script->restoreState(kept));
        bench.run(*script);
        const ScriptResult second = bench.run(*script);
        QCOMPARE(second.log[0], QByteArray::number(2 * start) + ' ' + QByteArray::number(2 * start));
        kept = script->saveState().value();
    }
}

void ScriptStateTest::onlyWhenAskedFor()
{
    ScriptBench bench;
    const auto script = bench.compile(QStringLiteral("state.n = (state.n or 0) + 1; if state.n == 2 then error('x') end"));
    QVERIFY(!bench.run(*script).state.has_value());
    RunContext context;
    const auto image = bench.store->freeze(bench.now(), {});
    context.image = image.get();
    context.now = bench.now();
    context.wantsState = true;
    const ScriptResult failed = script->run(context); // a run that fails has changed it as well
    QVERIFY(failed.outcome == ScriptOutcome::Failed);
    QCOMPARE(failed.state.value_or(QByteArray()).toHex(), QByteArray("01" "06016e" "0304" "00"));
    QVERIFY(failed.stateError.isEmpty());
}

void ScriptStateTest::whatCannotBeKeptIsNamed_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char *lua, const char *says) {
        QTest::newRow(says) << QString::fromLatin1(lua) << QByteArray(says);
    };
    row("state.f = print or log", "state.f is a function");
    row("state.a = {b = {[3] = log}}", "state.a.b[3] is a function");
    row("state.p = point", "state.p is a function");
    row("state.co = coroutine.create(function() end)", "state.co is a thread");
    row("state.self = state", "is nested too deep, or holds itself");
    row("state.m = setmetatable({}, {__index = {}})", "state.m has a metatable");
    row("state.q = param", "state.q has a metatable");
    row("state[{}] = 1", "state has a key that is neither text, number nor boolean");
    row("for i = 1, 20 do state[i] = string.rep('x', 8000) end", "state has more than 64 kB");
}

void ScriptStateTest::whatCannotBeKeptIsNamed()
{
    QFETCH(QString, lua);
    QFETCH(QByteArray, says);
    ScriptBench bench;
    const QByteArray error = saved(bench, lua);
    QVERIFY2(error.startsWith("error: test.lua: ") && error.contains(says), error.constData());
}

void ScriptStateTest::cutStatesAreRefused()
{
    ScriptBench bench;
    const QByteArray whole = saved(bench, QStringLiteral("state.a = {1, 2.5, 'x', {y = true}}; state.b = 'text'"));
    for (qsizetype size = 1; size < whole.size(); ++size) {
        const auto script = bench.compile(QStringLiteral("log(next(state) == nil)"));
        QVERIFY2(!script->restoreState(whole.first(size)), qPrintable(QString::number(size)));
        QCOMPARE(bench.run(*script).log[0], QByteArray("true"));
    }
    const auto script = bench.compile(QStringLiteral("log(next(state) == nil)"));
    QVERIFY(!script->restoreState(whole + 'x'));
    QVERIFY(!script->restoreState(QByteArray("\2", 1) + whole.mid(1)));        // of another format
    QVERIFY(!script->restoreState(QByteArray::fromHex("0104000000000000f87f0200"))); // a NaN is no key
    QVERIFY(!script->restoreState(QByteArray::fromHex("01") + QByteArray::fromHex("030207").repeated(1000)));
    QVERIFY(script->restoreState(whole));
}

void ScriptStateTest::aStateThatDoesNotFitIsRefused()
{
    ScriptBench bench;
    const QByteArray whole =
        saved(bench, QStringLiteral("for i = 1, 6 do state[i] = string.rep(tostring(i), 10000) end"));
    QVERIFY(whole.size() > 60'000);
    bench.trigger.memoryLimit = 64 * 1024;
    const auto script = bench.compile(QStringLiteral("log(next(state) == nil)"));
    QVERIFY(!script->restoreState(whole));
    QCOMPARE(bench.run(*script).log[0], QByteArray("true"));
}

QTEST_APPLESS_MAIN(ScriptStateTest)
#include "tst_scriptstate.moc"
