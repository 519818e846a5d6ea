// SPDX-License-Identifier: Apache-2.0
#include "enginebed.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr const char *kDevice = R"({"id":"dev","name":"dev","channel":"bus","params":{},"points":[
    {"id":"power","name":"power","kind":"measured","address":"1","type":"float32","unit":"kW"},
    {"id":"limit","name":"limit","kind":"setpoint","address":"2","type":"float32","unit":"kW","write":{}},
    {"id":"double","name":"double","kind":"computed","expression":"point('dev.power').value * 2","unit":"kW"}]})";
constexpr const char *kSets = R"({"id":"sums","name":"sums","aggregations":[
    {"id":"mean","name":"mean","inputs":["dev.power"],"windowMs":10000,"fold":"mean"},
    {"id":"row","name":"row"}]})";
constexpr const char *kAlarms = R"({"id":"site","name":"site","alarms":[
    {"id":"high","name":"high","severity":"high","text":"Too much","condition":{"point":"dev.power","kind":"high","limit":10}},
    {"id":"event","name":"event","severity":"low"}]})";

DesignDocument files(const QByteArray &when, const char *overlap = "skip")
{
    return {{"devices/dev.json", kDevice},
            {"aggregations/sums.json", kSets},
            {"alarms/site.json", kAlarms},
            {"triggers/t1.json", R"({"id":"t1","name":"t1","when":)" + when + R"(,"overlap":")" + overlap + R"("})"},
            {"triggers/t1.lua", "log('x')"}};
}
const QByteArray kPeriodic = R"({"kind":"periodic","periodMs":1000})";
const QByteArray kOnChange = R"({"kind":"onChange","points":["dev.power"]})";

std::vector<Action> allFour(const EngineBed &bed)
{
    return {ControlAction{bed.point("dev.limit"), Value(5.0), {}, {}},
            AlarmAction{bed.design->alarmByName.value("site.event", -1), true, {}},
            PublishAction{"alarm/t1", R"({"run":1})", 1, false}, AggregationAction{bed.point("sums.row"), Value(1)}};
}

void verifyLedgers(const EngineSnapshot &s)
{
    for (const Ledger &ledger : {s.points, s.triggers, s.control, s.mqtt, s.alarms, s.publications})
        QVERIFY(ledger.addsUp());
    QVERIFY(s.store.addsUp());
}
} // namespace

class CycleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRunIsDoneWhenAllFourEffectsAreConfirmed();
    void onChangeIsDueAtItsSample();
    void missedDuesAreCountedAndTheGridStays();
    void overlapSkip();
    void overlapLatest();
    void aRunReadsOneImage();
    void computedPointsFollowTheirInputs();
    void windowsBecomePointsAndRows();
    void alarmsAreJournalledAndPublished();
    void failedCommitIsNoDoneAlarm();
    void threeOverrunsDisableTheTrigger();
    void aFullStoreLosesRowsAndSaysSo();
    void lostAnswersAreDiscarded();
    void drainingStartsNothingNew();
    void heartbeatsLeaveNoGap();
    void aReturnedDeviceIsWrittenAgain();
    void publicationsCarryQualityAndTime();
    void statusIsPublishedOffTheGrid();
};

void CycleTest::aRunIsDoneWhenAllFourEffectsAreConfirmed()
{
    EngineBed bed(files(kPeriodic));
    bed.advance(1s);
    bed.scriptEnds(allFour(bed));
    QCOMPARE(bed.snapshot().triggers.inFlight, 1U);
    QCOMPARE(bed.writes.size(), std::size_t(1));
    QCOMPARE(bed.messages.size(), std::size_t(2)); // the script's own and that of the alarm
    bed.clock.advance(2ms);
    bed.writeEnds(WriteResult::State::Confirmed);
    bed.messageEnds();
    bed.messageEnds();
    bed.rowsStored();
    QCOMPARE(bed.snapshot().triggers.done, 0U); // the alarm is not durable yet
    bed.clock.advance(3ms);
    bed.recordsCommitted();
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.triggers.done, 1U);
    QCOMPARE(s.control.done, 1U);
    QCOMPARE(s.alarms.done, 1U);
    QCOMPARE(s.mqtt.done, 2U);
    QCOMPARE(s.aggregationRuns, 1U);
    QCOMPARE(s.trigger.maxMs(), 5.0);
    QCOMPARE(s.triggerIssued.maxMs(), 0.0);
    verifyLedgers(s);
    const auto runs = bed.records.all<RunRecord>();
    QCOMPARE(runs.size(), std::size_t(1));
    QCOMPARE(runs[0].outcome, QStringLiteral("Ok"));
    QCOMPARE(runs[0].controlUs, 2000);
    QCOMPARE(runs[0].alarmUs, 5000);
    const auto commands = bed.records.all<ControlRecord>();
    QCOMPARE(commands.size(), std::size_t(1));
    QCOMPARE(commands[0].reasonText(), QStringLiteral("t1#1"));
    QCOMPARE(commands[0].state, QStringLiteral("Confirmed"));
    QCOMPARE(commands[0].value, Value(5.0));
    QCOMPARE(bed.records.all<OutboxAcknowledged>().size(), std::size_t(2));
}

