// SPDX-License-Identifier: Apache-2.0
// Coordination tasks in the engine: when they run, their writes, account and record.
#include "coordinationbed.h"

#include <QJsonArray>
#include <QJsonDocument>

using namespace gridloom;
using namespace std::chrono_literals;
using State = WriteResult::State;

class CoordinationPathTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRunWritesItsStepsInOrder();
    void aRefusedStepBringsTheFirstOneBack();
    void previousIsWhatTheOutputLastHeld();
    void duesDuringARunAreDiscarded();
    void missedDuesAreCounted();
    void aHigherOwnerMeansNoRun();
    void twoTasksOverOneOutput();
    void theLeaseKeepsOthersOutAndEndsWithTheRun();
    void scriptsStartTasks();
    void aDisabledTaskNeverRuns();
    void runNumbersAreSharedWithTriggers();
};

void CoordinationPathTest::aRunWritesItsStepsInOrder()
{
    CoordinationBed bed;
    bed.advance(1s);
    QCOMPARE(bed.nextWrite(), to("dev.a", 1));
    QVERIFY(bed.writes.front().verify);
    QCOMPARE(bed.writes.size(), std::size_t(1));
    QCOMPARE(bed.snapshot().coordination.inFlight, 1U);
    bed.store();
    QVERIFY(!bed.snapshot().isIdle());
    bed.clock.advance(3ms);
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.nextWrite(), to("dev.b", 1));
    bed.clock.advance(4ms);
    bed.writeEnds(State::Confirmed);
    const EngineSnapshot s = bed.snapshot();
    QVERIFY(s.coordination.addsUp() && s.control.addsUp());
    QCOMPARE(s.coordination.done, 1U);
    QCOMPARE(s.coordination.inFlight, 0U);
    QCOMPARE(s.coordinationWrites, 2U);
    QCOMPARE(s.coordinationLatency.count(), 1U);
    QVERIFY(s.coordinationLatency.maxMs() >= 7.0 && s.coordinationLatency.maxMs() < 7.3);
    QCOMPARE(s.coordinationStatistics.at(0).runs, 1U);
    bed.store();
    QVERIFY(bed.snapshot().isIdle());

    QCOMPARE(bed.runs().size(), std::size_t(1));
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.run, 1U);
    QCOMPARE(record.taskId, QStringLiteral("task"));
    QCOMPARE(record.outcome, QStringLiteral("Ok"));
    QCOMPARE(record.error, QString());
    QCOMPARE(record.doneUs, 7'000);
    QVERIFY(!record.isCompensated);
    QCOMPARE(record.due.time_since_epoch().count() % 1'000'000, 0); // the second it was due, not later
    const QJsonArray steps = QJsonDocument::fromJson(record.steps).array();
    QCOMPARE(steps[0][QLatin1String("us")].toInt(), 3'000);
    QCOMPARE(steps[1][QLatin1String("startUs")].toInt(), 3'000);
    QCOMPARE(steps[1][QLatin1String("us")].toInt(), 7'000);
    const auto controls = bed.records.all<ControlRecord>();
    QCOMPARE(controls.size(), std::size_t(2));
    QCOMPARE(controls[0].reasonText(), QStringLiteral("coordination:task#1"));
    QCOMPARE(controls[1].pointId, QStringLiteral("dev.b"));
    // Written down while it was open, and no longer.
    QCOMPARE(bed.states().size(), std::size_t(2));
    QCOMPARE(bed.states()[0].key, QStringLiteral("coordination/task"));
    QVERIFY(!bed.states()[0].value.isEmpty());
    QVERIFY(bed.states()[1].value.isEmpty());
}

void CoordinationPathTest::aRefusedStepBringsTheFirstOneBack()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Rejected);
    QCOMPARE(bed.nextWrite(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    QVERIFY(bed.writes.empty());
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.coordination.failed, 1U);
    QVERIFY(s.coordination.addsUp());
    QCOMPARE(s.coordinationStatistics.at(0).failed, 1U);
    QCOMPARE(s.coordinationStatistics.at(0).compensated, 1U);
    QCOMPARE(s.coordinationWrites, 2U);
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.outcome, QStringLiteral("Failed"));
    QVERIFY(record.isCompensated);
    QCOMPARE(record.error, QStringLiteral("step \"second\": the device said no"));
    QCOMPARE(s.coordinationStatistics.at(0).lastError, record.error);
    QVERIFY(bed.states().back().value.isEmpty());
    // The next run goes its way.
    bed.advance(1s);
    QCOMPARE(bed.nextWrite(), to("dev.a", 2));
}

// The last confirmed write when it is newer than the last reading, else the reading: somebody may have been at the device.
void CoordinationPathTest::previousIsWhatTheOutputLastHeld()
{
    CoordinationBed bed;
    const auto failSecond = [&bed] {
        bed.advance(1s);
        bed.writeEnds(State::Confirmed);
        bed.writeEnds(State::Rejected);
        return bed.nextWrite();
    };
    QCOMPARE(failSecond(), to("dev.a", 10));
    bed.writeEnds(State::Confirmed);
    bed.sample("dev.a", Value(77));
    QCOMPARE(failSecond(), to("dev.a", 10)); // read at the very moment of the write's end: the write counts
    bed.writeEnds(State::Confirmed);
    bed.clock.advance(1ms);
    bed.sample("dev.a", Value(55));
    QCOMPARE(failSecond(), to("dev.a", 55));
    bed.writeEnds(State::Confirmed);
    bed.sample("dev.a", Value(), Quality::BadCommunicationError);
    QCOMPARE(failSecond(), to("dev.a", 55)); // what was written last
}

void CoordinationPathTest::duesDuringARunAreDiscarded()
{
    CoordinationBed bed;
    bed.advance(1s);
    bed.advance(1s);
    QCOMPARE(bed.snapshot().coordination.offered, 2U);
    QCOMPARE(bed.snapshot().coordination.discarded, 1U);
    QCOMPARE(bed.snapshot().coordination.inFlight, 1U);
    QCOMPARE(bed.writes.size(), std::size_t(1));
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Confirmed);
    bed.advance(1s);
    QCOMPARE(bed.nextWrite(), to("dev.a", 2));
    QCOMPARE(bed.snapshot().coordinationStatistics.at(0).discarded, 1U);
}

