// SPDX-License-Identifier: Apache-2.0
#include "script/triggerscript.h"

#include <QTest>

using namespace gridloom;

class CheckLuaSyntaxTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void accepts_data();
    void accepts();
    void refuses_data();
    void refuses();
};

void CheckLuaSyntaxTest::accepts_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<bool>("isExpression");
    QTest::newRow("empty") << QString() << false;
    QTest::newRow("chunk") << QStringLiteral("local x <const> = 1\nfor i = 1, x do log(i) end\n") << false;
    QTest::newRow("expression") << QStringLiteral("point('a.b').value * 2") << true;
    QTest::newRow("comment at the end") << QStringLiteral("1 + 2 -- sum") << true;
    QTest::newRow("several lines") << QStringLiteral("1 +\n 2") << true;
}

void CheckLuaSyntaxTest::accepts()
{
    QFETCH(QString, lua);
    QFETCH(bool, isExpression);
    const auto fault = checkLuaSyntax(lua, isExpression);
    QVERIFY2(!fault, fault ? qPrintable(fault->second) : "");
}

void CheckLuaSyntaxTest::refuses_data()
{
    QTest::addColumn<QString>("lua");
    QTest::addColumn<bool>("isExpression");
    QTest::addColumn<int>("line");
    QTest::addColumn<QString>("part");
    QTest::newRow("unfinished") << QStringLiteral("local x = 1\n\nif x then\n") << false << 4
                                << QStringLiteral("'end' expected");
    QTest::newRow("middle") << QStringLiteral("local a\nlocal = 2\nlocal b") << false << 2
                            << QStringLiteral("near '='");
    QTest::newRow("const") << QStringLiteral("local a <const> = 1\na = 2") << false << 2 << QStringLiteral("const");
    QTest::newRow("goto") << QStringLiteral("\ngoto nowhere") << false << 2 << QStringLiteral("nowhere");
    QTest::newRow("binary") << QStringLiteral("\x1bLuaT") << false << 1 << QStringLiteral("binary");
    QTest::newRow("statement") << QStringLiteral("x = 1") << true << 1 << QStringLiteral("')' expected");
    QTest::newRow("empty expression") << QString() << true << 1 << QStringLiteral("unexpected symbol");
    QTest::newRow("two statements") << QStringLiteral("1) while true do end return (2") << true << 1
                                    << QStringLiteral("<eof>");
    QTest::newRow("open") << QStringLiteral("(1 +\n2") << true << 2 << QStringLiteral("expected");
    QTest::newRow("nested") << QString(300, QLatin1Char('(')) << true << 1 << QStringLiteral("overflow");
}

void CheckLuaSyntaxTest::refuses()
{
    QFETCH(QString, lua);
    QFETCH(bool, isExpression);
    QFETCH(QString, part);
    const auto fault = checkLuaSyntax(lua, isExpression);
    QVERIFY(fault);
    QTEST(fault->first, "line");
    QVERIFY2(fault->second.contains(part), qPrintable(fault->second));
}

QTEST_APPLESS_MAIN(CheckLuaSyntaxTest)
#include "tst_checkluasyntax.moc"
