// SPDX-License-Identifier: Apache-2.0
#include "unit/logic/arbiterfixture.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::arbitertest;
using namespace std::chrono_literals;

namespace {

class Bench {
public:
    explicit Bench(const WritePolicy &policy) : site({policy}), arbiter(site.design, 100) {}
    ControlCommand ask(const ControlRequest &r) { return arbiter.request(r, now, kWall, superseded); }
    ControlCommand ask(double value) { return ask(requestOf(0, Value(value))); }
    std::optional<ControlCommand> confirm(CommandId id, CommandState state = CommandState::Confirmed,
                                          Value readBack = {})
    {
        return arbiter.finish(id, state, readBack, {}, now);
    }
    /// Asks, sends and confirms; the value that went out.
    double write(double value)
    {
        ask(value);
        const auto sent = arbiter.due(now);
        if (sent.size() != 1)
            return std::nan("");
        confirm(sent[0].id);
        return *sent[0].value.toDouble();
    }

    Site site;
    Arbiter arbiter;
    SteadyTime now = kStart;
    std::optional<ControlCommand> superseded;
};

} // namespace

class ArbiterTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void oneCommandFromRequestToConfirmed();
    void refusals();
    void claims();
    void latestValueWins();
    void limitsKeepExactValues();
    void writeIfDifferent();
    void sameValueWhileUnderWay();
    void unknownAfterAFailedWrite();
    void minimumInterval();
    void rampIsCutToWhatItAllowsNow();
    void rampFollowsWhatIsUnderWay();
    void deadlines();
    void orderOfSending();
    void stopping();
};

void ArbiterTest::oneCommandFromRequestToConfirmed()
{
    Bench b(plain());
    QVERIFY(!b.arbiter.nextDue() && !b.arbiter.nextExpiry());
    const ControlCommand command = b.ask(12.5);
    QCOMPARE(command.id, 100U);
    QCOMPARE(command.state, CommandState::Queued);
    QVERIFY(command.deadline == kStart + 2s);
    QVERIFY(*b.arbiter.nextDue() <= kStart);
    QCOMPARE(b.arbiter.inFlight(), 1U);
    const auto sent = b.arbiter.due(kStart);
    QCOMPARE(sent.size(), 1U);
    QCOMPARE(sent[0].state, CommandState::Sent);
    QVERIFY(b.arbiter.due(kStart).empty());
    QVERIFY(!b.arbiter.nextDue());
    const auto ended = b.confirm(100, CommandState::Confirmed, Value(12.5));
    QCOMPARE(ended->state, CommandState::Confirmed);
    QCOMPARE(ended->readBack.real(), 12.5);
    QVERIFY(!b.confirm(100)); // once
    QVERIFY(!b.confirm(4711));
    QCOMPARE(b.arbiter.inFlight(), 0U);
    QCOMPARE(commandStateName(CommandState::NotNeeded), QStringLiteral("NotNeeded"));
    QCOMPARE(priorityName(ControlPriority::StateOfChargeProtection), QStringLiteral("stateOfCharge"));
}

void ArbiterTest::refusals()
{
    Bench b(plain());
    const auto code = [&](const ControlRequest &r) {
        const ControlCommand c = b.ask(r);
        return c.state == CommandState::Rejected ? c.error.code : QString();
    };
    QCOMPARE(code(requestOf(1, Value(1.0))), QStringLiteral("control.noOutput")); // read-only
    QCOMPARE(code(requestOf(99, Value(1.0))), QStringLiteral("control.noOutput"));
    QCOMPARE(code(requestOf(0, Value())), QStringLiteral("control.notANumber"));
    QCOMPARE(code(requestOf(0, Value(QByteArray("7")))), QStringLiteral("control.notANumber"));
    QCOMPARE(code(requestOf(0, Value(std::nan("")))), QStringLiteral("control.notANumber"));
    QCOMPARE(code(requestOf(0, Value(-HUGE_VAL))), QStringLiteral("control.notANumber"));
    ControlRequest old = requestOf(0, Value(1.0));
    old.computedFrom = b.now - 3s - 1ns;
    QCOMPARE(code(old), QStringLiteral("control.imageTooOld"));
    QVERIFY(!b.arbiter.claim(0, b.now)); // a refused request claims nothing
    old.computedFrom = b.now - 3s;
    QCOMPARE(code(old), QString());
    QVERIFY(b.arbiter.claim(0, b.now));
    QVERIFY(!b.arbiter.claim(1, b.now));
}

