// SPDX-License-Identifier: Apache-2.0
#include "scriptbench.h"

#include "script/expression.h"

#include <QTest>

using namespace gridloom;
using gridloom::test::ScriptBench;

class ExpressionTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void evaluates();
    void qualityIsTheWorstThatWasUsed();
    void failuresAreBadEvaluation_data();
    void failuresAreBadEvaluation();
    void orderFollowsDependencies();
    void circleIsNamed();
    void faultsNameThePoint();
    void noneIsEmpty();
};

void ExpressionTest::evaluates()
{
    ScriptBench bench;
    const PointHandle power = bench.addPoint(QStringLiteral("power"));
    const PointHandle losses = bench.addPoint(QStringLiteral("losses"), PointKind::Computed,
                                              QStringLiteral("point('meter1.power').value * 0.02"));
    const PointHandle whole = bench.addPoint(QStringLiteral("whole"), PointKind::Computed,
                                             QStringLiteral("point('meter1.power').value // 1 | 0 -- whole kW"));
    const PointHandle word = bench.addPoint(QStringLiteral("word"), PointKind::Computed,
                                            QStringLiteral("point('meter1.power').value > 10 and 'high' or 'low'"));
    bench.set(power, Value(50.5));
    const auto expressions = Expressions::compile(bench.design);
    QVERIFY2(expressions.ok(), expressions ? "" : qPrintable(expressions.error().message));
    QString error;
    auto [value, quality] = expressions.value()->evaluate(losses, *bench.store, bench.now(), error);
    QCOMPARE(value.real(), 1.01);
    QCOMPARE(quality, Quality::Good);
    QVERIFY(expressions.value()->evaluate(whole, *bench.store, bench.now(), error).first == Value(std::int64_t{50}));
    QVERIFY(expressions.value()->evaluate(word, *bench.store, bench.now(), error).first == Value(QByteArray("high")));
    QCOMPARE(expressions.value()->inputs(losses), std::vector<PointHandle>{power});
    QVERIFY(expressions.value()->inputs(power).empty());
}

void ExpressionTest::qualityIsTheWorstThatWasUsed()
{
    ScriptBench bench;
    const PointHandle a = bench.addPoint(QStringLiteral("a"));
    const PointHandle b = bench.addPoint(QStringLiteral("b"));
    const PointHandle sum = bench.addPoint(QStringLiteral("sum"), PointKind::Computed,
                                           QStringLiteral("point('meter1.a').value + point('meter1.b').value"));
    const PointHandle either =
        bench.addPoint(QStringLiteral("either"), PointKind::Computed,
                       QStringLiteral("point('meter1.a').good and point('meter1.a').value or point('meter1.b').value"));
    bench.set(a, Value(1));
    bench.set(b, Value(2), Quality::UncertainLastUsable);
    const auto expressions = std::move(Expressions::compile(bench.design)).value();
    const auto evaluate = [&](PointHandle point) {
        QString error;
        const auto result = expressions->evaluate(point, *bench.store, bench.now(), error);
        Q_ASSERT(error.isEmpty());
        return result;
    };
    QVERIFY(evaluate(sum) == std::pair(Value(3), Quality::UncertainLastUsable));
    QVERIFY(evaluate(either) == std::pair(Value(1), Quality::Good));
    bench.set(a, Value(1), Quality::BadNotConnected);
    QVERIFY(evaluate(sum) == std::pair(Value(), Quality::BadNotConnected));
    QVERIFY(evaluate(either) == std::pair(Value(2), Quality::UncertainLastUsable));
}

void ExpressionTest::failuresAreBadEvaluation_data()
{
    QTest::addColumn<QString>("expression");
    QTest::addColumn<QString>("part");
    QTest::newRow("nil") << QStringLiteral("nil") << QStringLiteral("nil");
    QTest::newRow("error") << QStringLiteral("error('broken', 0)") << QStringLiteral("broken");
    QTest::newRow("NaN") << QStringLiteral("0/0") << QStringLiteral("not a finite number");
    QTest::newRow("table") << QStringLiteral("{}") << QStringLiteral("the result is a table");
    QTest::newRow("point") << QStringLiteral("point('meter1.a')") << QStringLiteral("the result is a point");
    QTest::newRow("loop") << QStringLiteral("(function() while true do end end)()")
                          << QStringLiteral("time limit of 1 ms");
    QTest::newRow("global") << QStringLiteral("(function() x = 1 return x end)()")
                            << QStringLiteral("cannot set the variable 'x'");
    QTest::newRow("no actions") << QStringLiteral("control.write('meter1.a', 1)") << QStringLiteral("'control'");
    QTest::newRow("name made at run time")
        << QStringLiteral("point('meter1.' .. 'zz').value") << QStringLiteral("unknown point 'meter1.zz'");
}

