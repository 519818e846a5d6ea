// SPDX-License-Identifier: Apache-2.0
#include "engine/enginewait.h"
#include "engine/scheduling.h"

#include <QTest>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>

using namespace gridloom;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class EngineWaitTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void endsAtItsTimeAndNotBefore();
    void aTimeThatHasPassedDoesNotWait();
    void anEarlierTimeReplacesALaterOne();
    void notifyBeforeTheWaitIsNotLost();
    void notifyEndsAWait();
    void schedulingSaysWhatTheKernelDid();
};

void EngineWaitTest::endsAtItsTimeAndNotBefore()
{
    EngineWait wait;
    for (int i = 0; i < 20; ++i) {
        const SteadyTime due = steady_clock::now() + 3ms;
        wait.until(due);
        QVERIFY(steady_clock::now() >= due);
    }
}

void EngineWaitTest::aTimeThatHasPassedDoesNotWait()
{
    EngineWait wait;
    const SteadyTime begin = steady_clock::now();
    wait.until(begin - 1h);
    wait.until(begin - 1h); // also twice the same
    wait.until(SteadyTime{});
    QVERIFY(steady_clock::now() - begin < 1s);
}

void EngineWaitTest::anEarlierTimeReplacesALaterOne()
{
    EngineWait wait;
    const SteadyTime begin = steady_clock::now();
    wait.notify();
    wait.until(begin + 1h);
    wait.until(begin + 2ms);
    QVERIFY(steady_clock::now() - begin < 10s);
}

void EngineWaitTest::notifyBeforeTheWaitIsNotLost()
{
    EngineWait wait;
    const SteadyTime begin = steady_clock::now();
    wait.notify();
    wait.notify();
    wait.until(begin + 1h);
    QVERIFY(steady_clock::now() - begin < 10s);
    const SteadyTime due = steady_clock::now() + 2ms; // both were one
    wait.until(due);
    QVERIFY(steady_clock::now() >= due);
}

void EngineWaitTest::notifyEndsAWait()
{
    EngineWait wait;
    std::atomic<bool> isOver{false};
    std::thread waiter([&] {
        wait.until(steady_clock::now() + 1h);
        isOver = true;
    });
    QTest::qWait(5);
    wait.notify();
    waiter.join();
    QVERIFY(isOver);
}

void EngineWaitTest::schedulingSaysWhatTheKernelDid()
{
    std::thread([] {
        const Scheduling scheduling = requestRealTime(kFastScriptsPriority);
        const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
        QCOMPARE(policy, scheduling.isRealTime ? SCHED_FIFO : SCHED_OTHER);
        QCOMPARE(scheduling.why.isEmpty(), scheduling.isRealTime);
        // What this thread starts is plain.
        std::thread([] { QCOMPARE(::sched_getscheduler(0), SCHED_OTHER); }).join();
    }).join();
    // A priority that nobody is given: the refusal is told and nothing has changed.
    std::thread([] {
        const Scheduling refused = requestRealTime(1'000);
        QVERIFY(!refused.isRealTime);
        QVERIFY(!refused.why.isEmpty());
        QCOMPARE(::sched_getscheduler(0), SCHED_OTHER);
    }).join();
}

QTEST_GUILESS_MAIN(EngineWaitTest)
#include "tst_enginewait.moc"
