// SPDX-License-Identifier: Apache-2.0
#include "script/scriptnames.h"

#include <QTest>

using namespace gridloom;
using Kind = NameUse::Kind;

class ScriptNamesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void findsLiterals_data();
    void findsLiterals();
    void skips_data();
    void skips();
    void placesAllowRenaming();
    void unfinishedTextEnds();
};

void ScriptNamesTest::findsLiterals_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<Kind>("kind");
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("line");
    const auto row = [](const char *lua, Kind kind, const char *name, int line) {
        QTest::newRow(lua) << QString::fromUtf8(lua) << kind << QString::fromUtf8(name) << line;
    };
    row("point(\"a.b\")", Kind::Point, "a.b", 1);
    row("\n\npoint 'a.b'", Kind::Point, "a.b", 3);
    row("x = 1 + point[[a.b]].value", Kind::Point, "a.b", 1);
    row("point [==[a]]b]==]", Kind::Point, "a]]b", 1);
    row("point ( --[[ which\none ]] 'a.b' )", Kind::Point, "a.b", 2);
    row("control.write('pv.limit', 5)", Kind::Output, "pv.limit", 1);
    row("control . write ( \"pv.limit\", f(1, 2) )", Kind::Output, "pv.limit", 1);
    row("aggregation.write('rows.x', 1)", Kind::Row, "rows.x", 1);
    row("alarm.raise('site.hot', 'text')", Kind::Alarm, "site.hot", 1);
    row("coordination.start('to island')", Kind::Task, "to island", 1);
    row("if x then alarm.clear 'site.hot' end", Kind::Alarm, "site.hot", 1);
    row("s = \"-- no comment\" point('a.b')", Kind::Point, "a.b", 1);
    row("s = 'quote \\' in' .. \"x\\\\\" point('a.b')", Kind::Point, "a.b", 1);
    row("s = 'two \\\nlines' point('a.b')", Kind::Point, "a.b", 2);
    row("s = [[\n\n]] point('a.b')", Kind::Point, "a.b", 3);
    row("point('Z\\xe4hler.x')", Kind::Point, "Zähler.x", 1);
    row("point('Z\\u{e4}hler.\\97')", Kind::Point, "Zähler.a", 1);
    row("point('Zähler.x')", Kind::Point, "Zähler.x", 1);
    row("local x = y..point('a.b').value", Kind::Point, "a.b", 1);
    row("::top:: point('a.b')", Kind::Point, "a.b", 1);
}

void ScriptNamesTest::findsLiterals()
{
    QFETCH(QString, lua);
    const QList<NameUse> uses = literalNames(lua);
    QCOMPARE(uses.size(), 1);
    QTEST(uses.front().kind, "kind");
    QTEST(uses.front().name, "name");
    QTEST(uses.front().line, "line");
}

void ScriptNamesTest::skips_data()
{
    QTest::addColumn<QString>("lua");
    for (const char *lua :
         {"-- point('a.b')", "--[[ point('a.b')\n ]]", "--[==[ ]] point('a.b') ]==]", "s = \"point('a.b')\"",
          "s = [[point('a.b')]]", "s = 'it\\'s point(\"a.b\")'", "my.point('a.b')", "my:point('a.b')",
          "point('a.' .. n)", "point(n)", "point(f 'a.b')", "function point(x) end", "control.writeAll('a.b')",
          "my.control.write('a.b')", "viewpoint('a.b')", "points = {'a.b'}", "alarm.raise(id, 'a.b')", "point"})
        QTest::newRow(lua) << QString::fromUtf8(lua);
}

void ScriptNamesTest::skips()
{
    QFETCH(QString, lua);
    QCOMPARE(literalNames(lua), QList<NameUse>());
}

void ScriptNamesTest::placesAllowRenaming()
{
    QString lua =
        QStringLiteral("-- Zähler\nlocal p = point('m.a').value -- point('m.a')\ncontrol.write(\"m.a\", p)\n");
    QList<NameUse> uses = literalNames(lua);
    QCOMPARE(uses.size(), 2);
    std::reverse(uses.begin(), uses.end()); // from behind, so that places stay right
    for (const NameUse &use : uses)
        lua.replace(use.position, use.length, QStringLiteral("'m.b'"));
    QCOMPARE(lua, QStringLiteral("-- Zähler\nlocal p = point('m.b').value -- point('m.a')\ncontrol.write('m.b', p)\n"));
}

void ScriptNamesTest::unfinishedTextEnds()
{
    for (const char *lua : {"point('a.b", "point(", "--[[", "[==[", "'\\", "\"\\u{", "'\\x", "point('a')--[=["})
        QVERIFY(literalNames(QString::fromLatin1(lua)).size() <= 1);
}

QTEST_APPLESS_MAIN(ScriptNamesTest)
#include "tst_scriptnames.moc"