void CycleTest::onChangeIsDueAtItsSample()
{
    EngineBed bed(files(kOnChange));
    bed.sample("dev.power", Value(1.0));
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    bed.scriptEnds({});
    bed.advance(100ms);
    bed.sample("dev.power", Value(1.0)); // no change
    QVERIFY(bed.jobs.empty());
    // The frame arrived 4 ms before the engine got to it: its run is due then.
    bed.push(SamplesArrived{
        {{bed.point("dev.power"), Quality::Good, Value(2.0), bed.clock.wallNow(), bed.clock.steadyNow()}}});
    ++bed.polls.offered;
    bed.advance(4ms);
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    bed.scriptEnds({});
    QCOMPARE(bed.snapshot().trigger.maxMs(), 4.0);
    bed.sample("dev.power", {}, Quality::BadCommunicationError); // quality is a change
    QCOMPARE(bed.jobs.size(), std::size_t(1));
}

void CycleTest::missedDuesAreCountedAndTheGridStays()
{
    EngineBed bed(files(kPeriodic));
    bed.advance(1s);
    bed.scriptEnds({});
    bed.advance(3500ms); // dues at 2, 3 and 4 s: one runs, two were missed
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    bed.scriptEnds({});
    EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.triggers.offered, 4U);
    QCOMPARE(s.triggers.done, 2U);
    QCOMPARE(s.triggers.discarded, 2U);
    bed.advance(499ms);
    QVERIFY(bed.jobs.empty());
    bed.advance(1ms); // 5 s: on the grid
    QCOMPARE(bed.jobs.size(), std::size_t(1));
}

void CycleTest::overlapSkip()
{
    EngineBed bed(files(kPeriodic));
    bed.advance(1s);
    bed.advance(1s);
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.triggers.offered, 2U);
    QCOMPARE(s.triggers.discarded, 1U);
    QCOMPARE(s.triggerStatistics[0].skipped, 1U);
    verifyLedgers(s);
}

void CycleTest::overlapLatest()
{
    EngineBed bed(files(kPeriodic, "latest"));
    bed.advance(1s);
    bed.advance(1s);
    bed.advance(1s); // replaces the one that waited
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    bed.scriptEnds({});
    QCOMPARE(bed.jobs.size(), std::size_t(1));
    bed.scriptEnds({});
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.triggers.offered, 3U);
    QCOMPARE(s.triggers.done, 2U);
    QCOMPARE(s.triggers.discarded, 1U);
    QVERIFY(bed.jobs.empty());
}

void CycleTest::aRunReadsOneImage()
{
    EngineBed bed(files(kOnChange));
    bed.sample("dev.power", Value(1.0));
    const auto image = bed.jobs.front().image;
    bed.sample("dev.power", Value(2.0));
    QCOMPARE(image->at(bed.point("dev.power")).value, Value(1.0));
}

void CycleTest::computedPointsFollowTheirInputs()
{
    EngineBed bed(files(kOnChange));
    bed.sample("dev.power", Value(3.5));
    QCOMPARE(bed.jobs.front().image->at(bed.point("dev.double")).value, Value(7.0));
    QCOMPARE(bed.jobs.front().image->at(bed.point("dev.double")).quality, Quality::Good);
}

void CycleTest::windowsBecomePointsAndRows()
{
    EngineBed bed(files(kOnChange));
    bed.advance(10s);
    bed.sample("dev.power", Value(2.0));
    bed.advance(5s);
    bed.sample("dev.power", Value(4.0));
    bed.advance(5100ms);
    bool found = false;
    for (const auto &batch : bed.batches)
        for (const HistoryRow &row : batch.rows)
            if (row.point == bed.point("sums.mean") && row.value == Value(3.0)) {
                QCOMPARE(row.time.time_since_epoch() % 10s, std::chrono::microseconds(0)); // stamped with its start
                found = true;
            }
    QVERIFY(found);
}

