// SPDX-License-Identifier: Apache-2.0
// What a restart finds again: alarms, windows, scripts' states, numbers. Each test runs one cycle, ends it as a kill or
// as an orderly stop, and starts a second one on what the first left in its records.
#include "enginebed.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr const char *kDevice = R"({"id":"dev","name":"dev","channel":"bus","params":{},"points":[
    {"id":"power","name":"power","kind":"measured","address":"1","type":"float32","unit":"kW"}]})";

DesignDocument files(const char *windowMs = "60000", const char *alarmIds = "high,event")
{
    QByteArray alarms;
    if (QByteArray(alarmIds).contains("high"))
        alarms += R"({"id":"high","name":"high","text":"Too much",
                     "condition":{"point":"dev.power","kind":"high","limit":10}})";
    if (QByteArray(alarmIds).contains("event"))
        alarms += QByteArray(alarms.isEmpty() ? "" : ",") + R"({"id":"event","name":"event"})";
    return {{"devices/dev.json", kDevice},
            {"aggregations/sums.json",
             QByteArray(R"({"id":"sums","name":"sums","aggregations":[{"id":"mean","name":"mean","inputs":["dev.power"],
             "windowMs":)") + windowMs + R"(,"fold":"mean"}]})"},
            {"alarms/site.json", R"({"id":"site","name":"site","alarms":[)" + alarms + "]}"},
            {"triggers/t1.json", R"({"id":"t1","name":"t1","when":{"kind":"periodic","periodMs":1000}})"},
            {"triggers/t1.lua", "state.n = 1"}};
}

QString alarmState(EngineBed &bed, const char *id)
{
    for (const auto &alarm : bed.snapshot().activeAlarms)
        if (alarm.id == QLatin1String(id))
            return alarm.state;
    return QStringLiteral("Normal");
}

/// One sample a second, `count` of them.
void samples(EngineBed &bed, int count, double value)
{
    for (int i = 0; i < count; ++i) {
        bed.clock.advance(1s);
        bed.sample("dev.power", Value(value));
    }
}

/// Samples of an aggregation among the rows, as "value quality" by start.
QStringList resultRows(const EngineBed &bed)
{
    QStringList list;
    for (const auto &batch : bed.batches)
        for (const auto &row : batch.rows)
            if (row.point == bed.point("sums.mean"))
                list << QString::fromLatin1(row.value.toText() + (isGood(row.quality) ? " good" : " partial"));
    return list;
}

QList<WallTime> resultStarts(const EngineBed &bed)
{
    QList<WallTime> list;
    for (const auto &batch : bed.batches)
        for (const auto &row : batch.rows)
            if (row.point == bed.point("sums.mean"))
                list << row.time;
    return list;
}
} // namespace

class CycleRestartTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void anAlarmStaysWhatItWas();
    void anAlarmEndsWhenItsConditionDid();
    void anAlarmThatLeftTheDesignIsClosed();
    void alarmsOfTheSystemAreLookedAtAnew();
    void anOpenWindowGoesOn();
    void aKillLosesThePeriodAtMost();
    void aResultIsGivenOutOnce();
    void statesAreAskedForOnceAPeriod();
    void aStateThatCannotBeKeptIsToldOnce();
    void onlyChangesAreWritten();
    void whatLeftTheDesignIsForgotten();
    void aFailedCommitIsWrittenAgain();
    void theLastRecordHasTheNumbers();
    void manyWindowsAreWrittenInSlices();
};

void CycleRestartTest::anAlarmStaysWhatItWas()
{
    EngineBed first(files());
    samples(first, 2, 11);
    QCOMPARE(alarmState(first, "site.high"), QStringLiteral("Unacknowledged"));
    // A kill: nothing but the transition was written.
    EngineBed second(files(), first.records.asLeft(), 10s);
    QCOMPARE(alarmState(second, "site.high"), QStringLiteral("Unacknowledged"));
    const auto alarm = second.snapshot().activeAlarms.at(0);
    QCOMPARE(alarm.text, QStringLiteral("Too much"));
    QVERIFY(alarm.since == first.clock.wallNow() - 1s);
    QCOMPARE(alarm.occurrences, 1U);
    samples(second, 2, 12);
    QVERIFY(second.records.all<AlarmTransition>().empty());
    QVERIFY(second.messages.empty()); // nor is it published again
    samples(second, 1, 9);
    const auto transitions = second.records.all<AlarmTransition>();
    QCOMPARE(transitions.size(), std::size_t{1});
    QCOMPARE(transitions[0].from, QStringLiteral("Unacknowledged"));
    QCOMPARE(transitions[0].to, QStringLiteral("ReturnToNormal-Unacknowledged"));
}

void CycleRestartTest::anAlarmEndsWhenItsConditionDid()
{
    EngineBed first(files());
    samples(first, 1, 11);
    EngineBed second(files(), first.records.asLeft(), 10s);
    QVERIFY(second.records.all<AlarmTransition>().empty()); // nothing is known before the first sample
    samples(second, 1, 5);
    QCOMPARE(alarmState(second, "site.high"), QStringLiteral("ReturnToNormal-Unacknowledged"));
}

