// SPDX-License-Identifier: Apache-2.0
#include "sdk/deadlinetimer.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class DeadlineTimerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void callsOnceAndNeverEarly();
    void aLaterTimeReplacesTheEarlierOne();
    void anEarlierTimeReplacesTheLaterOne();
    void cancelledAndThePast();
};

void DeadlineTimerTest::callsOnceAndNeverEarly()
{
    std::vector<Clock::time_point> calls;
    DeadlineTimer timer([&] { calls.push_back(Clock::now()); });
    const auto due = Clock::now() + 5ms;
    timer.set(due);
    QTRY_COMPARE(calls.size(), std::size_t{1});
    QVERIFY(calls[0] >= due);
    DeadlineTimer later([&] { calls.push_back({}); });
    later.set(Clock::now() + 10ms); // after it, a second call of the first one would have come
    QTRY_COMPARE(calls.size(), std::size_t{2});
    QCOMPARE(calls[1], Clock::time_point());
}

void DeadlineTimerTest::aLaterTimeReplacesTheEarlierOne()
{
    Clock::time_point called;
    DeadlineTimer timer([&] { called = Clock::now(); });
    timer.set(Clock::now() + 2ms);
    const auto due = Clock::now() + 30ms;
    timer.set(due);
    QTRY_VERIFY(called != Clock::time_point());
    QVERIFY(called >= due);
}

void DeadlineTimerTest::anEarlierTimeReplacesTheLaterOne()
{
    int calls = 0;
    DeadlineTimer timer([&] { ++calls; });
    timer.set(Clock::now() + 1h);
    timer.set(Clock::now() + 2ms);
    QTRY_COMPARE(calls, 1);
}

void DeadlineTimerTest::cancelledAndThePast()
{
    QByteArray order;
    DeadlineTimer cancelled([&] { order += 'c'; });
    cancelled.set(Clock::now() + 1ms);
    cancelled.cancel();
    std::unique_ptr<DeadlineTimer> chain;
    int left = 3;
    chain = std::make_unique<DeadlineTimer>([&] {
        order += 'p';
        if (--left > 0)
            chain->set(Clock::now() - 1s); // set again from within, to the past
    });
    chain->set({});
    DeadlineTimer last([&] { order += 'l'; });
    last.set(Clock::now() + 20ms);
    QTRY_VERIFY(order.endsWith('l'));
    QCOMPARE(order, QByteArray("pppl"));
}

QTEST_GUILESS_MAIN(DeadlineTimerTest)
#include "tst_deadlinetimer.moc"
