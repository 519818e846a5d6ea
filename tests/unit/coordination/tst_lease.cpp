// SPDX-License-Identifier: Apache-2.0
// Leases in the arbiter: all outputs or none, kept against equals, lost only to a higher priority.
#include "../logic/arbiterfixture.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::arbitertest;
using namespace std::chrono_literals;

namespace {
const QString kTask = QStringLiteral("coordination:task");
const QString kOther = QStringLiteral("coordination:other");

struct Bench {
    Site site{{plain(), plain()}};
    Arbiter arbiter{site.design, 1};
    CommandState ask(PointHandle point, ControlPriority priority, const char *owner, SteadyTime now = kStart)
    {
        std::optional<ControlCommand> superseded;
        return arbiter.request(requestOf(point, Value(1), priority, owner), now, kWall, superseded).state;
    }
};
} // namespace

class LeaseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void allOrNothing();
    void isKeptAgainstEquals();
    void isLostToAHigherPriority();
    void ownRequestsDoNotShortenIt();
    void endsByTimeAndByRelease();
    void whatWasWrittenLast();
};

void LeaseTest::allOrNothing()
{
    Bench b;
    QCOMPARE(b.ask(1, ControlPriority::Safety, "guard"), CommandState::Queued);
    const auto refused = b.arbiter.lease({0, 1}, kTask, ControlPriority::Schedule, kStart, kStart + 10s);
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, QStringLiteral("control.higherOwner"));
    QVERIFY2(refused.error().message.contains(QLatin1String("output1")), qPrintable(refused.error().message));
    QVERIFY(!b.arbiter.claim(0, kStart)); // nothing of it was taken
    QCOMPARE(b.arbiter.lease({0, 2}, kTask, ControlPriority::Schedule, kStart, kStart + 10s).error().code,
             QStringLiteral("control.noOutput")); // the last point is read-only
    QVERIFY(!b.arbiter.claim(0, kStart));
    // A claim of the same priority that is no lease is taken over.
    QCOMPARE(b.ask(0, ControlPriority::Schedule, "trigger"), CommandState::Queued);
    QVERIFY(b.arbiter.lease({0}, kTask, ControlPriority::Schedule, kStart, kStart + 10s));
    QCOMPARE(b.arbiter.claim(0, kStart)->owner, kTask);
}

void LeaseTest::isKeptAgainstEquals()
{
    Bench b;
    QVERIFY(b.arbiter.lease({0, 1}, kTask, ControlPriority::Schedule, kStart, kStart + 10s));
    QCOMPARE(b.ask(0, ControlPriority::Schedule, "trigger"), CommandState::Rejected);
    QCOMPARE(b.ask(0, ControlPriority::Comfort, "trigger"), CommandState::Rejected);
    QVERIFY(!b.arbiter.lease({1}, kOther, ControlPriority::Schedule, kStart, kStart + 10s));
    QCOMPARE(b.ask(0, ControlPriority::Schedule, "coordination:task"), CommandState::Queued);
    QVERIFY(b.arbiter.holdsLease({0, 1}, kTask));
}

void LeaseTest::isLostToAHigherPriority()
{
    Bench b;
    QVERIFY(b.arbiter.lease({0, 1}, kTask, ControlPriority::Schedule, kStart, kStart + 10s));
    QCOMPARE(b.ask(1, ControlPriority::GridLimit, "guard"), CommandState::Queued);
    const auto held = b.arbiter.holdsLease({0, 1}, kTask);
    QVERIFY(!held);
    QVERIFY(held.error().message.contains(QLatin1String("guard")));
    QCOMPARE(b.ask(1, ControlPriority::Schedule, "coordination:task"), CommandState::Rejected);
    // Also when the other's claim has run out meanwhile: it was written to.
    QVERIFY(!b.arbiter.holdsLease({0, 1}, kTask));
    QVERIFY(b.arbiter.lease({0}, kOther, ControlPriority::Safety, kStart, kStart + 10s));
    QVERIFY(!b.arbiter.holdsLease({0}, kTask));
}

void LeaseTest::ownRequestsDoNotShortenIt()
{
    Bench b;
    QVERIFY(b.arbiter.lease({0}, kTask, ControlPriority::Schedule, kStart, kStart + 60s));
    QCOMPARE(b.ask(0, ControlPriority::Schedule, "coordination:task"), CommandState::Queued); // claims for 3 s
    QCOMPARE(b.ask(0, ControlPriority::Schedule, "trigger", kStart + 30s), CommandState::Rejected);
    QVERIFY(b.arbiter.holdsLease({0}, kTask));
}

void LeaseTest::endsByTimeAndByRelease()
{
    Bench b;
    QVERIFY(b.arbiter.lease({0, 1}, kTask, ControlPriority::Schedule, kStart, kStart + 10s));
    QCOMPARE(b.ask(0, ControlPriority::Manual, "trigger", kStart + 10s), CommandState::Queued);
    b.arbiter.release({0, 1}, kOther); // not its own
    QCOMPARE(b.ask(1, ControlPriority::Manual, "trigger", kStart + 9s), CommandState::Rejected);
    b.arbiter.release({0, 1}, kTask);
    QCOMPARE(b.ask(1, ControlPriority::Manual, "trigger", kStart + 9s), CommandState::Queued);
    QVERIFY(b.arbiter.claim(0, kStart + 11s)); // the trigger's claim on output 0 was not released
}

void LeaseTest::whatWasWrittenLast()
{
    Bench b;
    QVERIFY(b.arbiter.lastWritten(0).first.isNull());
    QCOMPARE(b.ask(0, ControlPriority::Schedule, "t"), CommandState::Queued);
    const auto sent = b.arbiter.due(kStart);
    QCOMPARE(b.arbiter.lastWritten(0), (std::pair(Value(1), SteadyTime::max()))); // under way
    b.arbiter.finish(sent.at(0).id, CommandState::Confirmed, Value(1), {}, kStart + 5ms);
    QCOMPARE(b.arbiter.lastWritten(0), (std::pair(Value(1), kStart + 5ms)));
    b.arbiter.forget(0);
    std::optional<ControlCommand> superseded;
    b.arbiter.request(requestOf(0, Value(2), ControlPriority::Schedule, "t"), kStart + 1s, kWall, superseded);
    b.arbiter.due(kStart + 1s);
    QCOMPARE(b.arbiter.expire(kStart + 3s).size(), std::size_t(1));
    QCOMPARE(b.arbiter.lastWritten(0), (std::pair(Value(), kStart + 3s))); // written or not
    QVERIFY(b.arbiter.lastWritten(99).first.isNull());
}

QTEST_APPLESS_MAIN(LeaseTest)
#include "tst_lease.moc"
