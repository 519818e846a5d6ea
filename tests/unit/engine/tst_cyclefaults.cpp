// SPDX-License-Identifier: Apache-2.0
// What goes wrong around the cycle: the accounts stay whole and what was lost is said.
#include "enginebed.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
DesignDocument files(const QByteArray &overlap = R"("skip")")
{
    return {{"devices/dev.json", R"({"id":"dev","name":"dev","channel":"bus","params":{},"points":[
                {"id":"power","name":"power","kind":"measured","address":"1","type":"float32"},
                {"id":"half","name":"half","kind":"computed","expression":"point('sums.mean').value / 2"}]})"},
            {"aggregations/sums.json", R"({"id":"sums","name":"sums","aggregations":[
                {"id":"mean","name":"mean","inputs":["dev.power"],"windowMs":1000,"fold":"mean"}]})"},
            {"alarms/site.json",
             R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})"},
            {"triggers/t1.json",
             R"({"id":"t1","name":"t1","when":{"kind":"periodic","periodMs":1000},"overlap":)" + overlap + "}"},
            {"triggers/t1.lua", "log('x')"}};
}

bool hasAlarm(const EngineSnapshot &s, const char *name, const char *state)
{
    return std::any_of(s.activeAlarms.begin(), s.activeAlarms.end(), [=](const EngineSnapshot::ActiveAlarm &a) {
        return a.name == QLatin1String(name) && a.state == QLatin1String(state);
    });
}
} // namespace

class CycleFaultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aDisabledTriggerLeavesNothingInFlight();
    void slowRunsHaveACauseOnRecord();
    void whatWaitsAtTheStopIsDiscarded();
    void aWindowThatEndsDuringTheStopIsNoLoss();
    void aStateFoundIsConfirmedByItsOwnCommit();
    void messagesOfARemovedSinkAreDiscarded();
    void lostRowsAreAnAlarmThatEnds();
    void computedPointsSeeTheWindowThatJustClosed();
    void aRowOfATriggerIsAPoint();
};

void CycleFaultsTest::aDisabledTriggerLeavesNothingInFlight()
{
    EngineBed bed(files(R"("queue","queueLength":5)"));
    bed.advance(1s);
    for (int i = 0; i < 7; ++i)
        bed.advance(1s); // five wait, two find no room
    QCOMPARE(bed.snapshot().triggers.inFlight, 6U);
    for (int i = 0; i < 3; ++i)
        bed.scriptEnds({}, ScriptOutcome::TimedOut, QStringLiteral("time limit"));
    const EngineSnapshot s = bed.snapshot();
    QVERIFY(s.triggerStatistics[0].isDisabled);
    QCOMPARE(s.triggers.inFlight, 0U);
    QCOMPARE(s.triggers.timedOut, 3U);
    QCOMPARE(s.triggers.discarded, 5U); // two without room, three that waited
    QVERIFY(s.triggers.addsUp());
}

// Each run over 200 ms is on record with its cause, also one that did nothing.
void CycleFaultsTest::slowRunsHaveACauseOnRecord()
{
    EngineBed bed(files(R"("latest")"));
    bed.advance(1s + 250ms); // the engine was idle and is woken late
    bed.scriptEnds({});
    bed.advance(750ms); // on time, and held up by its script
    bed.clock.advance(300ms);
    bed.advance(700ms); // due while the last one still runs
    bed.scriptEnds({});
    bed.advance(400ms);
    bed.scriptEnds({});
    std::vector<QByteArray> details;
    for (const RunRecord &record : bed.records.all<RunRecord>())
        details.push_back(record.detail);
    QCOMPARE(details.size(), std::size_t(3));
    QVERIFY2(details[0].contains(R"("cause":"scheduler")"), details[0].constData());
    QVERIFY2(details[1].contains(R"("cause":"queue")"), details[1].constData());
    QVERIFY2(details[2].contains(R"("cause":"queue")"), details[2].constData());
    const auto slow = bed.snapshot().slowRuns;
    QCOMPARE(slow.size(), std::size_t(3));
    QCOMPARE(slow[0].cause, QStringLiteral("scheduler"));
}

void CycleFaultsTest::whatWaitsAtTheStopIsDiscarded()
{
    EngineBed bed(files(R"("queue","queueLength":5)"));
    for (int i = 0; i < 3; ++i)
        bed.advance(1s);
    bed.push(DrainRequested{});
    bed.step();
    bed.finish();
    QCOMPARE(bed.snapshot().triggers.discarded, 2U);
    QCOMPARE(bed.snapshot().triggers.inFlight, 1U); // the one whose script runs
}