void ExpressionTest::failuresAreBadEvaluation()
{
    QFETCH(QString, expression);
    QFETCH(QString, part);
    ScriptBench bench;
    const PointHandle a = bench.addPoint(QStringLiteral("a"));
    const PointHandle computed = bench.addPoint(QStringLiteral("c"), PointKind::Computed, expression);
    bench.set(a, Value(1));
    const auto expressions = std::move(Expressions::compile(bench.design)).value();
    QString error;
    const auto [value, quality] = expressions->evaluate(computed, *bench.store, bench.now(), error);
    QVERIFY(value.isNull());
    QCOMPARE(quality, Quality::BadEvaluation);
    QVERIFY2(error.contains(part), qPrintable(error));
}

void ExpressionTest::orderFollowsDependencies()
{
    ScriptBench bench;
    const PointHandle last =
        bench.addPoint(QStringLiteral("last"), PointKind::Computed,
                       QStringLiteral("point('meter1.middle').value + point('meter1.first').value"));
    const PointHandle middle =
        bench.addPoint(QStringLiteral("middle"), PointKind::Computed, QStringLiteral("(point 'meter1.first').value"));
    bench.addPoint(QStringLiteral("measured"));
    const PointHandle first =
        bench.addPoint(QStringLiteral("first"), PointKind::Computed, QStringLiteral("point('meter1.measured').value"));
    const auto expressions = std::move(Expressions::compile(bench.design)).value();
    QCOMPARE(expressions->order(), (std::vector<PointHandle>{first, middle, last}));
}

void ExpressionTest::circleIsNamed()
{
    ScriptBench bench;
    bench.addPoint(QStringLiteral("a"), PointKind::Computed, QStringLiteral("point('meter1.b').value"));
    bench.addPoint(QStringLiteral("b"), PointKind::Computed, QStringLiteral("point('meter1.a').value"));
    bench.addPoint(QStringLiteral("outside"), PointKind::Computed, QStringLiteral("point('meter1.a').value"));
    const auto expressions = Expressions::compile(bench.design);
    QVERIFY(!expressions);
    QCOMPARE(expressions.error().code, QStringLiteral("script.cycle"));
    QVERIFY2(expressions.error().message.endsWith(QLatin1String("circle: meter1.a, meter1.b")),
             qPrintable(expressions.error().message));

    ScriptBench self;
    self.addPoint(QStringLiteral("s"), PointKind::Computed, QStringLiteral("point('meter1.s').value + 1"));
    QVERIFY(!Expressions::compile(self.design));
}

void ExpressionTest::faultsNameThePoint()
{
    for (const auto &[expression, code] : {std::pair("1 +", "script.syntax"), std::pair("x = 1", "script.syntax"),
                                           std::pair("point('meter1.none').value", "script.unknownPoint")}) {
        ScriptBench bench;
        bench.addPoint(QStringLiteral("c"), PointKind::Computed, QString::fromLatin1(expression));
        const auto expressions = Expressions::compile(bench.design);
        QVERIFY2(!expressions, expression);
        QCOMPARE(expressions.error().code, QString::fromLatin1(code));
        QVERIFY2(expressions.error().message.contains(QLatin1String("meter1.c")),
                 qPrintable(expressions.error().message));
    }
}

void ExpressionTest::noneIsEmpty()
{
    ScriptBench bench;
    bench.addPoint(QStringLiteral("a"));
    QVERIFY(std::move(Expressions::compile(bench.design)).value()->isEmpty());
}

QTEST_APPLESS_MAIN(ExpressionTest)
#include "tst_expression.moc"
