// SPDX-License-Identifier: Apache-2.0
// The state machine of one run against a model of the devices that knows nothing of it: whatever fails wherever, the
// outputs are back where they were, or the run says that they are not.
#include "core/coordination/coordinationrun.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <deque>
#include <map>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr SteadyTime kStart{1h};
constexpr Milliseconds kLease{10'000};

/// Outputs 0, 1, 2 hold 10, 11, 12; step i is to set output i to 100 + i and is taken back to what it held.
CoordinationPlan threeSteps()
{
    CoordinationPlan plan{QStringLiteral("task"), 7, WallTime(1s), ControlPriority::Schedule, kLease, {}};
    for (int i = 0; i < 3; ++i)
        plan.steps.push_back(
            {QStringLiteral("s%1").arg(i), static_cast<PointHandle>(i), {}, Value(100 + i), 2'000ms, Value(10 + i)});
    return plan;
}

/// Devices: they do what they are asked, each write after 1 ms, unless the test has put an answer in its way.
class Site {
public:
    struct Fault {
        CommandState state;
        bool isWritten; ///< what the device did before it failed
        bool isRetryable = true;
    };
    explicit Site(CoordinationRun run) : m_run(std::move(run)) {}

    std::map<PointHandle, std::int64_t> outputs{{0, 10}, {1, 11}, {2, 12}};
    std::map<PointHandle, std::deque<Fault>> faults; ///< of the next writes to an output
    std::vector<std::pair<PointHandle, std::int64_t>> writes;
    SteadyTime now = kStart;

    /// Until the run has ended; every pause is waited for.
    void play()
    {
        for (int i = 0; i < 1'000 && !m_run.hasEnded(); ++i)
            next();
    }
    void next()
    {
        m_run.advance(now);
        const auto request = m_run.nextRequest(++m_ticket, now);
        if (!request) {
            if (const auto due = m_run.nextDue(); due && *due > now)
                now = *due;
            return;
        }
        answer(*request);
    }
    CoordinationRun &run() { return m_run; }
    std::uint64_t ticket() const { return m_ticket; }

private:
    void answer(const CoordinationRun::StepRequest &request)
    {
        const std::int64_t value = *request.value.toInt64();
        Fault fault{CommandState::Confirmed, true};
        if (auto &waiting = faults[request.output]; !waiting.empty()) {
            fault = waiting.front();
            waiting.pop_front();
        }
        writes.emplace_back(request.output, value);
        now += fault.state == CommandState::TimedOut ? request.deadline : Nanoseconds(1ms);
        if (fault.isWritten)
            outputs[request.output] = value;
        const Error error = fault.state == CommandState::Confirmed
            ? Error()
            : Error{QStringLiteral("device.no"), QStringLiteral("the device said no"), fault.isRetryable};
        m_run.answered(m_ticket, fault.state, request.value, error, now);
    }
    CoordinationRun m_run;
    std::uint64_t m_ticket = 0;
};

CoordinationRun newRun(CoordinationPlan plan = threeSteps(), double clockRate = 1.0)
{
    CoordinationRun run(clockRate);
    run.nextPlan() = std::move(plan);
    run.begin(kStart, kStart);
    return run;
}

CoordinationRun interruptedRun(CoordinationPlan plan)
{
    CoordinationRun run(1.0);
    run.nextPlan() = std::move(plan);
    run.beginInterrupted(kStart);
    return run;
}

Site newSite(CoordinationPlan plan = threeSteps())
{
    return Site(newRun(std::move(plan)));
}

const std::map<PointHandle, std::int64_t> kFormer{{0, 10}, {1, 11}, {2, 12}};
const std::map<PointHandle, std::int64_t> kTarget{{0, 100}, {1, 101}, {2, 102}};

QJsonArray steps(const CoordinationRun &run)
{
    return QJsonDocument::fromJson(run.stepsJson()).array();
}
} // namespace

class CoordinationRunTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void stepsGoInOrder();
    void anyFailureAtAnyStepIsTakenBack_data();
    void anyFailureAtAnyStepIsTakenBack();
    void aCompensationIsTriedAgain();
    void aCompensationThatFailsIsSaidAndStopsNoOther();
    void aRefusalForGoodIsNotTriedAgain();
    void aStepWithoutCompensationStays();
    void theLeaseEndsTheSteps();
    void aLateAnswerOfAStepIsIgnored();
    void aRampIsFollowedToItsEnd();
    void aRampThatIsTooSlowTimesOut();
    void notNeededCounts();
    void theGatewayStops();
    void interruptedTakesEverythingBack();
    void theNextRunStartsAnew();
    void timesFollowTheClocksRate();
};

void CoordinationRunTest::stepsGoInOrder()
{
    Site site = newSite();
    site.play();
    const CoordinationRun &run = site.run();
    QCOMPARE(run.outcome(), Outcome::Done);
    QVERIFY(!run.isCompensated());
    QCOMPARE(site.outputs, kTarget);
    QCOMPARE(site.writes.size(), std::size_t(3));
    QCOMPARE(run.endedAt(), kStart + 3ms);
    const QJsonArray json = steps(run);
    QCOMPARE(json.size(), 3);
    for (int i = 0; i < 3; ++i) { // hand-computed: step i begins after i ms and takes one
        QCOMPARE(site.writes[static_cast<std::size_t>(i)].first, static_cast<PointHandle>(i));
        QCOMPARE(json[i][QLatin1String("id")].toString(), QStringLiteral("s%1").arg(i));
        QCOMPARE(json[i][QLatin1String("state")].toString(), QStringLiteral("Confirmed"));
        QCOMPARE(json[i][QLatin1String("value")].toInteger(), 100 + i);
        QCOMPARE(json[i][QLatin1String("startUs")].toInteger(), 1'000 * i);
        QCOMPARE(json[i][QLatin1String("us")].toInteger(), 1'000 * (i + 1));
        QVERIFY(json[i][QLatin1String("compensation")].isUndefined());
    }
}

void CoordinationRunTest::anyFailureAtAnyStepIsTakenBack_data()
{
    QTest::addColumn<int>("step");
    QTest::addColumn<int>("state");
    QTest::addColumn<bool>("isWritten");
    for (int step = 0; step < 3; ++step) {
        const auto row = [step](CommandState state, bool isWritten) {
            QTest::addRow("%s at %d%s", qPrintable(commandStateName(state)), step, isWritten ? ", written" : "")
                << step << static_cast<int>(state) << isWritten;
        };
        row(CommandState::Rejected, false);
        row(CommandState::Superseded, false);
        row(CommandState::Mismatch, true);
        row(CommandState::Mismatch, false);
        row(CommandState::TimedOut, true);
        row(CommandState::TimedOut, false);
    }
}

void CoordinationRunTest::anyFailureAtAnyStepIsTakenBack()
{
    QFETCH(int, step);
    QFETCH(int, state);
    QFETCH(bool, isWritten);
    Site site = newSite();
    const auto failure = static_cast<CommandState>(state);
    site.faults[static_cast<PointHandle>(step)].push_back({failure, isWritten});
    site.play();
    const CoordinationRun &run = site.run();
    QVERIFY(run.hasEnded());
    QCOMPARE(run.outcome(), failure == CommandState::TimedOut ? Outcome::TimedOut : Outcome::Failed);
    QVERIFY(run.isCompensated());
    QCOMPARE(site.outputs, kFormer);
    QVERIFY(run.error().startsWith(QStringLiteral("step \"s%1\": ").arg(step)));

    // Steps 0..step, then back: the failed one when its state is not known, and all before it.
    std::vector<std::pair<PointHandle, std::int64_t>> expected;
    for (int i = 0; i <= step; ++i)
        expected.emplace_back(i, 100 + i);
    const bool isUnknown = failure == CommandState::Mismatch || failure == CommandState::TimedOut;
    for (int i = isUnknown ? step : step - 1; i >= 0; --i)
        expected.emplace_back(i, 10 + i);
    QCOMPARE(site.writes, expected);

    const QJsonArray json = steps(run);
    for (int i = 0; i < 3; ++i) {
        const QString stepState = json[i][QLatin1String("state")].toString();
        QCOMPARE(stepState,
                 i < step        ? QStringLiteral("Confirmed")
                     : i == step ? commandStateName(failure)
                                 : QStringLiteral("NotBegun"));
        const bool isBack = i < step || (i == step && isUnknown);
        QCOMPARE(json[i][QLatin1String("compensation")][QLatin1String("state")].toString(),
                 isBack ? QStringLiteral("Confirmed") : QString());
    }
    QVERIFY(!json[step][QLatin1String("error")].toString().isEmpty());
}

void CoordinationRunTest::aCompensationIsTriedAgain()
{
    Site site = newSite();
    site.faults[1] = {{CommandState::Rejected, false}};
    site.faults[0] = {
        {CommandState::Confirmed, true}, {CommandState::TimedOut, false}, {CommandState::Mismatch, false}};
    site.play();
    QVERIFY(site.run().isCompensated());
    QCOMPARE(site.outputs, kFormer);
    QCOMPARE(steps(site.run())[0][QLatin1String("compensation")][QLatin1String("tries")].toInt(), 3);
    // Step 0: 1 ms, step 1: 1 ms, tries: 2 s, 1 ms, 1 ms with a pause of a second between them.
    QCOMPARE(site.run().endedAt(), kStart + 2'000ms + 2 * 1'000ms + 4ms);
}

void CoordinationRunTest::aCompensationThatFailsIsSaidAndStopsNoOther()
{
    Site site = newSite();
    site.faults[2] = {{CommandState::Rejected, false}};
    site.faults[1] = {{CommandState::Confirmed, true}};
    for (int i = 0; i < 10; ++i)
        site.faults[1].push_back({CommandState::TimedOut, false});
    site.play();
    const CoordinationRun &run = site.run();
    QVERIFY(run.hasEnded());
    QVERIFY(!run.isCompensated());
    QCOMPARE(run.outcome(), Outcome::Failed);
    QCOMPARE(site.outputs, (std::map<PointHandle, std::int64_t>{{0, 10}, {1, 101}, {2, 12}}));
    QVERIFY2(run.error().contains(QLatin1String("step \"s1\" could not be taken back")), qPrintable(run.error()));
    const QJsonArray json = steps(run);
    QCOMPARE(json[1][QLatin1String("compensation")][QLatin1String("state")].toString(), QStringLiteral("TimedOut"));
    QCOMPARE(json[1][QLatin1String("compensation")][QLatin1String("tries")].toInt(), CoordinationRun::kTries);
    QCOMPARE(json[0][QLatin1String("compensation")][QLatin1String("state")].toString(), QStringLiteral("Confirmed"));
}

void CoordinationRunTest::aRefusalForGoodIsNotTriedAgain()
{
    Site site = newSite();
    site.faults[1] = {{CommandState::Rejected, false}};
    site.faults[0] = {{CommandState::Confirmed, true}, {CommandState::Rejected, false, false}};
    site.play();
    QVERIFY(!site.run().isCompensated());
    QCOMPARE(site.writes.size(), std::size_t(3));
    QCOMPARE(site.run().endedAt(), kStart + 3ms);
}

void CoordinationRunTest::aStepWithoutCompensationStays()
{
    CoordinationPlan plan = threeSteps();
    plan.steps[1].compensation.reset();
    Site site = newSite(plan);
    site.faults[2] = {{CommandState::Rejected, false}};
    site.play();
    QVERIFY(!site.run().isCompensated());
    QCOMPARE(site.outputs, (std::map<PointHandle, std::int64_t>{{0, 10}, {1, 101}, {2, 12}}));
    QVERIFY(steps(site.run())[1][QLatin1String("compensation")].isUndefined());
}

void CoordinationRunTest::theLeaseEndsTheSteps()
{
    Site site = newSite();
    site.next();                                   // step 0
    QVERIFY(site.run().nextRequest(99, site.now)); // step 1 is asked for and not answered
    QCOMPARE(site.run().nextDue(), std::optional(kStart + Nanoseconds(kLease)));
    site.now = kStart + kLease;
    site.outputs[1] = 101; // it got there, though
    site.play();
    QCOMPARE(site.run().outcome(), Outcome::TimedOut);
    QVERIFY(site.run().error().contains(QLatin1String("the lease of 10000 ms ran out")));
    QVERIFY(site.run().isCompensated());
    QCOMPARE(site.outputs, kFormer);
}

void CoordinationRunTest::aLateAnswerOfAStepIsIgnored()
{
    Site site = newSite();
    site.next();
    QVERIFY(site.run().nextRequest(99, site.now));
    site.now = kStart + kLease;
    site.run().advance(site.now);
    QVERIFY(site.run().isCompensating());
    site.run().answered(99, CommandState::Confirmed, Value(101), {}, site.now);
    site.play();
    QCOMPARE(site.run().outcome(), Outcome::TimedOut);
    QCOMPARE(steps(site.run())[1][QLatin1String("state")].toString(), QStringLiteral("TimedOut"));
    QCOMPARE(site.outputs[0], std::int64_t(10));
}

// The arbiter sends what the output's ramp allows: the step is asked for until the device holds all of it.
void CoordinationRunTest::aRampIsFollowedToItsEnd()
{
    CoordinationRun run = newRun();
    SteadyTime now = kStart;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const auto request = run.nextRequest(i, now);
        QVERIFY(request);
        QCOMPARE(request->output, PointHandle(0));
        QCOMPARE(request->value, Value(100));
        QCOMPARE(request->deadline, kStart + 2'000ms - now); // of the step, not of each write
        run.answered(i, i == 2 ? CommandState::NotNeeded : CommandState::Confirmed, Value(i < 3 ? 50 : 100), {}, now);
        if (i < 3) {
            QVERIFY(!run.nextRequest(i + 1, now));
            now = *run.nextDue();
        }
    }
    QCOMPARE(now, kStart + 200ms);
    const auto second = run.nextRequest(4, now);
    QVERIFY(second);
    QCOMPARE(second->output, PointHandle(1));
}

void CoordinationRunTest::aRampThatIsTooSlowTimesOut()
{
    CoordinationRun run = newRun();
    SteadyTime now = kStart;
    std::uint64_t ticket = 0;
    while (!run.isCompensating()) {
        QVERIFY(run.nextRequest(++ticket, now));
        run.answered(ticket, CommandState::Confirmed, Value(50), {}, now);
        if (!run.isCompensating())
            now = *run.nextDue();
    }
    QCOMPARE(now, kStart + 1'900ms);
    const auto back = run.nextRequest(++ticket, now);
    QVERIFY(back);
    QCOMPARE(back->value, Value(10)); // part of the way was gone
    // On the way back the ramp takes its time too; that is one try.
    run.answered(ticket, CommandState::Confirmed, Value(30), {}, now);
    now = *run.nextDue();
    QVERIFY(run.nextRequest(++ticket, now));
    run.answered(ticket, CommandState::Confirmed, Value(10), {}, now);
    QVERIFY(run.hasEnded());
    QCOMPARE(run.outcome(), Outcome::TimedOut);
    QVERIFY(run.isCompensated());
    QCOMPARE(steps(run)[0][QLatin1String("compensation")][QLatin1String("tries")].toInt(), 1);
}

void CoordinationRunTest::notNeededCounts()
{
    Site site = newSite();
    for (PointHandle output = 0; output < 3; ++output)
        site.faults[output] = {{CommandState::NotNeeded, true}};
    site.play();
    QCOMPARE(site.run().outcome(), Outcome::Done);
    QCOMPARE(steps(site.run())[2][QLatin1String("state")].toString(), QStringLiteral("NotNeeded"));
}

void CoordinationRunTest::theGatewayStops()
{
    Site site = newSite();
    site.next();
    QVERIFY(site.run().nextRequest(99, site.now));
    site.run().endLeaseBy(kStart + 2s, QStringLiteral("the gateway stops"));
    site.run().endLeaseBy(kStart + 9s, QStringLiteral("never")); // later than the first
    QCOMPARE(site.run().nextDue(), std::optional(kStart + 2s));
    site.now = kStart + 2s;
    site.play();
    QVERIFY(site.run().error().contains(QLatin1String("the gateway stops")));
    QVERIFY(site.run().isCompensated());
    QCOMPARE(site.outputs, kFormer);
}

void CoordinationRunTest::interruptedTakesEverythingBack()
{
    CoordinationPlan plan = threeSteps();
    for (PlannedStep &step : plan.steps)
        step.value = Value();
    Site site(interruptedRun(plan));
    site.outputs = {{0, 100}, {1, 101}, {2, 12}}; // where the power cut left them
    for (int i = 0; i < 15; ++i)
        site.faults[1].push_back({CommandState::TimedOut, false}); // the device takes 45 s to start
    site.play();
    const CoordinationRun &run = site.run();
    QCOMPARE(run.outcome(), Outcome::Failed);
    QVERIFY(run.wasInterrupted());
    QVERIFY(run.isCompensated());
    QCOMPARE(site.outputs, kFormer);
    QCOMPARE(site.writes.front(), (std::pair<PointHandle, std::int64_t>(2, 12)));
    QCOMPARE(site.writes.back(), (std::pair<PointHandle, std::int64_t>(0, 10)));
    QCOMPARE(steps(run)[0][QLatin1String("state")].toString(), QStringLiteral("Unknown"));
    QCOMPARE(run.endedAt(), kStart + 15 * 3'000ms + 3ms);

    // One that stays away does not hold up the others for ever.
    Site half(interruptedRun(plan));
    half.outputs = {{0, 100}, {1, 101}, {2, 12}};
    for (int i = 0; i < 100; ++i)
        half.faults[1].push_back({CommandState::Rejected, false});
    half.play();
    QVERIFY(!half.run().isCompensated());
    QCOMPARE(half.outputs[0], std::int64_t(10));
    QVERIFY(half.run().endedAt() <= kStart + 61s && half.run().endedAt() >= kStart + 59s);
}

// One object serves run after run: nothing of the last one is left.
void CoordinationRunTest::theNextRunStartsAnew()
{
    Site site = newSite();
    site.faults[1] = {{CommandState::Mismatch, true}};
    site.play();
    QCOMPARE(site.run().outcome(), Outcome::Failed);
    const SteadyTime due = site.now += 1s;
    site.run().nextPlan() = threeSteps();
    site.run().begin(due, site.now);
    site.play();
    QCOMPARE(site.run().outcome(), Outcome::Done);
    QCOMPARE(site.run().error(), QString());
    QVERIFY(!site.run().isCompensated());
    QCOMPARE(site.outputs, kTarget);
    for (const QJsonValue &step : steps(site.run())) {
        QCOMPARE(step[QLatin1String("state")].toString(), QStringLiteral("Confirmed"));
        QVERIFY(step[QLatin1String("compensation")].isUndefined() && step[QLatin1String("error")].isUndefined());
        QVERIFY(step[QLatin1String("us")].toInt() <= 3'000);
    }
}

void CoordinationRunTest::timesFollowTheClocksRate()
{
    CoordinationRun run = newRun(threeSteps(), 60.0);
    QCOMPARE(run.leaseUntil(), kStart + 600s);
    const auto request = run.nextRequest(1, kStart);
    QVERIFY(request);
    QCOMPARE(request->deadline, Nanoseconds(120s));
    // Three steps, three tries each of 2 s and a pause of 1 s.
    QCOMPARE(run.compensationTime(), Nanoseconds(60 * 27s));
}

QTEST_APPLESS_MAIN(CoordinationRunTest)
#include "tst_coordinationrun.moc"
