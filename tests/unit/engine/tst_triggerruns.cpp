// SPDX-License-Identifier: Apache-2.0
#include "engine/triggerruns.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

class TriggerRunsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void endsWhenTheLastEffectIsConfirmed();
    void confirmationsBeforeIssuedDoNotEndIt();
    void aFailedEffectHidesNoOther();
    void anUnconfirmedEffectEndsAsTimedOut();
    void aLateScriptIsRefused();
    void abandonedRunsAreDiscarded();
    void slowestStageIsNamed();
    void theTimeBeforeTheScriptHasACauseToo();

private:
    struct Ended {
        RunRecord record;
        Outcome outcome;
        QString slowest;
    };
    TriggerRuns runs()
    {
        m_ended.clear();
        return TriggerRuns(10s, [this](const TriggerRun &run, Outcome outcome) {
            m_ended.push_back({runRecord(run, outcome, QStringLiteral("t1")), outcome, slowestStage(run)});
        });
    }
    std::vector<Ended> m_ended;
    const SteadyTime m_due{1000ms};
};

void TriggerRunsTest::endsWhenTheLastEffectIsConfirmed()
{
    TriggerRuns r = runs();
    r.begin(7, 0, m_due, WallTime{}, m_due, true);
    QVERIFY(r.scriptEnded(7, {}, m_due + 1ms, m_due + 2ms));
    for (const Effect e : {Effect::Control, Effect::Alarm, Effect::Mqtt, Effect::Aggregation})
        r.effectAsked(7, e);
    r.issued(7, m_due + 3ms);
    r.effectEnded(7, Effect::Mqtt, m_due + 4ms);
    r.effectEnded(7, Effect::Aggregation, m_due + 5ms);
    r.effectEnded(7, Effect::Control, m_due + 7ms);
    QVERIFY(m_ended.empty());
    r.effectEnded(7, Effect::Alarm, m_due + 6ms);
    QCOMPARE(m_ended.size(), std::size_t(1));
    const RunRecord &record = m_ended[0].record;
    QCOMPARE(m_ended[0].outcome, Outcome::Done);
    QCOMPARE(record.outcome, QStringLiteral("Ok"));
    QCOMPARE(record.startUs, 1000);
    QCOMPARE(record.evalUs, 2000);
    QCOMPARE(record.mqttUs, 4000);
    QCOMPARE(record.aggregationUs, 5000);
    QCOMPARE(record.alarmUs, 6000);
    QCOMPARE(record.controlUs, 7000);
    QCOMPARE(record.doneUs, 7000); // the latest confirmation, whatever the order of the events
    QCOMPARE(r.size(), std::size_t(0));
}

void TriggerRunsTest::confirmationsBeforeIssuedDoNotEndIt()
{
    TriggerRuns r = runs();
    r.begin(1, 0, m_due, WallTime{}, m_due, true);
    r.scriptEnded(1, {}, m_due, m_due);
    r.effectAsked(1, Effect::Control);
    r.effectEnded(1, Effect::Control, m_due + 1ms); // NotNeeded: final at once
    QVERIFY(m_ended.empty());
    r.effectAsked(1, Effect::Alarm);
    r.issued(1, m_due + 2ms);
    QVERIFY(m_ended.empty());
    r.effectEnded(1, Effect::Alarm, m_due + 3ms);
    QCOMPARE(m_ended.size(), std::size_t(1));
}

void TriggerRunsTest::aFailedEffectHidesNoOther()
{
    TriggerRuns r = runs();
    r.begin(1, 0, m_due, WallTime{}, m_due, true);
    r.scriptEnded(1, {}, m_due, m_due);
    r.effectAsked(1, Effect::Control);
    r.effectAsked(1, Effect::Alarm);
    r.issued(1, m_due);
    r.effectEnded(1, Effect::Control, m_due + 1ms, QStringLiteral("illegal data address"));
    r.effectEnded(1, Effect::Alarm, m_due + 2ms);
    QCOMPARE(m_ended.size(), std::size_t(1));
    QCOMPARE(m_ended[0].outcome, Outcome::Failed);
    QCOMPARE(m_ended[0].record.error, QStringLiteral("control: illegal data address"));
    QCOMPARE(m_ended[0].record.controlUs, -1);
    QCOMPARE(m_ended[0].record.alarmUs, 2000);
}

