// SPDX-License-Identifier: Apache-2.0
#include "core/boundedqueue.h"

#include <QTest>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

using namespace gridloom;
using namespace std::chrono_literals;

class BoundedQueueTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void keepsOrderAndBound();
    void pushAlwaysGoesBeyondTheBound();
    void drainAppends();
    void popKeepsOrderWhileItLagsBehind();
    void steadyDrainsUseTheirMemoryAgain();
    void closedQueueGivesWhatIsLeft();
    void wakesUpOncePerFilling();
    void drainUntilEndsAtItsTime();
    void closeWakesWaitingConsumers();
    void nothingIsLostBetweenThreads();
    void refusalsAddUpBetweenThreads();
};

void BoundedQueueTest::keepsOrderAndBound()
{
    BoundedQueue<std::unique_ptr<int>> queue(2);
    QCOMPARE(queue.capacity(), std::size_t(2));
    QVERIFY(queue.push(std::make_unique<int>(1)));
    QVERIFY(queue.push(std::make_unique<int>(2)));
    QVERIFY(!queue.push(std::make_unique<int>(3)));
    QCOMPARE(queue.refused(), std::uint64_t(1));
    QCOMPARE(queue.size(), std::size_t(2));
    std::unique_ptr<int> item;
    QVERIFY(queue.pop(item));
    QCOMPARE(*item, 1);
    QVERIFY(queue.push(std::make_unique<int>(4)));
    QVERIFY(queue.pop(item));
    QCOMPARE(*item, 2);
    QVERIFY(queue.pop(item));
    QCOMPARE(*item, 4);
    QCOMPARE(queue.highWater(), std::size_t(2));
}

void BoundedQueueTest::pushAlwaysGoesBeyondTheBound()
{
    BoundedQueue<int> queue(1);
    QVERIFY(queue.push(1));
    QVERIFY(queue.pushAlways(2));
    QVERIFY(!queue.push(3));
    QCOMPARE(queue.size(), std::size_t(2));
    QCOMPARE(queue.highWater(), std::size_t(2));
    queue.close();
    QVERIFY(!queue.pushAlways(4));
    QCOMPARE(queue.refused(), std::uint64_t(2));
}

void BoundedQueueTest::drainAppends()
{
    BoundedQueue<int> queue(10);
    std::vector<int> out{0};
    QCOMPARE(queue.drain(out), std::size_t(0));
    queue.push(1);
    queue.push(2);
    QCOMPARE(queue.drain(out), std::size_t(2));
    QCOMPARE(out, (std::vector<int>{0, 1, 2}));
    QCOMPARE(queue.size(), std::size_t(0));
}