void ArbiterTest::claims()
{
    Bench b(plain());
    const auto state = [&](double value, ControlPriority priority, const char *owner,
                           std::chrono::nanoseconds ttl = 3s) {
        return b.ask(requestOf(0, Value(value), priority, owner, ttl)).state;
    };
    using P = ControlPriority;
    QCOMPARE(state(1, P::Demand, "demand"), CommandState::Queued);
    QCOMPARE(state(2, P::Schedule, "schedule"), CommandState::Rejected); // lower
    QCOMPARE(state(3, P::Demand, "other"), CommandState::Queued);        // equal takes over
    QCOMPARE(b.arbiter.claim(0, b.now)->owner, QStringLiteral("other"));
    QCOMPARE(state(4, P::Safety, "safety", 1s), CommandState::Queued); // higher takes over
    QCOMPARE(state(5, P::Demand, "other"), CommandState::Rejected);
    QCOMPARE(state(6, P::Manual, "safety", 1s), CommandState::Queued); // its own claim may sink
    QCOMPARE(state(7, P::Schedule, "schedule", 1s), CommandState::Queued);
    b.now += 1s - 1ns;
    QVERIFY(b.arbiter.claim(0, b.now));
    QCOMPARE(state(8, P::Manual, "user:ann"), CommandState::Rejected);
    b.now += 1ns;
    QVERIFY(!b.arbiter.claim(0, b.now)); // its time is over
    QCOMPARE(state(9, P::Manual, "user:ann"), CommandState::Queued);
}

void ArbiterTest::latestValueWins()
{
    Bench b(plain());
    b.ask(1);
    QVERIFY(!b.superseded);
    b.ask(2);
    QCOMPARE(b.superseded->id, 100U);
    QCOMPARE(b.superseded->state, CommandState::Superseded);
    QCOMPARE(b.ask(requestOf(0, Value())).state, CommandState::Rejected);
    QVERIFY(!b.superseded); // a refused one replaces nothing
    QCOMPARE(b.arbiter.due(b.now).at(0).id, 101U);
    b.ask(3);
    QVERIFY(!b.superseded); // what was sent is not superseded
    QVERIFY(b.arbiter.due(b.now).empty());
    b.ask(4);
    QCOMPARE(b.superseded->value.real(), 3.0);
    b.confirm(101);
    QCOMPARE(b.arbiter.due(b.now).at(0).value.real(), 4.0);
}

void ArbiterTest::limitsKeepExactValues()
{
    WritePolicy policy = plain();
    policy.min = -50;
    policy.max = 50;
    Bench b(policy);
    QCOMPARE(b.ask(70).value.real(), 50.0);
    QCOMPARE(b.ask(-70).value.real(), -50.0);
    QCOMPARE(b.ask(requestOf(0, Value(std::int64_t{50}))).value.int64(), 50);
    Bench open(plain());
    QCOMPARE(open.ask(requestOf(0, Value(std::uint64_t{18446744073709551615ULL}))).value.uint64(),
             18446744073709551615ULL);
}

void ArbiterTest::writeIfDifferent()
{
    Bench b(plain());
    QCOMPARE(b.write(5), 5.0);
    QCOMPARE(b.ask(5).state, CommandState::NotNeeded);
    QCOMPARE(b.ask(requestOf(0, Value(5))).state, CommandState::NotNeeded); // the same number as an integer
    QVERIFY(b.arbiter.claim(0, b.now + 2s));                                // and yet it keeps the claim
    QCOMPARE(b.arbiter.inFlight(), 0U);
    // Back to what the device holds, while another value waits: the waiting one is not wanted any more.
    b.ask(6);
    QCOMPARE(b.ask(5).state, CommandState::NotNeeded);
    QCOMPARE(b.superseded->value.real(), 6.0);
    QVERIFY(b.arbiter.due(b.now).empty());
    b.arbiter.forget(0);
    QCOMPARE(b.ask(5).state, CommandState::Queued);

    WritePolicy always = plain();
    always.ifDifferent = false;
    Bench c(always);
    QCOMPARE(c.write(5), 5.0);
    QCOMPARE(c.ask(5).state, CommandState::Queued);
}

// A fast trigger and a slow device: the same value asked for again while it is written is not written twice.
void ArbiterTest::sameValueWhileUnderWay()
{
    Bench b(plain());
    b.ask(5);
    b.arbiter.due(b.now);
    const CommandId again = b.ask(5).id;
    QCOMPARE(b.arbiter.inFlight(), 2U);
    b.confirm(100);
    QVERIFY(b.arbiter.due(b.now).empty());
    QVERIFY(*b.arbiter.nextExpiry() <= b.now);
    const auto ended = b.arbiter.expire(b.now);
    QCOMPARE(ended.size(), 1U);
    QCOMPARE(ended[0].id, again);
    QCOMPARE(ended[0].state, CommandState::NotNeeded);
    QCOMPARE(b.arbiter.inFlight(), 0U);
    QVERIFY(b.arbiter.expire(b.now).empty());
    // But not when the write before it failed.
    b.ask(6);
    const CommandId failed = b.arbiter.due(b.now).at(0).id;
    b.ask(6);
    b.confirm(failed, CommandState::Mismatch, Value(5.5));
    QCOMPARE(b.arbiter.due(b.now).at(0).value.real(), 6.0);
}

