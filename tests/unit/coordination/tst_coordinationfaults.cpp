// SPDX-License-Identifier: Apache-2.0
// Coordination runs that are cut short: devices, leases, inputs, the disk, the stop and the power.
#include "coordinationbed.h"

using namespace gridloom;
using namespace std::chrono_literals;
using State = WriteResult::State;

namespace {
bool hasAlarm(const EngineSnapshot &s, const char *name)
{
    return std::any_of(s.activeAlarms.begin(), s.activeAlarms.end(), [=](const EngineSnapshot::ActiveAlarm &a) {
        return a.name == QLatin1String(name) && a.state == QLatin1String("Unacknowledged");
    });
}
} // namespace

class CoordinationFaultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aSilentDeviceTimesOut();
    void aHigherPriorityEndsTheRun();
    void whatCannotBeTakenBackIsAnAlarm();
    void aBadInputStartsNothing();
    void anUnknownPreviousStartsNothing();
    void theStepsDeadlineIsItsOwn();
    void aStopLetsARunEnd();
    void aStopTakesARunBack();
    void aStopThatIsTooShortLeavesItForTheNextStart();
    void aDurableTaskWaitsForTheDisk();
    void aDurableTaskDoesNotRunWithoutTheDisk();
    void anInterruptedRunIsTakenBackAtTheStart();
    void anInterruptedRunOfARemovedTask();
    void aDamagedStateIsAnAlarm();
};

void CoordinationFaultsTest::aSilentDeviceTimesOut()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    bed.writes.clear(); // the second device never answers
    bed.pass(2s);
    // Two dues were discarded meanwhile; the unknown step goes first.
    QCOMPARE(bed.nextWrite(), to("dev.b", 20));
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.snapshot().coordination.timedOut, 1U);
    QCOMPARE(bed.runs().front().outcome, QStringLiteral("TimedOut"));
    QVERIFY(bed.runs().front().isCompensated);
    QVERIFY(bed.snapshot().coordination.addsUp());
}

void CoordinationFaultsTest::aHigherPriorityEndsTheRun()
{
    DesignDocument files = CoordinationBed::files();
    files["triggers/guard.json"] =
        R"({"id":"guard","name":"guard","when":{"kind":"onChange","points":["dev.c"]},"priority":"safety"})";
    files["triggers/guard.lua"] = "log('x')";
    CoordinationBed bed(files);
    bed.advance(1s);
    bed.sample("dev.c", Value(1));
    bed.scriptEnds({ControlAction{bed.point("dev.b"), Value(5), {}, {}}});
    QCOMPARE(bed.writes.size(), std::size_t(2)); // step 1 and the guard's
    bed.writeEnds(State::Confirmed);             // step 1: the run may not go on to dev.b
    bed.writeEnds(State::Confirmed);             // the guard's
    QCOMPARE(bed.nextWrite(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    QVERIFY(bed.writes.empty());
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.outcome, QStringLiteral("Failed"));
    QVERIFY2(record.error.contains(QLatin1String("the lease was lost: dev.b was taken over by guard")),
             qPrintable(record.error));
    QVERIFY(record.isCompensated);
}

void CoordinationFaultsTest::whatCannotBeTakenBackIsAnAlarm()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Rejected);
    for (int i = 0; i < CoordinationRun::kTries; ++i) {
        QCOMPARE(bed.nextWrite(), to("dev.a", 10));
        bed.writeEnds(State::Mismatch);
        bed.advance(1s);
    }
    QVERIFY(!bed.runs().empty());
    QVERIFY(!bed.runs().front().isCompensated);
    QVERIFY(hasAlarm(bed.snapshot(), "system.notCompensated"));
    QCOMPARE(bed.snapshot().coordinationStatistics.at(0).compensated, 0U);
    // dev.a is in an unknown state now and was not read since: "previous" is not known either.
    bed.advance(1s);
    QVERIFY(bed.writes.empty());
    bed.sample("dev.a", Value(10));
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.runs().back().outcome, QStringLiteral("Ok"));
    QVERIFY(!hasAlarm(bed.snapshot(), "system.notCompensated"));
}