void BoundedQueueTest::popKeepsOrderWhileItLagsBehind()
{
    // Never empty: what was taken must go all the same, and size() counts what waits.
    BoundedQueue<int> queue(10'000);
    int next = 0;
    int expected = 0;
    for (int round = 0; round < 5'000; ++round) {
        for (int i = 0; i < 3; ++i)
            QVERIFY(queue.push(next++));
        for (int i = 0; i < (round < 2'000 ? 2 : 3); ++i) {
            int item = -1;
            QVERIFY(queue.pop(item));
            QCOMPARE(item, expected++);
        }
        QCOMPARE(queue.size(), static_cast<std::size_t>(next - expected));
    }
    std::vector<int> rest{-7};
    QCOMPARE(queue.drain(rest), std::size_t(2'000));
    QCOMPARE(rest.front(), -7);
    for (int i = 0; i < 2'000; ++i)
        QCOMPARE(rest[static_cast<std::size_t>(i) + 1], expected + i);
    QCOMPARE(queue.size(), std::size_t(0));
    QCOMPARE(queue.highWater(), std::size_t(2'003));
}

void BoundedQueueTest::steadyDrainsUseTheirMemoryAgain()
{
    BoundedQueue<int> queue(100);
    std::vector<int> out;
    std::set<const int *> memory;
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 10; ++i)
            queue.push(i);
        out.clear();
        QCOMPARE(queue.drain(out), std::size_t(10));
        QCOMPARE(out, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
        if (round >= 2)
            memory.insert(out.data());
    }
    QCOMPARE(memory.size(), std::size_t(2)); // they take turns
}

void BoundedQueueTest::closedQueueGivesWhatIsLeft()
{
    BoundedQueue<int> queue(10);
    queue.push(1);
    queue.close();
    QVERIFY(queue.isClosed());
    int item = 0;
    QVERIFY(queue.pop(item));
    QCOMPARE(item, 1);
    QVERIFY(!queue.pop(item));
    std::vector<int> out;
    QCOMPARE(queue.drainUntil(out, std::chrono::steady_clock::now() + 1h), std::size_t(0));
}

void BoundedQueueTest::wakesUpOncePerFilling()
{
    BoundedQueue<int> queue(2);
    int wakeUps = 0;
    queue.setWakeUp([&] { ++wakeUps; });
    queue.push(1);
    queue.push(2);
    queue.push(3); // refused
    QCOMPARE(wakeUps, 1);
    std::vector<int> out;
    queue.drain(out);
    queue.pushAlways(4);
    QCOMPARE(wakeUps, 2);
}

void BoundedQueueTest::drainUntilEndsAtItsTime()
{
    BoundedQueue<int> queue(2);
    std::vector<int> out;
    const auto until = std::chrono::steady_clock::now() + 20ms;
    QCOMPARE(queue.drainUntil(out, until), std::size_t(0));
    QVERIFY(std::chrono::steady_clock::now() >= until);
}

void BoundedQueueTest::closeWakesWaitingConsumers()
{
    BoundedQueue<int> queue(2);
    std::atomic<int> ended = 0;
    std::vector<std::thread> consumers;
    for (int i = 0; i < 4; ++i)
        consumers.emplace_back([&, i] {
            std::vector<int> out;
            int item = 0;
            if (i % 2 == 0 ? !queue.pop(item) : queue.drainUntil(out, std::chrono::steady_clock::now() + 1h) == 0)
                ++ended;
        });
    queue.close();
    for (std::thread &consumer : consumers)
        consumer.join();
    QCOMPARE(ended.load(), 4);
}

// Three producers with pushAlways(), two consumers: every item arrives exactly once, each producer's in its order.
void BoundedQueueTest::nothingIsLostBetweenThreads()
{
    constexpr int kProducers = 3;
    constexpr int kItems = 20'000;
    BoundedQueue<std::pair<int, int>> queue(16);
    std::array<std::vector<std::pair<int, int>>, 2> received;
    std::thread popper([&] {
        for (std::pair<int, int> item; queue.pop(item);)
            received[0].push_back(item);
    });
    std::thread drainer([&] {
        while (queue.drainUntil(received[1], std::chrono::steady_clock::now() + 1h) > 0) {}
    });
    std::vector<std::thread> producers;
    for (int p = 0; p < kProducers; ++p)
        producers.emplace_back([&, p] {
            for (int i = 0; i < kItems; ++i)
                queue.pushAlways({p, i});
        });
    for (std::thread &producer : producers)
        producer.join();
    queue.close();
    popper.join();
    drainer.join();

    std::array<std::vector<bool>, kProducers> seen;
    for (auto &flags : seen)
        flags.resize(kItems);
    for (const auto &items : received) {
        std::array<int, kProducers> last{-1, -1, -1};
        for (const auto &[p, i] : items) {
            const auto producer = static_cast<std::size_t>(p);
            QVERIFY(last[producer] < i);
            last[producer] = i;
            QVERIFY(!seen[producer][static_cast<std::size_t>(i)]);
            seen[producer][static_cast<std::size_t>(i)] = true;
        }
    }
    QCOMPARE(received[0].size() + received[1].size(), std::size_t(kProducers * kItems));
}

// What was pushed was either refused or came out; the bound held.
void BoundedQueueTest::refusalsAddUpBetweenThreads()
{
    BoundedQueue<int> queue(8);
    std::atomic<std::uint64_t> accepted = 0;
    std::uint64_t received = 0;
    std::thread consumer([&] {
        for (int item = 0; queue.pop(item);)
            ++received;
    });
    std::vector<std::thread> producers;
    for (int p = 0; p < 3; ++p)
        producers.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i)
                accepted += queue.push(i) ? 1 : 0;
        });
    for (std::thread &producer : producers)
        producer.join();
    queue.close();
    consumer.join();
    QCOMPARE(received, accepted.load());
    QCOMPARE(accepted + queue.refused(), std::uint64_t(60'000));
    QVERIFY(queue.highWater() <= 8);
}

QTEST_APPLESS_MAIN(BoundedQueueTest)
#include "tst_boundedqueue.moc"