void CycleRestartTest::anAlarmThatLeftTheDesignIsClosed()
{
    EngineBed first(files());
    samples(first, 1, 11);
    EngineBed second(files("60000", "event"), first.records.asLeft(), 10s);
    const auto transitions = second.records.all<AlarmTransition>();
    QCOMPARE(transitions.size(), std::size_t{1});
    QCOMPARE(transitions[0].alarmId, QStringLiteral("site.high"));
    QCOMPARE(transitions[0].from, QStringLiteral("Unacknowledged"));
    QCOMPARE(transitions[0].to, QStringLiteral("Normal"));
    QVERIFY(second.records.asLeft().lastAlarms.empty());
    second.recordsCommitted();
    QVERIFY(second.snapshot().alarms.addsUp());
    QCOMPARE(second.snapshot().alarms.done, 1U);
}

void CycleRestartTest::alarmsOfTheSystemAreLookedAtAnew()
{
    EngineBed first(files());
    for (int i = 0; i < 3; ++i) {
        first.advance(1s);
        first.scriptEnds({}, ScriptOutcome::TimedOut);
    }
    first.push(StateFault{QStringLiteral("a file was damaged")});
    first.step();
    QCOMPARE(alarmState(first, "system.trigger-disabled"), QStringLiteral("Unacknowledged"));
    EngineBed second(files(), first.records.asLeft(), 10s);
    // The trigger runs again, and nothing was found damaged so far; both wait to be acknowledged.
    QCOMPARE(alarmState(second, "system.trigger-disabled"), QStringLiteral("ReturnToNormal-Unacknowledged"));
    QCOMPARE(alarmState(second, "system.state-damaged"), QStringLiteral("ReturnToNormal-Unacknowledged"));
    second.push(StateFault{QStringLiteral("again")});
    second.step();
    QCOMPARE(alarmState(second, "system.state-damaged"), QStringLiteral("Unacknowledged"));
}

void CycleRestartTest::anOpenWindowGoesOn()
{
    EngineBed first(files()); // a window from 00:00:00 to 00:01:00
    samples(first, 30, 6);
    first.finish();
    first.abandonRuns();
    EngineBed second(files(), first.records.asLeft(), 31s);
    samples(second, 28, 12); // from 00:00:32 on
    QCOMPARE(resultRows(second), QStringList());
    second.advance(1s);
    second.advance(300ms);
    // 30 samples of 6 and 28 of 12 (:32 to :59), known for all but the first second.
    const Value mean((30 * 6 + 28 * 12) / 58.0);
    QCOMPARE(resultRows(second), QStringList(QString::fromLatin1(mean.toText() + " partial")));
}

void CycleRestartTest::aKillLosesThePeriodAtMost()
{
    EngineBed first(files());
    samples(first, 29, 6); // written at :10 and :20
    EngineBed second(files(), first.records.asLeft(), 31s);
    samples(second, 31, 12);
    second.advance(1s);
    const QStringList rows = resultRows(second);
    QCOMPARE(rows.size(), 1);
    QVERIFY(rows[0].endsWith(QStringLiteral("partial")));
    const double mean = rows[0].section(QLatin1Char(' '), 0, 0).toDouble();
    // Of the 29 samples those up to :20 count, of the second life those from :32 to :59.
    QCOMPARE(mean, (20 * 6 + 28 * 12) / 48.0);
}

void CycleRestartTest::aResultIsGivenOutOnce()
{
    for (const char *windowMs : {"60000", "5000"}) {
        EngineBed first(files(windowMs));
        samples(first, 61, 6);
        first.advance(50ms);
        first.advance(1s);
        QVERIFY(!resultRows(first).isEmpty());
        // Killed a moment after its window was over. The second life gives out later ones only.
        EngineBed second(files(windowMs), first.records.asLeft(), 63s);
        QCOMPARE(resultRows(second), QStringList());
        samples(second, 70, 12);
        second.advance(300ms);
        const QList<WallTime> before = resultStarts(first);
        QVERIFY(!resultStarts(second).isEmpty());
        for (const WallTime start : resultStarts(second))
            QVERIFY2(!before.contains(start), windowMs);
    }
    // Ended while nothing ran, after an orderly stop: given out then.
    EngineBed first(files("5000"));
    samples(first, 11, 6); // the last one holds until :14
    first.finish();
    first.abandonRuns();
    EngineBed second(files("5000"), first.records.asLeft(), 60s);
    second.advance(300ms);
    QCOMPARE(resultRows(second), QStringList(QStringLiteral("6 partial")));
}

