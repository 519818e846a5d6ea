// SPDX-License-Identifier: Apache-2.0
// The library functions that were written anew give the same answers as Lua's own.
#include "script/luasandbox.h"
#include "script/sandboxlibrary.h"

#include <QTest>

#include <lualib.h>

#include <random>

using namespace gridloom;

class SandboxLibraryTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sameAsLua_data();
    void sameAsLua();
    void randomPatternsMatchAsInLua();
    void randomArraysSortAsInLua();
    void onlyAllowedNames();
};

namespace {
// Turns the results of an expression list into one text, errors included without their place.
const QString kProbe =
    QStringLiteral("local function show(...) local t = table.pack(...) for i = 1, t.n do t[i] = tostring(t[i]) end\n"
                   " return table.concat(t, '|') end\n"
                   "local ok, text = pcall(function() return show(@@) end)\n"
                   "return ok and text or 'error: ' .. tostring(text):gsub('^[^:]*:%d+: ', '')");

struct Job {
    QByteArray text;
    QByteArray result;
};

int runInSandbox(lua_State *L)
{
    auto &job = *static_cast<Job *>(lua_touserdata(L, 1));
    if (luaL_loadbufferx(L, job.text.constData(), static_cast<std::size_t>(job.text.size()), "=x", "t") != LUA_OK)
        lua_error(L);
    pushSandboxGlobals(L);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    std::size_t length = 0;
    const char *text = luaL_tolstring(L, -1, &length);
    job.result = QByteArray(text, static_cast<qsizetype>(length));
    return 0;
}

QByteArray inSandbox(const QByteArray &lua)
{
    const auto sandbox = std::move(LuaSandbox::create("x", 8 << 20)).value();
    Job job{lua, {}};
    const LuaSandbox::Outcome outcome = sandbox->call(&runInSandbox, &job, std::chrono::seconds(10));
    return outcome.outcome == ScriptOutcome::Ok ? job.result : outcome.error.toUtf8();
}

QByteArray inLua(const QByteArray &lua)
{
    const std::unique_ptr<lua_State, void (*)(lua_State *)> L(luaL_newstate(), &lua_close);
    luaL_openlibs(L.get());
    luaL_loadbufferx(L.get(), lua.constData(), static_cast<std::size_t>(lua.size()), "=x", "t");
    lua_pcall(L.get(), 0, 1, 0);
    std::size_t length = 0;
    const char *text = luaL_tolstring(L.get(), -1, &length);
    return QByteArray(text, static_cast<qsizetype>(length));
}
} // namespace