void CoordinationFaultsTest::aBadInputStartsNothing()
{
    CoordinationBed bed(CoordinationBed::files(R"("when":{"periodMs":1000})", R"([
        {"id":"first","point":"dev.a","value":1,"compensate":0},
        {"id":"second","point":"dev.b","value":{"point":"dev.c"},"compensate":0}])"));
    bed.advance(1s);
    QVERIFY(bed.writes.empty());
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.outcome, QStringLiteral("Failed"));
    QCOMPARE(record.error, QStringLiteral("step \"second\": dev.c has no good value now"));
    QVERIFY(record.isCompensated); // nothing was begun
    QCOMPARE(bed.snapshot().coordination.failed, 1U);
    bed.sample("dev.c", Value(std::uint64_t(4'000'000'000U)));
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.b", 4'000'000'000));
}

void CoordinationFaultsTest::anUnknownPreviousStartsNothing()
{
    CoordinationBed bed(CoordinationBed::files(), {}, false);
    bed.advance(1s);
    QVERIFY(bed.writes.empty());
    QVERIFY2(bed.runs().front().error.contains(QLatin1String("not known what dev.a holds")),
             qPrintable(bed.runs().front().error));
}

void CoordinationFaultsTest::theStepsDeadlineIsItsOwn()
{
    CoordinationBed bed(CoordinationBed::files(R"("when":{"periodMs":1000})", R"([
        {"id":"first","point":"dev.a","value":1,"deadlineMs":300,"compensate":0}])"));
    bed.advance(1s);
    bed.writes.clear();
    bed.advance(299ms);
    QVERIFY(bed.writes.empty());
    bed.pass(1ms);
    QCOMPARE(bed.nextWrite(), to("dev.a", 0));
}

void CoordinationFaultsTest::aStopLetsARunEnd()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.push(DrainRequested{});
    bed.advance(1s);
    bed.store();
    QVERIFY(!bed.snapshot().isIdle());
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.b", 1));
    bed.writeEnds(State::Confirmed);
    bed.store();
    QVERIFY(bed.snapshot().isIdle());
    QCOMPARE(bed.snapshot().coordination.done, 1U);
    bed.advance(5s);
    QCOMPARE(bed.snapshot().coordination.offered, 1U); // nothing new
}

void CoordinationFaultsTest::aStopTakesARunBack()
{
    CoordinationBed bed(CoordinationBed::files(R"("when":{"periodMs":1000},"leaseMs":60000)", R"([
        {"id":"first","point":"dev.a","value":1,"deadlineMs":50000,"compensate":{"previous":true}},
        {"id":"second","point":"dev.b","value":1,"deadlineMs":50000,"compensate":{"previous":true}}])"));
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    bed.push(DrainRequested{});
    bed.advance(1s);
    bed.advance(2s); // step 2 still waits for its device
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.b", 20));
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    bed.store();
    QVERIFY(bed.snapshot().isIdle());
    QVERIFY(bed.runs().front().isCompensated);
    QVERIFY2(bed.runs().front().error.contains(QLatin1String("the gateway stops")),
             qPrintable(bed.runs().front().error));
}

void CoordinationFaultsTest::aStopThatIsTooShortLeavesItForTheNextStart()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.push(DrainRequested{});
    bed.step();
    bed.finish();
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.coordination.timedOut, 1U);
    QCOMPARE(s.coordination.inFlight, 0U);
    QVERIFY(bed.runs().empty()); // it has not ended yet
    QCOMPARE(bed.states().size(), std::size_t(1));
    QVERIFY(!bed.states().back().value.isEmpty());
}