// Store and records are closed one after the other; a window that ended meanwhile was lost, and the alarm about that
// found its records closed and stayed in flight.
void CycleFaultsTest::aWindowThatEndsDuringTheStopIsNoLoss()
{
    EngineBed bed(files());
    bed.sample("dev.power", Value(1.0));
    bed.push(DrainRequested{});
    bed.step();
    bed.finish();
    while (!bed.batches.empty())
        bed.rowsStored();
    bed.isStoreFull = true; // it is closed
    bed.clock.advance(2s);
    bed.abandonRuns();
    bed.takeLastCommits();
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.store.lost, 0U);
    QVERIFY(s.store.addsUp());
    QCOMPARE(s.alarms.offered, 0U);
}

void CycleFaultsTest::aStateFoundIsConfirmedByItsOwnCommit()
{
    EngineBed bed(files());
    const Action raise = AlarmAction{bed.design->alarmByName.value("site.event", -1), true, {}};
    bed.advance(1s);
    bed.scriptEnds({raise});
    bed.advance(1s);
    bed.scriptEnds({raise}); // active already, but not durable yet
    QCOMPARE(bed.snapshot().triggers.inFlight, 2U);
    bed.recordsCommitted();
    bed.messageEnds();
    QCOMPARE(bed.snapshot().triggers.done, 2U);
    QCOMPARE(bed.snapshot().alarms.done, 1U); // one transition
    bed.advance(1s);
    bed.scriptEnds({raise});
    QCOMPARE(bed.snapshot().triggers.done, 3U); // durable long since
}

void CycleFaultsTest::messagesOfARemovedSinkAreDiscarded()
{
    EngineBed bed(files());
    bed.adoptOutbox({{QStringLiteral("mqtt"), {7, "t", "{}", 1, false}, {}},
                     {QStringLiteral("removed"), {8, "t", "{}", 1, false}, {}}});
    QCOMPARE(bed.snapshot().mqtt.inFlight, 1U);
    QCOMPARE(bed.snapshot().mqtt.discarded, 1U);
    const auto acknowledged = bed.records.all<OutboxAcknowledged>();
    QCOMPARE(acknowledged.size(), std::size_t(1));
    QCOMPARE(acknowledged[0].messageId, 8U);
}

void CycleFaultsTest::lostRowsAreAnAlarmThatEnds()
{
    EngineBed bed(files());
    bed.sample("dev.power", Value(1.0));
    bed.advance(300ms);
    bed.rowsStored(false);
    QVERIFY(hasAlarm(bed.snapshot(), "system.historyLost", "Unacknowledged"));
    bed.sample("dev.power", Value(2.0));
    bed.advance(300ms);
    bed.rowsStored();
    QVERIFY(hasAlarm(bed.snapshot(), "system.historyLost", "ReturnToNormal-Unacknowledged"));
    bed.isStoreFull = true;
    bed.sample("dev.power", Value(3.0));
    bed.advance(300ms);
    QVERIFY(hasAlarm(bed.snapshot(), "system.historyLost", "Unacknowledged")); // a full queue loses rows as well
}

void CycleFaultsTest::computedPointsSeeTheWindowThatJustClosed()
{
    EngineBed bed(files());
    bed.sample("dev.power", Value(4.0));
    bed.advance(1020ms); // the window has just closed; the trigger fell due with it
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    QCOMPARE(bed.jobs.front().image->at(bed.point("sums.mean")).value, Value(4.0));
    QCOMPARE(bed.jobs.front().image->at(bed.point("dev.half")).value, Value(2.0));
}

void CycleFaultsTest::aRowOfATriggerIsAPoint()
{
    DesignDocument document = files();
    document["aggregations/rows.json"] = R"({"id":"rows","name":"rows","aggregations":[{"id":"row","name":"row"}]})";
    EngineBed bed(document);
    bed.advance(1s);
    bed.scriptEnds({AggregationAction{bed.point("rows.row"), Value(7)}});
    bed.advance(1s);
    QCOMPARE(bed.jobs.front().image->at(bed.point("rows.row")).value, Value(7));
    QCOMPARE(bed.jobs.front().image->at(bed.point("rows.row")).quality, Quality::Good);
}

QTEST_APPLESS_MAIN(CycleFaultsTest)
#include "tst_cyclefaults.moc"