void SandboxLibraryTest::sameAsLua_data()
{
    QTest::addColumn<QString>("expression");
    for (const char *expression :
         {"('hello world'):find('o w')",
          "('a.b'):find('.', 1, true)",
          "('a.b'):find('%.')",
          "('abc'):find('', 10)",
          "('abc'):find('', 4)",
          "('abc'):find('b', -1)",
          "('abc'):find('b', -2)",
          "('abc'):find('b', -20)",
          "('abc'):find('^b', 2)",
          "('key = value'):match('^(%w+)%s*=%s*(%w+)$')",
          "('abc'):match('()b()')",
          "('2026-08-01'):match('(%d+)-(%d+)-(%d+)')",
          "('abc'):match('.-')",
          "('abc'):match('.-$')",
          "('[[x]]'):match('%[(%b[])%]')",
          "('f(a(b)c)d'):match('%b()')",
          "('THE (quick) fox'):find('%((%a+)%)')",
          "('THE (quick) fox'):gsub('%f[%a]%a+', '<%0>')",
          "('aXbXc'):gsub('X', '%%')",
          "('abc'):gsub('', '-')",
          "('abc'):gsub('%w', '%0%0', 2)",
          "('hello'):gsub('l+', {ll = 'LL'})",
          "('abc'):gsub('(a)(b)', '%2%1')",
          "('abc'):gsub('b', function() return false end)",
          "('abc'):gsub('b', function() return {} end)",
          "('abc'):gsub('^a', 'x')",
          "('aaa'):gsub('^a', 'x')",
          "('abc'):gsub('a', '%2')",
          "('abc'):gsub('a', '%x')",
          "('x=1, y=2'):gsub('(%w+)=(%w+)', '%2=%1')",
          "('abcabc'):match('(abc)%1')",
          "('abcabd'):match('(abc)%1')",
          "('a]b'):match('[]]')",
          "('a^b'):match('[%^x]')",
          "('a-b'):match('[a%-]+')",
          "('a-z'):match('[a-]+')",
          "('x'):match('[^%s]')",
          "('äö'):match('[\\xc3]')",
          "('a\\0b'):match('%z')",
          "('a\\0b'):find('\\0')",
          "('abc'):match('[')",
          "('abc'):match('[a')",
          "('abc'):match('%')",
          "('abc'):match('(')",
          "('abc'):match(')')",
          "('abc'):match('[a%')",
          "('abc'):match('%f')",
          "('abc'):match('%b')",
          "('abc'):match('%1')",
          "('abc'):match('(()')",
          "('abc'):match('a$b')",
          "('a$'):match('a$$')",
          "('abc'):match(('(a)'):rep(40))",
          "('x'):rep(3)",
          "('x'):rep(3, ',')",
          "('x'):rep(0)",
          "('x'):rep(-1)",
          "('').rep('', 5)",
          "string.rep('ab', 1, 'c')",
          "table.concat({1, 2.5, 'x'}, ', ')",
          "table.concat({})",
          "table.concat({1, 2, 3}, '-', 2)",
          "table.concat({1, 2, 3}, '-', 2, 2)",
          "table.concat({1, {}, 3})",
          "table.concat({1}, '', 1, 3)",
          "table.unpack({1, 2, 3})",
          "table.unpack({1, 2, 3}, 2)",
          "table.unpack({1, nil, 3}, 1, 3)",
          "table.unpack({}, 1, 0)",
          "select('#', table.unpack({}, 1, 5))",
          "table.concat(table.move({1, 2, 3}, 1, 3, 2), ',')",
          "table.concat(table.move({1, 2, 3}, 2, 3, 1), ',')",
          "table.concat(table.move({1, 2, 3}, 1, 3, 1, {9, 9, 9, 9}), ',')",
          "table.concat(table.move({1, 2, 3}, 1, 0, 5), ',')",
          "table.remove({})",
          "table.remove({1, 2, 3})",
          "table.remove({1, 2, 3}, 1)",
          "table.remove({1, 2, 3}, 4)",
          "pcall(table.remove, {1, 2, 3}, 5) and 1",
          "pcall(table.remove, {1, 2, 3}, 0) and 1",
          "(function() local t = {1, 2} table.insert(t, 3) table.insert(t, 1, 0) return table.concat(t, ',') end)()",
          "table.insert({1}, 5, 2)",
          "table.insert({1})",
          "table.insert({1}, 1, 2, 3)",
          "table.insert(1, 2)",
          "(function() local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t, ',') "
          "end)()",
          "(function() table.sort({1, 'x', 2}) end)()",
          "(function() local r = {} for k, v in ('a=1,b=2'):gmatch('(%w)=(%w)') do r[#r + 1] = k .. v end return "
          "table.concat(r, ';') end)()",
          "(function() local r = {} for w in ('one two'):gmatch('%a*') do r[#r + 1] = '<' .. w .. '>' end return "
          "table.concat(r) end)()",
          "(function() local r = {} for w in ('abc'):gmatch('', 3) do r[#r + 1] = '!' end return table.concat(r) "
          "end)()",
          "pcall(error)",
          "pcall(error, nil)",
          "pcall(error, {} and 'x', 0)",
          "pcall(nil)",
          "xpcall(error, tostring, 'x')",
          "select('#', pcall(function() return 1, nil, nil end))",
          "coroutine.isyieldable()",
          "coroutine.status(coroutine.create(pcall))",
          "coroutine.resume(coroutine.create(function(...) return select('#', ...), ... end), 1, nil)",
          "(function() local c = coroutine.create(function() coroutine.yield(1) end) coroutine.resume(c) "
          "coroutine.resume(c) return coroutine.resume(c) end)()",
          "coroutine.wrap(function() error('x', 0) end)()",
          "next({})",
          "next({5})",
          "rawlen({1, 2})",
          "rawlen('abc')",
          "rawget({a = 1}, 'a')",
          "tonumber('0x10')",
          "tonumber('10', 2)",
          "tonumber('x')",
          "tonumber(' 12 ')",
          "'10' + 5",
          "10 .. 20",
          "utf8.len('äöü')",
          "utf8.char(228, 8364)",
          "utf8.codepoint('ä', 1)",
          "utf8.offset('äö', 2)",
          "utf8.len('\\xff')",
          "string.format('%5.2f|%d|%s|%q|%x', 3.14159, 42, 'x', 'a\\n', 255)",
          "string.format('%99999d', 1)",
          "string.byte('abc', 1, -1)",
          "string.pack('<I4', 7):byte(1, -1)",
          "string.unpack('<I2', '\\1\\2')",
          "setmetatable({}, {__index = function(t, k) return k .. '!' end}).x",
          "#setmetatable({}, {__len = function() return 7 end})",
          "setmetatable({1}, {__concat = function(a, b) return 'c' end}) .. 1",
          "getmetatable(setmetatable({}, {__metatable = 'm'}))",
          "setmetatable(setmetatable({}, {__metatable = 'm'}), {})"})
        QTest::newRow(expression) << QString::fromUtf8(expression);
}

