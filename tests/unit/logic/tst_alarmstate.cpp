// SPDX-License-Identifier: Apache-2.0
// The state of an alarm over a restart.
#include "core/alarm/alarm.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;
using Kind = AlarmCondition::Kind;

namespace {
constexpr SteadyTime kStart{1h};
constexpr WallTime kWall{std::chrono::seconds(1'785'542'400)};

AlarmDefinition above10(Milliseconds on = 0ms, double deadband = 0)
{
    AlarmDefinition d;
    d.condition = AlarmCondition{0, Kind::High, 10, deadband, 0ms};
    d.onDelay = on;
    return d;
}

std::optional<AlarmChange> look(Alarm &alarm, std::chrono::nanoseconds t, double value)
{
    ImageSlot slot;
    slot.value = Value(value);
    slot.quality = Quality::Good;
    slot.gatewayTime = kStart + t;
    return alarm.evaluate(slot, kStart + t, kWall + std::chrono::duration_cast<std::chrono::microseconds>(t));
}

QByteArray saved(const Alarm &alarm, std::chrono::nanoseconds t)
{
    QByteArray out;
    alarm.save(out, kStart + t);
    return out;
}
} // namespace

class AlarmStateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void namesReadBack();
    void unchangedConditionIsNoTransition();
    void delaysGoOn();
    void transitionsAreNewerThanWhatWasSaved();
    void anythingElseIsNone();
};

void AlarmStateTest::namesReadBack()
{
    for (const AlarmState state : {AlarmState::Normal, AlarmState::Unacknowledged, AlarmState::Acknowledged,
                                   AlarmState::ReturnToNormalUnacknowledged})
        QVERIFY(alarmStateNamed(alarmStateName(state)) == state);
    QVERIFY(!alarmStateNamed(QStringLiteral("normal")) && !alarmStateNamed({}));
}

void AlarmStateTest::unchangedConditionIsNoTransition()
{
    const AlarmDefinition d = above10(0ms, 2);
    Alarm before(d);
    QVERIFY(look(before, 1s, 11).has_value());
    QVERIFY(before.acknowledge(kWall + 2s).has_value());
    Alarm after(d);
    after.restore(AlarmState::Acknowledged, kWall + 2s, saved(before, 3s));
    QVERIFY(after.state() == AlarmState::Acknowledged && after.since() == kWall + 2s);
    QCOMPARE(after.occurrences(), std::uint64_t{1});
    QVERIFY(!look(after, 10s, 11));
    QVERIFY(!look(after, 11s, 9)); // within its deadband: it was active before
    const auto change = look(after, 12s, 7.9);
    QVERIFY(change && change->from == AlarmState::Acknowledged && change->to == AlarmState::Normal);
}

void AlarmStateTest::delaysGoOn()
{
    const AlarmDefinition d = above10(10s);
    Alarm before(d);
    QVERIFY(!look(before, 0s, 11));
    Alarm after(d);
    after.restore(AlarmState::Normal, std::nullopt, saved(before, 7s));
    QCOMPARE(after.occurrences(), std::uint64_t{0});
    // 7 of 10 s have passed; the hour in between does not count.
    QVERIFY(!look(after, 1h, 11));
    QVERIFY(!look(after, 1h + 2999ms, 11));
    QVERIFY(look(after, 1h + 3s, 11).has_value());
    // A condition that ended meanwhile begins anew.
    Alarm other(d);
    other.restore(AlarmState::Normal, std::nullopt, saved(before, 7s));
    QVERIFY(!look(other, 1h, 9));
    QVERIFY(!look(other, 1h + 1s, 11));
    QVERIFY(!look(other, 1h + 10s, 11));
    QVERIFY(look(other, 1h + 11s, 11).has_value());
}

void AlarmStateTest::transitionsAreNewerThanWhatWasSaved()
{
    const AlarmDefinition d = above10(10s);
    Alarm before(d);
    for (int i = 0; i < 3; ++i)
        before.raise(kWall);
    QVERIFY(before.acknowledge(kWall + 1s).has_value());
    const QByteArray old = saved(before, 5s);
    // Cleared and raised again after that.
    Alarm after(d);
    after.restore(AlarmState::Unacknowledged, kWall + 60s, old);
    QVERIFY(after.since() == kWall + 60s);
    QCOMPARE(after.occurrences(), std::uint64_t{4});
    // Saved while Normal and waiting for its delay, raised after that: the delay is over.
    Alarm waiting(d);
    QVERIFY(!look(waiting, 0s, 11));
    Alarm raised(d);
    raised.restore(AlarmState::Unacknowledged, kWall + 10s, saved(waiting, 9s));
    QCOMPARE(raised.occurrences(), std::uint64_t{1});
    QVERIFY(look(raised, 20s, 9).has_value()); // no off-delay
    QVERIFY(!look(raised, 21s, 11));           // and the on-delay is whole again
    QVERIFY(!look(raised, 30s, 11));
    QVERIFY(look(raised, 31s, 11).has_value());
}

void AlarmStateTest::anythingElseIsNone()
{
    const AlarmDefinition d = above10();
    Alarm quiet(d);
    QCOMPARE(saved(quiet, 1s), QByteArray()); // nothing to say
    Alarm before(d);
    before.raise(kWall);
    before.raise(kWall);
    const QByteArray whole = saved(before, 1s);
    for (qsizetype size = 0; size < whole.size(); ++size) {
        Alarm after(d);
        after.restore(AlarmState::Unacknowledged, kWall, whole.first(size));
        QVERIFY(after.state() == AlarmState::Unacknowledged && after.since() == kWall);
        QCOMPARE(after.occurrences(), std::uint64_t{1});
    }
    Alarm after(d);
    after.restore(AlarmState::Unacknowledged, kWall, whole);
    QCOMPARE(after.occurrences(), std::uint64_t{2});
}

QTEST_APPLESS_MAIN(AlarmStateTest)
#include "tst_alarmstate.moc"
