// SPDX-License-Identifier: Apache-2.0
#include "core/control/arbiter.h"

#include <QTest>

#include <map>
#include <random>
#include <set>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kStart{1h};
constexpr WallTime kWall{std::chrono::seconds(1'785'542'400)};

/// Output i is point i; the last point is read-only.
struct Site {
    explicit Site(const std::vector<WritePolicy> &policies)
    {
        points.resize(policies.size() + 1);
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (i < policies.size())
                points[i].write = policies[i];
            PointRef ref;
            ref.handle = static_cast<PointHandle>(i);
            ref.name = QStringLiteral("device.output%1").arg(i);
            ref.point = &points[i];
            design.points.append(ref);
        }
    }
    std::vector<Point> points;
    Design design;
};

WritePolicy plain()
{
    WritePolicy policy;
    policy.deadline = 2s;
    return policy;
}

ControlRequest requestOf(PointHandle point, Value value, ControlPriority priority = ControlPriority::Schedule,
                         const char *owner = "a", std::chrono::nanoseconds ttl = 3s)
{
    ControlRequest r;
    r.point = point;
    r.value = std::move(value);
    r.priority = priority;
    r.owner = QLatin1String(owner);
    r.claimTtl = ttl;
    return r;
}

class Bench {
public:
    explicit Bench(const WritePolicy &policy) : site({policy}), arbiter(site.design, 100) {}
    ControlCommand ask(const ControlRequest &r)
    {
        return arbiter.request(r, now, kWall, superseded);
    }
    ControlCommand ask(double value) { return ask(requestOf(0, Value(value))); }
    std::optional<ControlCommand> confirm(CommandId id, CommandState state = CommandState::Confirmed, Value readBack = {})
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
    void randomSequences();
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
    const auto state = [&](double value, ControlPriority priority, const char *owner, std::chrono::nanoseconds ttl = 3s) {
        return b.ask(requestOf(0, Value(value), priority, owner, ttl)).state;
    };
    using P = ControlPriority;
    QCOMPARE(state(1, P::Demand, "demand"), CommandState::Queued);
    QCOMPARE(state(2, P::Schedule, "schedule"), CommandState::Rejected); // lower
    QCOMPARE(state(3, P::Demand, "other"), CommandState::Queued);        // equal takes over
    QCOMPARE(b.arbiter.claim(0, b.now)->owner, QStringLiteral("other"));
    QCOMPARE(state(4, P::Safety, "safety", 1s), CommandState::Queued);   // higher takes over
    QCOMPARE(state(5, P::Demand, "other"), CommandState::Rejected);
    QCOMPARE(state(6, P::Manual, "safety", 1s), CommandState::Queued);   // its own claim may sink
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
    QCOMPARE(open.ask(requestOf(0, Value(std::uint64_t{18446744073709551615ULL}))).value.uint64(), 18446744073709551615ULL);
}

void ArbiterTest::writeIfDifferent()
{
    Bench b(plain());
    QCOMPARE(b.write(5), 5.0);
    QCOMPARE(b.ask(5).state, CommandState::NotNeeded);
    QCOMPARE(b.ask(requestOf(0, Value(5))).state, CommandState::NotNeeded); // the same number as an integer
    QVERIFY(b.arbiter.claim(0, b.now + 2s)); // and yet it keeps the claim
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

namespace {

/// What must hold whatever happens, kept as plain lists and looked up by brute force.
class Referee {
public:
    explicit Referee(const Site &site) : m_site(site) {}

    void requested(const ControlCommand &c, SteadyTime now)
    {
        QVERIFY(m_known.insert(c.id).second);
        // Who owns the output: the last accepted request, as long as its time runs.
        const ControlRequest *owner = nullptr;
        for (const auto &[accepted, at] : m_accepted) {
            if (accepted.point == c.request.point)
                owner = now < at + accepted.claimTtl ? &accepted : nullptr;
        }
        const bool isBlocked = owner && owner->owner != c.request.owner && owner->priority < c.request.priority;
        QCOMPARE(c.state == CommandState::Rejected, isBlocked);
        if (isFinal(c.state))
            ended(c);
        if (isBlocked)
            return;
        m_accepted.emplace_back(c.request, now);
        m_newest[c.request.point] = c.id;
        if (c.state == CommandState::NotNeeded)
            QVERIFY(compareNumbers(c.value, m_device[c.request.point]) == 0 && !m_underWay.count(c.request.point));
    }
    void sent(const ControlCommand &c, SteadyTime now)
    {
        const PointHandle point = c.request.point;
        const WritePolicy &policy = *m_site.points[point].write;
        QVERIFY(!m_underWay.count(point));
        m_underWay[point] = c.id;
        QCOMPARE(c.id, m_newest[point]); // the latest value
        const double value = *c.value.toDouble();
        if (policy.min)
            QVERIFY(value >= *policy.min && value <= *policy.max);
        if (m_lastSent.count(point))
            QVERIFY(now - m_lastSent[point] >= policy.minInterval);
        m_lastSent[point] = now;
        if (policy.rampPerS && m_ramp.count(point)) {
            const auto [from, since] = m_ramp[point];
            QVERIFY(std::abs(value - from) <= *policy.rampPerS * std::chrono::duration<double>(now - since).count() + 1e-9);
        }
    }
    /// Each command comes to exactly one end.
    void ended(const ControlCommand &c)
    {
        QVERIFY(m_known.count(c.id));
        QVERIFY(isFinal(c.state));
        QVERIFY(m_ended.insert(c.id).second);
        const PointHandle point = c.request.point;
        if (!m_underWay.count(point) || m_underWay[point] != c.id)
            return;
        m_underWay.erase(point);
        m_device[point] = c.state == CommandState::Confirmed ? c.value : Value();
        if (c.state == CommandState::Confirmed)
            m_ramp[point] = {*c.value.toDouble(), m_lastSent[point]};
        else if (c.state == CommandState::Mismatch)
            m_ramp[point] = {*c.readBack.toDouble(), m_lastSent[point]};
    }
    std::size_t open() const { return m_known.size() - m_ended.size(); }
    std::vector<CommandId> underWay() const
    {
        std::vector<CommandId> ids;
        for (const auto &[point, id] : m_underWay)
            ids.push_back(id);
        return ids;
    }

private:
    const Site &m_site;
    std::set<CommandId> m_known, m_ended;
    std::vector<std::pair<ControlRequest, SteadyTime>> m_accepted;
    std::map<PointHandle, CommandId> m_newest, m_underWay;
    std::map<PointHandle, SteadyTime> m_lastSent;
    std::map<PointHandle, std::pair<double, SteadyTime>> m_ramp;
    std::map<PointHandle, Value> m_device;
};

} // namespace

void ArbiterTest::randomSequences()
{
    WritePolicy limited = plain();
    limited.min = -8;
    limited.max = 8;
    limited.minInterval = 50ms;
    WritePolicy ramped = plain();
    ramped.rampPerS = 20;
    ramped.deadline = 100ms;
    const Site site({limited, ramped, plain()});
    int confirmed = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        Arbiter arbiter(site.design, 1);
        Referee referee(site);
        SteadyTime now = kStart;
        const auto endAll = [&](const std::vector<ControlCommand> &commands) {
            for (const ControlCommand &c : commands)
                referee.ended(c);
        };
        for (int step = 0; step < 1000; ++step) {
            now += std::chrono::milliseconds(random() % 30);
            std::optional<ControlCommand> superseded;
            const unsigned dice = random() % 10;
            if (dice < 5) {
                const char owner[] = {static_cast<char>('a' + random() % 4), 0};
                const ControlRequest r = requestOf(random() % 3, Value(static_cast<double>(random() % 21) - 10),
                                                   static_cast<ControlPriority>(random() % 8), owner,
                                                   std::chrono::milliseconds(1 + random() % 200));
                const ControlCommand c = arbiter.request(r, now, kWall, superseded);
                if (superseded) {
                    QCOMPARE(superseded->state, CommandState::Superseded);
                    referee.ended(*superseded);
                }
                referee.requested(c, now);
            } else if (dice < 7) {
                for (const ControlCommand &c : arbiter.due(now))
                    referee.sent(c, now);
                QVERIFY(!arbiter.nextDue() || *arbiter.nextDue() > now);
            } else if (dice < 9) {
                const auto ids = referee.underWay();
                if (ids.empty())
                    continue;
                const auto state = static_cast<CommandState>(2 + random() % 3); // Confirmed, Mismatch, TimedOut
                const Value readBack(static_cast<double>(random() % 10));
                const auto c = arbiter.finish(ids[random() % ids.size()], state, readBack, {}, now);
                QVERIFY(c);
                confirmed += c->state == CommandState::Confirmed;
                referee.ended(*c);
            } else {
                endAll(arbiter.expire(now));
                QVERIFY(!arbiter.nextExpiry() || *arbiter.nextExpiry() > now);
            }
            QCOMPARE(arbiter.inFlight(), referee.open());
            if (QTest::currentTestFailed())
                QFAIL(qPrintable(QStringLiteral("seed %1, step %2").arg(seed).arg(step)));
        }
        endAll(arbiter.rejectWaiting());
        endAll(arbiter.expire(now + 1h));
        QCOMPARE(referee.open(), 0U);
    }
    QVERIFY(confirmed > 1000);
}

QTEST_APPLESS_MAIN(ArbiterTest)
#include "tst_arbiter.moc"