void CycleTest::alarmsAreJournalledAndPublished()
{
    EngineBed bed(files(kPeriodic));
    bed.sample("dev.power", Value(11.0));
    const auto transitions = bed.records.all<AlarmTransition>();
    QCOMPARE(transitions.size(), std::size_t(1));
    QCOMPARE(transitions[0].alarmId, QStringLiteral("site.high"));
    QCOMPARE(transitions[0].to, QStringLiteral("Unacknowledged"));
    QCOMPARE(transitions[0].value, QByteArray("11"));
    QCOMPARE(bed.messages.size(), std::size_t(1));
    QCOMPARE(bed.messages[0].topic, QByteArray("gridloom/v1/gw/alarm/site/high"));
    QCOMPARE(bed.snapshot().activeAlarms.size(), std::size_t(1));
    QCOMPARE(bed.snapshot().alarms.inFlight, 1U);
    bed.recordsCommitted();
    QCOMPARE(bed.snapshot().alarms.done, 1U);
}

void CycleTest::failedCommitIsNoDoneAlarm()
{
    EngineBed bed(files(kPeriodic));
    bed.sample("dev.power", Value(11.0));
    bed.recordsCommitted(false);
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.alarms.failed, 1U);
    QCOMPARE(s.alarms.done, 0U);
    QVERIFY(std::any_of(s.activeAlarms.begin(), s.activeAlarms.end(),
                        [](const auto &a) { return a.name == QStringLiteral("system.recordsLost"); }));
}

void CycleTest::threeOverrunsDisableTheTrigger()
{
    EngineBed bed(files(kPeriodic));
    for (int i = 0; i < 3; ++i) {
        bed.advance(1s);
        bed.scriptEnds({}, ScriptOutcome::TimedOut, QStringLiteral("t1.lua:1: time limit"));
    }
    bed.advance(1s);
    QVERIFY(bed.jobs.empty());
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.triggers.timedOut, 3U);
    QVERIFY(s.triggerStatistics[0].isDisabled);
    QCOMPARE(s.activeAlarms.size(), std::size_t(1));
    QVERIFY(s.activeAlarms[0].text.contains(QStringLiteral("t1.lua:1: time limit")));
}

void CycleTest::aFullStoreLosesRowsAndSaysSo()
{
    EngineBed bed(files(kPeriodic));
    bed.isStoreFull = true;
    bed.sample("dev.power", Value(1.0));
    bed.advance(300ms);
    EngineSnapshot s = bed.snapshot();
    QVERIFY(s.store.lost > 0);
    QVERIFY(s.store.addsUp());
    bed.isStoreFull = false;
    bed.sample("dev.power", Value(2.0));
    bed.advance(300ms);
    const std::uint64_t lost = s.store.lost;
    bed.rowsStored(false); // the disk refused the batch
    s = bed.snapshot();
    QVERIFY(s.store.lost > lost);
    QCOMPARE(s.store.pending, 0U);
    QVERIFY(s.store.addsUp());
}

void CycleTest::lostAnswersAreDiscarded()
{
    EngineBed bed(files(kPeriodic));
    bed.polls.offered = 5;
    bed.polls.dropped = 2;
    bed.polls.missed = 1;
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.points.offered, 5U);
    QCOMPARE(s.points.discarded, 3U);
    QCOMPARE(s.points.inFlight, 2U);
}

void CycleTest::drainingStartsNothingNew()
{
    EngineBed bed(files(kPeriodic));
    bed.advance(1s);
    bed.push(DrainRequested{});
    bed.step();
    QVERIFY(!bed.isPolling);
    bed.scriptEnds(allFour(bed));
    bed.writeEnds(WriteResult::State::Confirmed);
    bed.recordsCommitted();
    bed.messageEnds();
    bed.messageEnds();
    while (!bed.batches.empty())
        bed.rowsStored();
    bed.recordsCommitted();
    bed.advance(5s);
    QVERIFY(bed.jobs.empty());
    const EngineSnapshot s = bed.snapshot();
    QVERIFY(s.isIdle());
    QCOMPARE(s.triggers.offered, 1U);
    QCOMPARE(s.triggers.done, 1U);
}