void CoordinationPathTest::missedDuesAreCounted()
{
    CoordinationBed bed;
    bed.advance(4s + 300ms);
    QCOMPARE(bed.snapshot().coordination.offered, 4U);
    QCOMPARE(bed.snapshot().coordination.discarded, 3U);
    QCOMPARE(bed.snapshot().coordination.inFlight, 1U);
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.runs().front().doneUs, 3'300'000); // due a second after the start: the first one that was missed
    bed.advance(700ms);
    QCOMPARE(bed.snapshot().coordination.offered, 5U); // on the grid
}

void CoordinationPathTest::aHigherOwnerMeansNoRun()
{
    DesignDocument files = CoordinationBed::files();
    files["triggers/guard.json"] =
        R"({"id":"guard","name":"guard","when":{"kind":"onChange","points":["dev.c"]},"priority":"safety"})";
    files["triggers/guard.lua"] = "log('x')";
    CoordinationBed bed(files);
    bed.sample("dev.c", Value(1));
    bed.scriptEnds({ControlAction{bed.point("dev.b"), Value(5), {}, 60s}});
    bed.writeEnds(State::Confirmed);
    bed.advance(1s);
    QVERIFY(bed.writes.empty()); // not even the first step
    QCOMPARE(bed.snapshot().coordination.discarded, 1U);
    const CoordinationRecord record = bed.runs().front();
    QCOMPARE(record.outcome, QStringLiteral("Discarded"));
    QVERIFY2(record.error.startsWith(QLatin1String("lease: dev.b")), qPrintable(record.error));
    QVERIFY(bed.states().empty());
}

void CoordinationPathTest::twoTasksOverOneOutput()
{
    DesignDocument files = CoordinationBed::files();
    files["coordination/upper.json"] = R"({"id":"upper","name":"upper","when":{"periodMs":1000,"phaseMs":500},
        "steps":[{"id":"only","point":"dev.b","value":3}]})";
    CoordinationBed bed(files);
    bed.advance(500ms);
    QCOMPARE(bed.nextWrite(), to("dev.b", 3));
    bed.advance(500ms); // "task" is due and finds dev.b leased
    QCOMPARE(bed.snapshot().coordination.discarded, 1U);
    QCOMPARE(bed.writes.size(), std::size_t(1));
    bed.writeEnds(State::Confirmed);
    bed.advance(1s); // "upper" comes first again, and finds its value there already
    const Ledger l = bed.snapshot().coordination;
    QCOMPARE(l.offered, 4U);
    QCOMPARE(l.done, 2U);
    QCOMPARE(l.discarded, 2U);
    QVERIFY(bed.writes.empty());
    bed.advance(400ms);
    QCOMPARE(bed.snapshot().coordination.inFlight, 0U);
}