void ArbiterTest::unknownAfterAFailedWrite()
{
    for (const CommandState state : {CommandState::Mismatch, CommandState::TimedOut, CommandState::Rejected}) {
        Bench b(plain());
        QCOMPARE(b.write(5), 5.0);
        b.ask(6);
        b.confirm(b.arbiter.due(b.now).at(0).id, state, Value(5));
        QCOMPARE(b.ask(5).state, CommandState::Queued);
    }
}

void ArbiterTest::minimumInterval()
{
    WritePolicy policy = plain();
    policy.minInterval = 200ms;
    Bench b(policy);
    QCOMPARE(b.write(1), 1.0);
    b.now += 50ms;
    b.ask(2);
    QVERIFY(b.arbiter.due(b.now).empty());
    QVERIFY(*b.arbiter.nextDue() == kStart + 200ms);
    QVERIFY(b.arbiter.due(kStart + 200ms - 1ns).empty());
    QCOMPARE(b.arbiter.due(kStart + 200ms).size(), 1U);
}

void ArbiterTest::rampIsCutToWhatItAllowsNow()
{
    WritePolicy policy = plain();
    policy.rampPerS = 25;
    policy.max = 60;
    Bench b(policy);
    QCOMPARE(b.write(10), 10.0); // where the device stood before is not known
    b.now += 1s;
    QCOMPARE(b.write(100), 35.0);
    b.now += 400ms;
    QCOMPARE(b.write(-100), 25.0);
    b.now += 10s;
    QCOMPARE(b.write(100), 60.0);
    b.now += 40ms;
    QCOMPARE(b.ask(60.5).state, CommandState::NotNeeded); // cut to what the device holds
}

void ArbiterTest::rampFollowsWhatIsUnderWay()
{
    WritePolicy policy = plain();
    policy.rampPerS = 10;
    Bench b(policy);
    QCOMPARE(b.write(0), 0.0);
    b.now += 1s;
    b.ask(10);
    const CommandId up = b.arbiter.due(b.now).at(0).id; // 10 under way
    b.now += 100ms;
    QCOMPARE(b.ask(-30).value.real(), 9.0); // from 10, not from 0
    // It turns out that the device stayed at 2: from there 9 would be too far.
    b.confirm(up, CommandState::Mismatch, Value(2.0));
    QCOMPARE(b.arbiter.due(b.now).at(0).value.real(), 3.0);
}

void ArbiterTest::deadlines()
{
    Bench b(plain());
    b.ask(1);
    b.arbiter.due(b.now);
    b.now += 1s;
    b.ask(2);
    QVERIFY(*b.arbiter.nextExpiry() == kStart + 2s);
    QVERIFY(b.arbiter.expire(kStart + 2s - 1ns).empty());
    auto ended = b.arbiter.expire(kStart + 2s);
    QCOMPARE(ended.size(), 1U);
    QCOMPARE(ended[0].id, 100U);
    QCOMPARE(ended[0].state, CommandState::TimedOut);
    QCOMPARE(ended[0].error.code, QStringLiteral("control.timeout"));
    QVERIFY(!b.confirm(100)); // an answer after that changes nothing
    QVERIFY(*b.arbiter.nextExpiry() == kStart + 3s);
    QCOMPARE(b.arbiter.due(b.now).at(0).id, 101U); // the way is free again
    b.ask(3);
    QVERIFY(b.arbiter.due(kStart + 1h).empty()); // too late to be sent
    ended = b.arbiter.expire(kStart + 1h);
    QCOMPARE(ended.size(), 2U); // sent and waiting
    QCOMPARE(b.arbiter.inFlight(), 0U);
}

void ArbiterTest::orderOfSending()
{
    const Site site({plain(), plain(), plain()});
    Arbiter arbiter(site.design, 1);
    std::optional<ControlCommand> superseded;
    arbiter.request(requestOf(0, Value(1), ControlPriority::Comfort), kStart, kWall, superseded);
    arbiter.request(requestOf(1, Value(1), ControlPriority::Safety), kStart, kWall, superseded);
    arbiter.request(requestOf(2, Value(1), ControlPriority::Comfort), kStart, kWall, superseded);
    std::vector<CommandId> order;
    for (const ControlCommand &c : arbiter.due(kStart))
        order.push_back(c.id);
    QCOMPARE(order, (std::vector<CommandId>{2, 1, 3}));
}

void ArbiterTest::stopping()
{
    Bench b(plain());
    b.ask(1);
    b.arbiter.due(b.now);
    b.ask(2);
    const auto ended = b.arbiter.rejectWaiting();
    QCOMPARE(ended.size(), 1U);
    QCOMPARE(ended[0].state, CommandState::Rejected);
    QCOMPARE(ended[0].error.code, QStringLiteral("control.stopping"));
    QCOMPARE(b.arbiter.inFlight(), 1U); // what is under way ends by its answer
    QVERIFY(b.confirm(100));
    QVERIFY(b.arbiter.rejectWaiting().empty());
}

QTEST_APPLESS_MAIN(ArbiterTest)
#include "tst_arbiter.moc"
