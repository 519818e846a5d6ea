// SPDX-License-Identifier: Apache-2.0
// Random sequences of requests, answers and time-outs; a referee keeps what happened in plain lists and checks the
// rules by brute force: one final state per command, at most one under way per output, latest value wins, claims,
// limits.
#include "unit/logic/arbiterfixture.h"

#include <QTest>

#include <map>
#include <random>
#include <set>

using namespace gridloom;
using namespace gridloom::arbitertest;
using namespace std::chrono_literals;

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
            QVERIFY(std::abs(value - from)
                    <= *policy.rampPerS * std::chrono::duration<double>(now - since).count() + 1e-9);
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

class ArbiterRulesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void randomSequences();
};

void ArbiterRulesTest::randomSequences()
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
                endAll(arbiter.expire(now));
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

QTEST_APPLESS_MAIN(ArbiterRulesTest)
#include "tst_arbiterrules.moc"