void CycleRestartTest::statesAreAskedForOnceAPeriod()
{
    EngineBed bed(files());
    int asked = 0;
    for (int i = 0; i < 35; ++i) {
        bed.advance(1s);
        QVERIFY(!bed.jobs.empty());
        const bool wantsState = bed.jobs.front().wantsState;
        asked += wantsState ? 1 : 0;
        bed.scriptEnds({}, ScriptOutcome::Ok, {}, wantsState ? std::optional(QByteArray::number(i)) : std::nullopt);
    }
    QCOMPARE(asked, 3);
    const auto left = bed.records.asLeft().lastStates;
    QCOMPARE(left.at(QStringLiteral("script/t1")), QByteArray("29")); // asked for at 10, 20 and 30 s
    // At an orderly stop its last one comes.
    bed.push(ScriptStateSaved{0, "last"});
    bed.finish();
    QCOMPARE(bed.records.asLeft().lastStates.at(QStringLiteral("script/t1")), QByteArray("last"));
}

void CycleRestartTest::aStateThatCannotBeKeptIsToldOnce()
{
    EngineBed bed(files());
    for (int i = 0; i < 3; ++i) {
        bed.advance(1s);
        ScriptFinished finished;
        finished.trigger = 0;
        finished.run = bed.jobs.front().run;
        finished.imageTime = bed.jobs.front().image->frozenAt();
        finished.result.stateError = QStringLiteral("t1.lua: state.f is a function");
        bed.jobs.pop_front();
        if (i == 0)
            QTest::ignoreMessage(QtWarningMsg, "t1.lua: state.f is a function"); // a second one would fail the test
        bed.push(std::move(finished));
        bed.step();
    }
    QCOMPARE(bed.snapshot().triggerStatistics[0].lastError, QStringLiteral("t1.lua: state.f is a function"));
    QVERIFY(bed.records.asLeft().lastStates.count(QStringLiteral("script/t1")) == 0);
}

void CycleRestartTest::onlyChangesAreWritten()
{
    EngineBed bed(files());
    samples(bed, 12, 6);
    const auto states = bed.records.all<StateRecord>().size();
    QCOMPARE(states, std::size_t{1}); // the window; no alarm ever had anything to say
    for (int i = 0; i < 30; ++i)
        bed.advance(1s); // three more rounds without a sample
    QVERIFY(bed.records.all<StateRecord>().size() <= states + 1);
}

void CycleRestartTest::whatLeftTheDesignIsForgotten()
{
    FakeRecords left;
    left.lastStates = {{QStringLiteral("window/sums.gone"), "1"},
                       {QStringLiteral("script/gone"), "1"},
                       {QStringLiteral("script/t1"), "1"},
                       {QStringLiteral("alarm/site.gone"), "1"},
                       {QStringLiteral("other/key"), "1"}}; // not of these
    EngineBed bed(files(), left, 0s);
    const std::map<QString, QByteArray> expected{{QStringLiteral("script/t1"), "1"},
                                                 {QStringLiteral("other/key"), "1"}};
    QCOMPARE(bed.records.asLeft().lastStates, expected);
}

void CycleRestartTest::aFailedCommitIsWrittenAgain()
{
    EngineBed bed(files());
    samples(bed, 12, 6);
    const auto written = bed.records.all<StateRecord>().size();
    bed.recordsCommitted(false);
    for (int i = 0; i < 10; ++i)
        bed.advance(1s);
    QVERIFY(bed.records.all<StateRecord>().size() > written);
}

void CycleRestartTest::theLastRecordHasTheNumbers()
{
    EngineBed bed(files());
    for (int i = 0; i < 5; ++i) {
        bed.advance(1s);
        bed.scriptEnds({PublishAction{"x", "{}", 1, false}});
    }
    bed.finish();
    bed.abandonRuns();
    const auto *last = std::get_if<NumbersUsed>(&bed.records.records.back());
    QVERIFY(last);
    QCOMPARE(last->nextRun, std::uint64_t{6});
    QCOMPARE(last->nextMessage, std::uint64_t{105});
    QCOMPARE(last->nextCommand, std::uint64_t{1});
    // Answers that still come change nothing more.
    const auto count = bed.records.records.size();
    bed.takeLastCommits();
    QCOMPARE(bed.records.records.size(), count);
}

void CycleRestartTest::manyWindowsAreWrittenInSlices()
{
    DesignDocument many = files();
    QByteArray aggregations;
    for (int i = 0; i < 2'500; ++i)
        aggregations += QByteArray(i == 0 ? "" : ",") + R"({"id":"a)" + QByteArray::number(i) + R"(","name":"a)"
            + QByteArray::number(i) + R"(","inputs":["dev.power"],"windowMs":3600000,"fold":"max"})";
    many["aggregations/sums.json"] = R"({"id":"sums","name":"sums","aggregations":[)" + aggregations + "]}";
    EngineBed bed(many);
    samples(bed, 9, 6);
    QVERIFY(bed.records.all<StateRecord>().empty());
    QList<std::size_t> slices;
    bed.advance(1s);
    std::size_t before = 0;
    for (int i = 0; i < 4; ++i) {
        const std::size_t now = bed.records.all<StateRecord>().size();
        slices << now - before;
        before = now;
        bed.advance(5ms);
    }
    QCOMPARE(slices, (QList<std::size_t>{1'000, 1'000, 500, 0}));
}

QTEST_APPLESS_MAIN(CycleRestartTest)
#include "tst_cyclerestart.moc"
