// SPDX-License-Identifier: Apache-2.0
// What a run knows before its first step, and what of it outlives a power cut.
#include "core/coordination/coordinationplan.h"

#include <QJsonDocument>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr WallTime kDue{std::chrono::microseconds(1'785'542'400'123'456)};

/// Outputs a.one (0 to 10) and a.two, and the measured point a.source.
struct Bench {
    Bench()
    {
        points.resize(3);
        points[0].write = WritePolicy{0.0, 10.0};
        points[1].write = WritePolicy();
        const char *names[] = {"a.one", "a.two", "a.source"};
        for (std::size_t i = 0; i < points.size(); ++i) {
            PointRef ref;
            ref.handle = static_cast<PointHandle>(i);
            ref.id = ref.name = QLatin1String(names[i]);
            ref.point = &points[i];
            design.points.append(ref);
        }
        task.id = QStringLiteral("task");
        task.priority = ControlPriority::GridLimit;
        task.steps = {{QStringLiteral("first"), 0, Value(4), 1'500ms, CoordinationTask::Previous()},
                      {QStringLiteral("second"), 1, CoordinationTask::RunNumber(), 2'000ms, Value(0)},
                      {QStringLiteral("third"), 0, CoordinationTask::CopyOf{2}, 2'000ms, std::monostate()}};
        see(Value(7.5));
    }
    void see(Value value, Quality quality = Quality::Good) { store.update({2, quality, std::move(value), {}, {}}); }
    Result<CoordinationPlan> plan(const Value &held = Value(3))
    {
        CoordinationPlan plan;
        const auto planned = planRun(plan, task, design, 42, kDue, store, [&](PointHandle) { return held; });
        return planned ? Result<CoordinationPlan>(std::move(plan)) : Result<CoordinationPlan>(planned.error());
    }
    std::vector<Point> points;
    Design design;
    CoordinationTask task;
    PointStore store{3};
};
} // namespace

class CoordinationPlanTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyValueIsKnown();
    void whatCannotBeKnownStopsItBeforeStepOne();
    void theOpenRunSurvivesToTheLastDigit();
    void anotherDesignFindsItsOutputsByTheirIds();
    void damagedStatesAreRefused();
};

void CoordinationPlanTest::everyValueIsKnown()
{
    Bench b;
    const auto plan = b.plan();
    QVERIFY(plan);
    const auto &steps = plan.value().steps;
    QCOMPARE(steps.size(), std::size_t(3));
    QCOMPARE(steps[0].value, Value(4));
    QCOMPARE(*steps[0].compensation, Value(3));
    QCOMPARE(steps[0].deadline, 1'500ms);
    QCOMPARE(steps[1].value, Value(std::uint64_t(42)));
    QCOMPARE(*steps[1].compensation, Value(0));
    QCOMPARE(steps[2].value, Value(7.5));
    QVERIFY(!steps[2].compensation);
    QVERIFY(plan.value().hasCompensation());
}

void CoordinationPlanTest::whatCannotBeKnownStopsItBeforeStepOne()
{
    Bench b;
    const auto refused = b.plan(Value());
    QCOMPARE(refused.error().code, QStringLiteral("coordination.unknownPrevious"));
    QVERIFY2(refused.error().message.contains(QLatin1String("step \"first\""))
                 && refused.error().message.contains(QLatin1String("a.one")),
             qPrintable(refused.error().message));
    b.see(Value(10.5));
    QCOMPARE(b.plan().error().code, QStringLiteral("coordination.outOfLimits"));
    b.see(Value(-0.1));
    QCOMPARE(b.plan().error().code, QStringLiteral("coordination.outOfLimits"));
    b.see(Value(10));
    QVERIFY(b.plan());
    for (const Quality quality :
         {Quality::UncertainLastUsable, Quality::BadCommunicationError, Quality::BadWaitingForInitialData}) {
        b.see(Value(5), quality);
        QCOMPARE(b.plan().error().code, QStringLiteral("coordination.badInput"));
    }
    b.see(Value(QByteArray("5")));
    QCOMPARE(b.plan().error().code, QStringLiteral("coordination.badInput"));
}

void CoordinationPlanTest::theOpenRunSurvivesToTheLastDigit()
{
    Bench b;
    for (const Value &held : {Value(std::uint64_t(18'446'744'073'709'551'615U)),
                              Value(std::int64_t(-9'007'199'254'740'993)), Value(0.1), Value(true)}) {
        const CoordinationPlan plan = b.plan(held).value();
        const QByteArray state = openRunState(plan);
        QVERIFY(QJsonDocument::fromJson(state).isObject());
        const auto read = readOpenRunState(QStringLiteral("task"), state, b.design);
        QVERIFY2(read, state.constData());
        QCOMPARE(read.value().run, std::uint64_t(42));
        QCOMPARE(read.value().due, kDue);
        QCOMPARE(read.value().priority, ControlPriority::GridLimit);
        QCOMPARE(read.value().steps.size(), std::size_t(3));
        QCOMPARE(read.value().steps[0].output, PointHandle(0));
        QCOMPARE(read.value().steps[0].deadline, 1'500ms);
        QCOMPARE(*read.value().steps[0].compensation, held);
        QCOMPARE(*read.value().steps[1].compensation, Value(0));
        QVERIFY(!read.value().steps[2].compensation);
    }
}

void CoordinationPlanTest::anotherDesignFindsItsOutputsByTheirIds()
{
    Bench b;
    const QByteArray state = openRunState(b.plan().value());
    b.design.points[0].id = QStringLiteral("b.one"); // a.one is gone
    b.points[1].write.reset();                       // a.two is no output any more
    const auto read = readOpenRunState(QStringLiteral("task"), state, b.design);
    QVERIFY(read);
    QCOMPARE(read.value().steps[0].output, kNoPoint);
    QCOMPARE(read.value().steps[0].outputId, QStringLiteral("a.one"));
    QCOMPARE(read.value().steps[1].output, kNoPoint);
}

void CoordinationPlanTest::damagedStatesAreRefused()
{
    Bench b;
    const QByteArray state = openRunState(b.plan().value());
    QList<QByteArray> damaged{"", "{}", "[]", "\xff\xfe", "null", state.chopped(1)};
    const auto with = [&](const char *from, const char *to) {
        QVERIFY2(state.contains(from), state.constData());
        damaged.append(QByteArray(state).replace(from, to));
    };
    with("\"version\":1", "\"version\":2");
    with("\"priority\":1", "\"priority\":8");
    with("\"run\":42", "\"run\":-1");
    with("[2,\"3\"]", "[5,\"3\"]"); // a text is no value to return to
    with("[2,\"3\"]", "[2,3]");
    with("[2,\"3\"]", "null");
    with("\"deadlineMs\":1500", "\"deadlineMs\":0");
    for (const QByteArray &text : damaged) {
        const auto read = readOpenRunState(QStringLiteral("task"), text, b.design);
        QVERIFY2(!read, text.constData());
        QCOMPARE(read.error().code, QStringLiteral("coordination.state"));
    }
}

QTEST_APPLESS_MAIN(CoordinationPlanTest)
#include "tst_coordinationplan.moc"