void SandboxLibraryTest::sameAsLua()
{
    QFETCH(QString, expression);
    const QByteArray lua = QString(kProbe).replace(QLatin1String("@@"), expression).toUtf8();
    const auto withoutQuirks = [](QByteArray text) {
        // "print" is nil in the sandbox; names of functions in messages differ where Lua looks them up by module.
        return text.replace("'string.", "'").replace("'table.", "'");
    };
    QCOMPARE(withoutQuirks(inSandbox(lua)), withoutQuirks(inLua(lua)));
}

// Pieces that patterns are made of, put together at random, against random subjects of few letters.
void SandboxLibraryTest::randomPatternsMatchAsInLua()
{
    const char *pieces[] = {"a",  "b", ".", "%a", "%d", "%s", "[ab]", "[^a]", "[a-c1]", "%b()", "%f[%w]", "(", ")",
                            "()", "^", "$", "*",  "+",  "-",  "?",    "%1",   "%2",     "%.",   "[%w_]",  "]", "%"};
    const QByteArray letters("aab bc1().-");
    std::mt19937 random(20260801);
    const auto pick = [&](std::size_t n) { return random() % n; };
    QByteArray lua(
        "local out = {} local function try(s, p)\n"
        " for _, f in ipairs{string.find, string.match, string.gsub} do\n"
        "  local r = table.pack(pcall(f, s, p, f == string.gsub and '<%0>' or nil))\n"
        "  for i = 1, r.n do r[i] = tostring(r[i]) end out[#out + 1] = table.concat(r, '|') end\n"
        " local n, ok, e = 0, pcall(function() for a in s:gmatch(p) do out[#out + 1] = tostring(a) end end)\n"
        " out[#out + 1] = tostring(e) end\n");
    for (int round = 0; round < 3000; ++round) {
        QByteArray pattern;
        for (std::size_t i = 1 + pick(6); i > 0; --i)
            pattern += pieces[pick(std::size(pieces))];
        QByteArray subject;
        for (std::size_t i = pick(9); i > 0; --i)
            subject += letters.at(static_cast<qsizetype>(pick(static_cast<std::size_t>(letters.size()))));
        lua += "try([==[" + subject + "]==], [==[" + pattern + "]==])\n";
    }
    lua += "local h = 7 local all = {} for i, s in ipairs(out) do for j = 1, #s do h = (h * 31 + s:byte(j)) & "
           "0xffffffff end\n"
           " if i % 50 == 0 then all[#all + 1] = h end end return table.concat(all, ' ')";
    const QByteArray expected = inLua(lua);
    QVERIFY2(expected.count(' ') > 100, expected.left(200).constData());
    QCOMPARE(inSandbox(lua), expected);
}

void SandboxLibraryTest::randomArraysSortAsInLua()
{
    const QByteArray lua(
        "local seed = 1 local function random(n) seed = (seed * 1103515245 + 12345) & 0x7fffffff return seed % n end\n"
        "local out = {} for n = 0, 60 do local a, b = {}, {} for i = 1, n do a[i] = random(40) b[i] = 'k' .. "
        "random(40) end\n"
        " table.sort(a) table.sort(b, function(x, y) return x > y end)\n"
        " out[#out + 1] = table.concat(a, ',') .. '/' .. table.concat(b, ',') end return table.concat(out, ';')");
    const QByteArray expected = inLua(lua);
    QVERIFY(expected.count(';') == 60);
    QCOMPARE(inSandbox(lua), expected);
}

void SandboxLibraryTest::onlyAllowedNames()
{
    const QByteArray lua("local names = {} for k in pairs(_ENV) do names[#names + 1] = k end\n"
                         "table.sort(names) return table.concat(names, ' ')");
    QCOMPARE(
        inSandbox(lua),
        QByteArray("_VERSION assert collectgarbage coroutine error getmetatable ipairs math next pairs pcall rawequal "
                   "rawget rawlen rawset select setmetatable string table tonumber tostring type utf8 xpcall"));
    for (const char *library : {"string", "table", "math", "utf8", "coroutine"}) {
        const QByteArray members = inSandbox(QByteArray("local n = {} for k in pairs(") + library
                                             + ") do n[#n + 1] = k end table.sort(n) return table.concat(n, ' ')");
        const QByteArray own = inLua(QByteArray("local n = {} for k in pairs(") + library
                                     + ") do n[#n + 1] = k end table.sort(n) return table.concat(n, ' ')");
        QByteArray expected = own;
        if (qstrcmp(library, "string") == 0)
            expected.replace("dump ", "");
        if (qstrcmp(library, "math") == 0)
            for (const char *old : {"atan2 ", "cosh ", "frexp ", "ldexp ", "log10 ", "pow ", "sinh ", "tanh "})
                expected.replace(old, "");
        QCOMPARE(members, expected);
    }
}

QTEST_APPLESS_MAIN(SandboxLibraryTest)
#include "tst_sandboxlibrary.moc"
