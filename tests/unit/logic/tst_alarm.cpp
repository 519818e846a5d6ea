// SPDX-License-Identifier: Apache-2.0
#include "core/alarm/alarm.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace std::chrono_literals;
using Kind = AlarmCondition::Kind;

namespace {

constexpr SteadyTime kStart{1h};
constexpr WallTime kWall{std::chrono::seconds(1'785'542'400)};

AlarmDefinition definition(Kind kind, double limit, double deadband = 0, Milliseconds on = 0ms, Milliseconds off = 0ms)
{
    AlarmDefinition d;
    d.condition = AlarmCondition{0, kind, limit, deadband, 0ms};
    d.onDelay = on;
    d.offDelay = off;
    return d;
}

ImageSlot slotOf(Value value, Quality quality = Quality::Good, SteadyTime at = kStart)
{
    ImageSlot slot;
    slot.value = std::move(value);
    slot.quality = quality;
    slot.gatewayTime = at;
    return slot;
}

/// Looks at a value at so much after the start.
std::optional<AlarmChange> look(Alarm &alarm, std::chrono::nanoseconds t, double value, Quality quality = Quality::Good)
{
    return alarm.evaluate(slotOf(isBad(quality) ? Value() : Value(value), quality, kStart + t), kStart + t, kWall + 1s);
}

} // namespace

class AlarmTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void stateDiagram();
    void highAndLowWithDeadband();
    void equalsIsExact();
    void delays();
    void badValuesHoldTheDelay();
    void badAndStale();
    void staleDueTimeIsLazy();
    void triggersRaiseAndClear();
    void wallClockStepsMoveNoDelay();
    void agreesWithMillisecondReference();
};

// Every arrow of ANSI/ISA-18.2-2016, figure 3, that these states have.
void AlarmTest::stateDiagram()
{
    using S = AlarmState;
    const AlarmDefinition d = definition(Kind::High, 10);
    Alarm alarm(d);
    const auto expect = [&](std::optional<AlarmChange> change, S from, S to) {
        QVERIFY(change);
        QCOMPARE(change->from, from);
        QCOMPARE(change->to, to);
        QCOMPARE(alarm.state(), to);
    };
    QVERIFY(!alarm.acknowledge(kWall));
    expect(look(alarm, 0s, 11), S::Normal, S::Unacknowledged);
    QVERIFY(alarm.since() == kWall + 1s);
    QVERIFY(!look(alarm, 1s, 12));
    expect(look(alarm, 2s, 9), S::Unacknowledged, S::ReturnToNormalUnacknowledged);
    expect(look(alarm, 3s, 11), S::ReturnToNormalUnacknowledged, S::Unacknowledged);
    expect(alarm.acknowledge(kWall), S::Unacknowledged, S::Acknowledged);
    QVERIFY(!alarm.acknowledge(kWall));
    expect(look(alarm, 4s, 9), S::Acknowledged, S::Normal);
    expect(look(alarm, 5s, 11), S::Normal, S::Unacknowledged);
    expect(look(alarm, 6s, 9), S::Unacknowledged, S::ReturnToNormalUnacknowledged);
    expect(alarm.acknowledge(kWall), S::ReturnToNormalUnacknowledged, S::Normal);
    QCOMPARE(alarm.occurrences(), 3U);
    QCOMPARE(alarmStateName(S::ReturnToNormalUnacknowledged), QStringLiteral("ReturnToNormal-Unacknowledged"));
    QCOMPARE(severityText(Severity::Critical), QStringLiteral("Critical"));
}

void AlarmTest::highAndLowWithDeadband()
{
    const AlarmDefinition high = definition(Kind::High, 40, 1);
    Alarm a(high);
    const std::pair<double, bool> steps[] = {{40, false},   {40.1, true},  {40, true},  {39, true},
                                             {38.9, false}, {39.5, false}, {40, false}, {41, true}};
    for (const auto &[value, isActive] : steps) {
        look(a, 0s, value);
        QVERIFY2(a.isActive() == isActive, qPrintable(QString::number(value)));
    }
    const AlarmDefinition low = definition(Kind::Low, 10, 2);
    Alarm b(low);
    const std::pair<double, bool> lows[] = {{10, false},   {9.9, true}, {12, true},
                                            {12.1, false}, {11, false}, {-5, true}};
    for (const auto &[value, isActive] : lows) {
        look(b, 0s, value);
        QVERIFY2(b.isActive() == isActive, qPrintable(QString::number(value)));
    }
    const AlarmDefinition plain = definition(Kind::High, 40);
    Alarm c(plain);
    look(c, 0s, 41);
    look(c, 0s, 40);
    QVERIFY(!c.isActive());
}

void AlarmTest::equalsIsExact()
{
    const AlarmDefinition d = definition(Kind::Equals, 9007199254740992.0);
    Alarm a(d);
    a.evaluate(slotOf(Value(std::int64_t{9007199254740993})), kStart, kWall);
    QVERIFY(!a.isActive());
    a.evaluate(slotOf(Value(std::int64_t{9007199254740992})), kStart, kWall);
    QVERIFY(a.isActive());
    const AlarmDefinition n = definition(Kind::NotEquals, 1);
    Alarm b(n);
    b.evaluate(slotOf(Value(true)), kStart, kWall);
    QVERIFY(!b.isActive());
    b.evaluate(slotOf(Value(QByteArray("text"))), kStart, kWall); // says nothing
    QVERIFY(!b.isActive());
    b.evaluate(slotOf(Value(false)), kStart, kWall);
    QVERIFY(b.isActive());
}

void AlarmTest::delays()
{
    const AlarmDefinition d = definition(Kind::High, 10, 0, 5s, 3s);
    Alarm a(d);
    QVERIFY(!look(a, 0s, 11));
    QVERIFY(*a.nextDue() == kStart + 5s);
    QVERIFY(!look(a, 4s, 12));
    QVERIFY(*a.nextDue() == kStart + 5s);
    QVERIFY(!look(a, 4500ms, 9)); // back in time: nothing happened
    QVERIFY(!a.nextDue());
    QVERIFY(!look(a, 6s, 11));
    QVERIFY(!look(a, 11s - 1ns, 11));
    QVERIFY(look(a, 11s, 11));
    QVERIFY(a.isActive() && !a.nextDue());
    QVERIFY(!look(a, 12s, 9));
    QVERIFY(*a.nextDue() == kStart + 15s);
    QVERIFY(!look(a, 13s, 11));
    QVERIFY(!a.nextDue());
    QVERIFY(!look(a, 14s, 9));
    QVERIFY(look(a, 17s, 9));
    QVERIFY(!a.isActive());
}

void AlarmTest::badValuesHoldTheDelay()
{
    const AlarmDefinition d = definition(Kind::High, 10, 0, 5s, 5s);
    Alarm a(d);
    look(a, 0s, 11);
    look(a, 2s, 0, Quality::BadCommunicationError);
    QVERIFY(!a.nextDue()); // two of five seconds are over, and stay so
    look(a, 60s, 0, Quality::BadCommunicationError);
    QVERIFY(!a.isActive());
    QVERIFY(!look(a, 61s, 11));
    QVERIFY(*a.nextDue() == kStart + 64s);
    look(a, 62s, 0, Quality::BadCommunicationError);
    QVERIFY(!look(a, 70s, 11));
    QVERIFY(*a.nextDue() == kStart + 72s);
    QVERIFY(look(a, 72s, 11));
    // An active alarm neither ends nor begins to end by a bad or missing value.
    look(a, 80s, 0, Quality::BadNotConnected);
    a.evaluate(slotOf(Value()), kStart + 100s, kWall);
    a.evaluate(slotOf(Value(std::nan(""))), kStart + 200s, kWall);
    QVERIFY(a.isActive() && !a.nextDue());
    // After a return to the wanted side nothing of the delay is left over.
    look(a, 201s, 9);
    look(a, 202s, 0, Quality::BadNotConnected);
    look(a, 203s, 11);
    look(a, 204s, 9);
    QVERIFY(*a.nextDue() == kStart + 209s);
}

void AlarmTest::badAndStale()
{
    const AlarmDefinition bad = definition(Kind::Bad, 0);
    Alarm b(bad);
    b.evaluate(ImageSlot{}, kStart, kWall); // not read yet
    QVERIFY(!b.isActive());
    look(b, 1s, 0, Quality::BadCommunicationError);
    QVERIFY(b.isActive());
    look(b, 2s, 1, Quality::UncertainLastUsable);
    QVERIFY(!b.isActive());

    AlarmDefinition stale = definition(Kind::Stale, 0);
    stale.condition->maxAge = 3s;
    Alarm s(stale);
    const ImageSlot fresh = slotOf(Value(1.0));
    QVERIFY(!s.evaluate(fresh, kStart, kWall));
    QVERIFY(!s.evaluate(fresh, kStart + 3s, kWall)); // not older than 3 s
    QVERIFY(s.evaluate(fresh, *s.nextDue(), kWall));
    QVERIFY(!s.nextDue());
    QVERIFY(look(s, 10s, 1)); // a sample came
    QVERIFY(!s.isActive());
    QVERIFY(look(s, 11s, 1, Quality::UncertainLastUsable));
    QVERIFY(look(s, 12s, 1));
    QVERIFY(look(s, 13s, 0, Quality::BadCommunicationError));

    // A point that never says anything becomes stale too.
    Alarm never(stale);
    QVERIFY(!never.evaluate(ImageSlot{}, kStart, kWall));
    QVERIFY(never.nextDue());
    QVERIFY(never.evaluate(ImageSlot{}, *never.nextDue(), kWall));
    QVERIFY(never.isActive());

    // With a delay the alarm comes that much later.
    stale.onDelay = 2s;
    Alarm delayed(stale);
    delayed.evaluate(fresh, kStart, kWall);
    const SteadyTime isStale = *delayed.nextDue();
    QVERIFY(!delayed.evaluate(fresh, isStale, kWall));
    QVERIFY(*delayed.nextDue() == isStale + 2s);
    QVERIFY(delayed.evaluate(fresh, *delayed.nextDue(), kWall));
}

// Ten samples a second must not mean ten timers a second.
void AlarmTest::staleDueTimeIsLazy()
{
    AlarmDefinition d = definition(Kind::Stale, 0);
    d.condition->maxAge = 3s;
    Alarm a(d);
    int timers = 0;
    std::optional<SteadyTime> due;
    for (int i = 0; i <= 300; ++i) {
        const SteadyTime now = kStart + i * 100ms;
        while (due && *due <= now) {
            QVERIFY(!a.evaluate(slotOf(Value(1.0), Quality::Good, now - 100ms), *due, kWall));
            QVERIFY(*a.nextDue() > *due);
            due = a.nextDue();
            ++timers;
        }
        a.evaluate(slotOf(Value(1.0), Quality::Good, now), now, kWall);
        QVERIFY(*a.nextDue() <= now + 3s + 1ns);
        QVERIFY(!due || a.nextDue() == due); // a sample moves nothing
        due = a.nextDue();
    }
    QVERIFY2(timers <= 11, qPrintable(QString::number(timers)));
    QVERIFY(!a.isActive());
}

void AlarmTest::triggersRaiseAndClear()
{
    const AlarmDefinition d;
    Alarm a(d);
    QVERIFY(!a.clear(kWall));
    QVERIFY(!look(a, 0s, 1)); // no condition
    QVERIFY(a.raise(kWall));
    QVERIFY(!a.raise(kWall + 1s));
    QCOMPARE(a.occurrences(), 2U);
    QVERIFY(a.since() == kWall);
    QVERIFY(a.acknowledge(kWall));
    QVERIFY(!a.raise(kWall));
    QCOMPARE(a.state(), AlarmState::Acknowledged);
    QVERIFY(a.clear(kWall));
    QCOMPARE(a.state(), AlarmState::Normal);
    QVERIFY(a.raise(kWall));
    QVERIFY(a.clear(kWall));
    QCOMPARE(a.state(), AlarmState::ReturnToNormalUnacknowledged);
    QVERIFY(!a.clear(kWall));
}

// T09
void AlarmTest::wallClockStepsMoveNoDelay()
{
    const AlarmDefinition d = definition(Kind::High, 10, 0, 5s);
    Alarm a(d);
    FakeClock clock;
    const ImageSlot high = slotOf(Value(11.0));
    a.evaluate(high, clock.steadyNow(), clock.wallNow());
    const SteadyTime due = *a.nextDue();
    clock.advance(2s);
    clock.setWall(clock.wallNow() + 24h * 365);
    QVERIFY(!a.evaluate(high, clock.steadyNow(), clock.wallNow()));
    clock.setWall(WallTime{});
    QVERIFY(!a.evaluate(high, clock.steadyNow(), clock.wallNow()));
    QVERIFY(*a.nextDue() == due);
    clock.advance(3s);
    QVERIFY(a.evaluate(high, clock.steadyNow(), clock.wallNow()));
    QVERIFY(a.since() == clock.wallNow());
}

// Called only for samples and at nextDue(), the alarm does what one that looks at every millisecond would do.
void AlarmTest::agreesWithMillisecondReference()
{
    std::mt19937 random(18);
    for (int round = 0; round < 200; ++round) {
        const Milliseconds on(random() % 3 * 40), off(random() % 3 * 40);
        const AlarmDefinition d = definition(Kind::High, 10, random() % 2, on, off);
        Alarm alarm(d);
        std::vector<std::pair<int, bool>> got, expected;
        bool isActive = false;
        int differsFor = 0;
        std::optional<double> value;
        int nextSample = 0;
        for (int ms = 0; ms < 3000; ++ms) {
            const SteadyTime now = kStart + std::chrono::milliseconds(ms);
            const bool isSample = ms == nextSample;
            if (isSample) {
                nextSample += 1 + static_cast<int>(random() % 60);
                value = random() % 8 == 0 ? std::nullopt : std::optional(8.5 + static_cast<double>(random() % 7) / 2);
            }
            // The reference: counts milliseconds in which the known value wants another state.
            const double end = d.condition->deadband > 0 ? 10 - d.condition->deadband : 10;
            const auto wants = [&] {
                if (!isActive)
                    return *value > 10;
                return d.condition->deadband > 0 ? *value >= end : *value > end;
            };
            if (value) {
                if (wants() == isActive)
                    differsFor = 0;
                else if (Milliseconds(differsFor++) >= (isActive ? off : on)) {
                    isActive = !isActive;
                    differsFor = 0;
                    expected.emplace_back(ms, isActive);
                }
            }
            // The alarm
            if (isSample || (alarm.nextDue() && *alarm.nextDue() <= now)) {
                const ImageSlot slot = value ? slotOf(Value(*value)) : slotOf(Value(), Quality::BadNotConnected);
                if (alarm.evaluate(slot, now, kWall))
                    got.emplace_back(ms, alarm.isActive());
            }
        }
        QVERIFY2(got == expected,
                 qPrintable(QStringLiteral("round %1: %2, %3").arg(round).arg(got.size()).arg(expected.size())));
    }
}

QTEST_APPLESS_MAIN(AlarmTest)
#include "tst_alarm.moc"