void CoordinationPathTest::theLeaseKeepsOthersOutAndEndsWithTheRun()
{
    DesignDocument files = CoordinationBed::files();
    files["triggers/other.json"] =
        R"({"id":"other","name":"other","when":{"kind":"onChange","points":["dev.c"]},"priority":"schedule"})";
    files["triggers/other.lua"] = "log('x')";
    CoordinationBed bed(files);
    bed.advance(1s);
    bed.sample("dev.c", Value(1));
    bed.scriptEnds({ControlAction{bed.point("dev.b"), Value(5), {}, {}}});
    QCOMPARE(bed.snapshot().commands.rejected, 1U); // of the same priority, and dev.b was not even written yet
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Confirmed);
    bed.sample("dev.c", Value(2));
    bed.scriptEnds({ControlAction{bed.point("dev.b"), Value(5), {}, {}}});
    QCOMPARE(bed.nextWrite(), to("dev.b", 5));
}

void CoordinationPathTest::scriptsStartTasks()
{
    DesignDocument files = CoordinationBed::files(R"("priority":"demand")");
    files["triggers/t.json"] = R"({"id":"t","name":"t","when":{"kind":"onChange","points":["dev.c"]}})";
    files["triggers/t.lua"] = "coordination.start('the task')";
    CoordinationBed bed(files);
    bed.advance(10s);
    QCOMPARE(bed.snapshot().coordination.offered, 0U);
    bed.sample("dev.c", Value(1));
    bed.scriptEnds({CoordinationAction{bed.design->coordinationByName.value("the task", -1)}});
    QCOMPARE(bed.nextWrite(), to("dev.a", 2)); // run 1 is the trigger's
    bed.writeEnds(State::Confirmed);
    bed.writeEnds(State::Confirmed);
    QCOMPARE(bed.snapshot().coordination.done, 1U);
    // The trigger's run acted, so it is on record; it did not wait for the task.
    const auto runs = bed.records.all<RunRecord>();
    QCOMPARE(runs.size(), std::size_t(1));
    QVERIFY2(runs[0].detail.contains(R"("coordination":{"asked":1})"), runs[0].detail.constData());
    QCOMPARE(bed.records.all<ControlRecord>()[0].priority, QStringLiteral("demand"));
}

void CoordinationPathTest::aDisabledTaskNeverRuns()
{
    DesignDocument files = CoordinationBed::files(R"("enabled":false,"when":{"periodMs":1000})");
    files["triggers/t.json"] = R"({"id":"t","name":"t","when":{"kind":"onChange","points":["dev.c"]}})";
    files["triggers/t.lua"] = "coordination.start('the task')";
    CoordinationBed bed(files);
    bed.advance(5s);
    QCOMPARE(bed.snapshot().coordination.offered, 0U);
    bed.sample("dev.c", Value(1));
    bed.scriptEnds({CoordinationAction{0}});
    QVERIFY(bed.writes.empty());
    QCOMPARE(bed.snapshot().coordination.discarded, 1U);
}

void CoordinationPathTest::runNumbersAreSharedWithTriggers()
{
    DesignDocument files = CoordinationBed::files();
    files["triggers/t.json"] = R"({"id":"t","name":"t","when":{"kind":"periodic","periodMs":1000}})";
    files["triggers/t.lua"] = "log('x')";
    CoordinationBed bed(files);
    QSet<std::uint64_t> numbers;
    for (int i = 0; i < 3; ++i) {
        bed.advance(1s);
        numbers.insert(bed.jobs.front().run);
        bed.scriptEnds({});
        numbers.insert(static_cast<std::uint64_t>(bed.nextWrite().second));
        bed.writeEnds(State::Confirmed);
        bed.writeEnds(State::Confirmed);
    }
    QCOMPARE(numbers, (QSet<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

QTEST_APPLESS_MAIN(CoordinationPathTest)
#include "tst_coordinationpath.moc"