void CoordinationFaultsTest::aDurableTaskWaitsForTheDisk()
{
    CoordinationBed bed(CoordinationBed::files(R"("when":{"periodMs":1000},"durable":true)"));
    bed.advance(1s);
    QVERIFY(bed.writes.empty());
    QCOMPARE(bed.snapshot().coordination.inFlight, 1U);
    bed.recordsCommitted();
    QCOMPARE(bed.nextWrite(), to("dev.a", 1));
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.snapshot().coordination.done, 1U);
}

void CoordinationFaultsTest::aDurableTaskDoesNotRunWithoutTheDisk()
{
    CoordinationBed bed(CoordinationBed::files(R"("when":{"periodMs":1000},"durable":true)"));
    bed.advance(1s);
    bed.recordsCommitted(false);
    QVERIFY(bed.writes.empty());
    QCOMPARE(bed.snapshot().coordination.failed, 1U);
    QVERIFY(bed.runs().front().error.contains(QLatin1String("disk full")));
    QVERIFY(bed.runs().front().isCompensated);
    // One whose commit never comes ends with its lease.
    bed.advance(1s);
    QCOMPARE(bed.snapshot().coordination.inFlight, 1U);
    bed.advance(10s);
    QVERIFY(bed.writes.empty());
    QCOMPARE(bed.snapshot().coordination.timedOut, 1U);
}

namespace {
/// What a life leaves that ends in the middle of a run, after step 1.
std::map<QString, QByteArray> interruptedLife()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    return {{bed.states().back().key, bed.states().back().value}};
}
} // namespace

void CoordinationFaultsTest::anInterruptedRunIsTakenBackAtTheStart()
{
    CoordinationBed bed(CoordinationBed::files(), interruptedLife(), false);
    bed.step();
    QCOMPARE(bed.nextWrite(), to("dev.b", 20));
    bed.advance(1s);
    QCOMPARE(bed.snapshot().coordination.discarded, 1U); // no new run before that is done
    bed.writeEnds(State::TimedOut);                      // the device is still starting
    bed.advance(1s);
    QCOMPARE(bed.nextWrite(), to("dev.b", 20));
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.runs().size(), std::size_t(1));
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.run, 1U); // the number and due time of the run that was interrupted
    QCOMPARE(record.outcome, QStringLiteral("Failed"));
    QVERIFY(record.error.contains(QLatin1String("interrupted")));
    QVERIFY(record.isCompensated);
    QCOMPARE(record.due, WallTime(std::chrono::seconds(1'785'542'401)));
    QVERIFY(bed.states().back().value.isEmpty());
    QCOMPARE(bed.snapshot().coordination.failed, 1U);
    QVERIFY(bed.snapshot().coordination.addsUp());
}

void CoordinationFaultsTest::anInterruptedRunOfARemovedTask()
{
    DesignDocument files = CoordinationBed::files();
    files.erase("coordination/task.json");
    files["devices/dev.json"].replace(R"("id":"b")", R"("id":"b2")"); // and one of its outputs is gone
    CoordinationBed bed(files, interruptedLife(), false);
    bed.step();
    QCOMPARE(bed.nextWrite(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.taskId, QStringLiteral("task"));
    QVERIFY(!record.isCompensated);
    QVERIFY2(record.error.contains(QLatin1String("step \"second\" could not be taken back")), qPrintable(record.error));
    QVERIFY(hasAlarm(bed.snapshot(), "system.notCompensated"));
    QCOMPARE(bed.snapshot().coordination.failed, 1U);
}

void CoordinationFaultsTest::aDamagedStateIsAnAlarm()
{
    CoordinationBed bed(CoordinationBed::files(), {{QStringLiteral("coordination/task"), "{\"version\":1,"}});
    QVERIFY(hasAlarm(bed.snapshot(), "system.stateDamaged"));
    QVERIFY(bed.states().front().value.isEmpty()); // not found again and again
    bed.advance(1s);
    QCOMPARE(bed.nextWrite(), to("dev.a", 1));
}

QTEST_APPLESS_MAIN(CoordinationFaultsTest)
#include "tst_coordinationfaults.moc"