void TriggerRunsTest::anUnconfirmedEffectEndsAsTimedOut()
{
    TriggerRuns r = runs();
    r.begin(1, 0, m_due, WallTime{}, m_due, true);
    r.scriptEnded(1, {}, m_due, m_due);
    r.effectAsked(1, Effect::Mqtt);
    r.issued(1, m_due);
    r.expire(m_due + 9999ms);
    QVERIFY(m_ended.empty());
    r.expire(*r.nextDeadline());
    QCOMPARE(m_ended.size(), std::size_t(1));
    QCOMPARE(m_ended[0].outcome, Outcome::TimedOut);
    QVERIFY(m_ended[0].record.error.contains(QStringLiteral("mqtt")));
    r.effectEnded(1, Effect::Mqtt, m_due + 11s); // the PUBACK of an ended run changes nothing
    QCOMPARE(m_ended.size(), std::size_t(1));
}

void TriggerRunsTest::aLateScriptIsRefused()
{
    TriggerRuns r = runs();
    r.begin(1, 0, m_due, WallTime{}, m_due, true);
    r.expire(m_due + 10s);
    QVERIFY(!r.scriptEnded(1, {}, m_due + 11s, m_due + 12s));
}

void TriggerRunsTest::abandonedRunsAreDiscarded()
{
    TriggerRuns r = runs();
    r.begin(1, 0, m_due, WallTime{}, m_due, true);
    r.begin(2, 0, m_due, WallTime{}, m_due, true);
    r.abandon(m_due + 1s);
    QCOMPARE(m_ended.size(), std::size_t(2));
    QCOMPARE(m_ended[0].outcome, Outcome::Discarded);
    QCOMPARE(m_ended[1].outcome, Outcome::Discarded);
}

void TriggerRunsTest::slowestStageIsNamed()
{
    TriggerRuns r = runs();
    r.begin(1, 0, m_due, WallTime{}, m_due, true);
    r.scriptEnded(1, {}, m_due + 10ms, m_due + 30ms);
    r.effectAsked(1, Effect::Control);
    r.effectAsked(1, Effect::Alarm);
    r.issued(1, m_due + 30ms);
    r.effectEnded(1, Effect::Control, m_due + 40ms);
    r.effectEnded(1, Effect::Alarm, m_due + 400ms);
    QCOMPARE(m_ended[0].slowest, QStringLiteral("fsync"));
}

void TriggerRunsTest::theTimeBeforeTheScriptHasACauseToo()
{
    const auto cause = [this](Nanoseconds begun, bool wasIdle, Nanoseconds started) {
        TriggerRuns r = runs();
        r.begin(1, 0, m_due, WallTime{}, m_due + begun, wasIdle);
        r.scriptEnded(1, {}, m_due + started, m_due + started + 20ms);
        r.issued(1, m_due + started + 20ms);
        return m_ended.at(0).slowest;
    };
    QCOMPARE(cause(250ms, true, 251ms), QStringLiteral("scheduler")); // idle, and woken late
    QCOMPARE(cause(250ms, false, 251ms), QStringLiteral("engine"));
    QCOMPARE(cause(1ms, true, 251ms), QStringLiteral("queue"));
    QCOMPARE(cause(1ms, true, 5ms), QStringLiteral("lua"));
    TriggerRuns r = runs(); // no worker until the deadline
    r.begin(1, 0, m_due, WallTime{}, m_due + 1ms, true);
    r.expire(m_due + 10s);
    QCOMPARE(m_ended.at(0).slowest, QStringLiteral("queue"));
}

QTEST_APPLESS_MAIN(TriggerRunsTest)
#include "tst_triggerruns.moc"