// PC-20: samples that come a little before the interval is over leave no gap of 11 s.
void CycleTest::heartbeatsLeaveNoGap()
{
    DesignDocument document = files(kPeriodic);
    document["devices/dev.json"] = R"({"id":"dev","name":"dev","channel":"bus","params":{},
        "storage":{"mode":"onChange","maxIntervalMs":10000},"points":[
        {"id":"power","name":"power","kind":"measured","address":"1","type":"float32","unit":"kW"},
        {"id":"limit","name":"limit","kind":"setpoint","address":"2","type":"float32","unit":"kW","write":{}}]})";
    EngineBed bed(document);
    std::vector<WallTime> rows;
    for (int i = 0; i < 2400; ++i) { // ten minutes
        if (i % 4 == 0)
            bed.sample("dev.power", Value(1.0));
        bed.advance(249'999us); // four steps make a little less than a second
        while (!bed.batches.empty()) {
            for (const HistoryRow &row : bed.batches.front().rows)
                if (row.point == bed.point("dev.power"))
                    rows.push_back(row.time);
            bed.rowsStored();
        }
    }
    for (std::size_t i = 1; i < rows.size(); ++i)
        QVERIFY(rows[i] - rows[i - 1] <= 10'500ms);
    QVERIFY(rows.size() >= 58 && rows.size() <= 62);

    // An orderly stop leaves the newest sample behind.
    bed.sample("dev.power", Value(1.0));
    const WallTime newest = bed.clock.wallNow();
    bed.advance(700ms);
    bed.push(DrainRequested{});
    bed.step();
    bed.finish();
    QVERIFY(!bed.batches.empty());
    std::vector<WallTime> last;
    for (const HistoryRow &row : bed.batches.back().rows)
        if (row.point == bed.point("dev.power"))
            last.push_back(row.time);
    QCOMPARE(last, std::vector<WallTime>{newest});
}

void CycleTest::aReturnedDeviceIsWrittenAgain()
{
    EngineBed bed(files(kPeriodic));
    const Action write = ControlAction{bed.point("dev.limit"), Value(5.0), {}, {}};
    const auto runOnce = [&] {
        bed.advance(1s);
        bed.scriptEnds({write});
    };
    runOnce();
    bed.writeEnds(WriteResult::State::Confirmed);
    runOnce();
    QVERIFY(bed.writes.empty()); // NotNeeded
    QCOMPARE(bed.snapshot().commands.notNeeded, 1U);
    bed.push(HealthChanged{QStringLiteral("dev"), LinkHealth::Offline, {}});
    bed.push(HealthChanged{QStringLiteral("dev"), LinkHealth::Online, {}});
    bed.step();
    runOnce();
    QCOMPARE(bed.writes.size(), std::size_t(1)); // it may have restarted with another value
}

void CycleTest::publicationsCarryQualityAndTime()
{
    DesignDocument document = files(kPeriodic);
    document["sinks/mqtt.json"] = R"({"id":"mqtt","name":"mqtt","sink":"fake","params":{},"alarms":false,
        "publications":[{"id":"p","device":"dev","points":["power","limit"],"periodMs":1000,"qos":1}]})";
    EngineBed bed(document);
    bed.sample("dev.power", Value(1.5));
    bed.advance(1s);
    QCOMPARE(bed.messages.size(), std::size_t(1));
    QCOMPARE(bed.messages[0].topic, QByteArray("gridloom/v1/gw/telemetry/dev"));
    QCOMPARE(bed.messages[0].payload,
             QByteArray(R"({"id":100,"device":"dev","time":"2026-08-01T00:00:00Z","values":)"
                        R"({"power":{"v":1.5},"limit":{"v":null,"q":"Bad_WaitingForInitialData"}}})"));
    bed.clock.advance(3ms);
    bed.messageEnds();
    const EngineSnapshot s = bed.snapshot();
    QCOMPARE(s.publications.done, 1U);
    QCOMPARE(s.mqtt.done, 1U);
    QCOMPARE(s.publication.maxMs(), 3.0);
}

void CycleTest::statusIsPublishedOffTheGrid()
{
    EngineBed bed(files(kPeriodic));
    bed.advance(549ms);
    QVERIFY(bed.published.empty());
    bed.advance(1ms);
    QCOMPARE(bed.published.size(), std::size_t(1));
    bed.advance(1s);
    QCOMPARE(bed.published.size(), std::size_t(2));
}

QTEST_APPLESS_MAIN(CycleTest)
#include "tst_cycle.moc"
