// SPDX-License-Identifier: Apache-2.0
#include "core/boundedqueue.h"
#include "core/bufferpool.h"

#include <QTest>

#include <thread>

using namespace gridloom;

class BufferPoolTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void memoryIsUsedAgain();
    void movesDoNotReturnABufferTwice();
    void buffersOutliveTheirPool();
    void idleBuffersAreBounded();
    void producerAndConsumerCirculateFewBuffers();
};

void BufferPoolTest::memoryIsUsedAgain()
{
    BufferPool<int> pool;
    const int *memory = nullptr;
    {
        auto buffer = pool.take();
        buffer->assign(1'000, 7);
        memory = buffer->data();
    }
    auto again = pool.take();
    QVERIFY(again.empty());
    QVERIFY(again->capacity() >= 1'000);
    again->push_back(1);
    QCOMPARE(again->data(), memory);
    // The first is out: a second one has memory of its own.
    auto other = pool.take();
    other->push_back(2);
    QVERIFY(other->data() != memory);
}

void BufferPoolTest::movesDoNotReturnABufferTwice()
{
    BufferPool<int> pool;
    {
        auto a = pool.take();
        a->push_back(1);
        auto b = std::move(a);
        QCOMPARE(*b, std::vector<int>{1});
        auto c = pool.take();
        c->push_back(2);
        c = std::move(b); // the old content of c goes back
        QCOMPARE(*c, std::vector<int>{1});
    }
    auto first = pool.take();
    auto second = pool.take();
    auto third = pool.take();
    QVERIFY(first->capacity() > 0 && second->capacity() > 0);
    QCOMPARE(third->capacity(), std::size_t(0));
    first->push_back(1);
    second->push_back(2);
    QVERIFY(first->data() != second->data());
}

void BufferPoolTest::buffersOutliveTheirPool()
{
    BufferPool<int>::Buffer buffer;
    {
        BufferPool<int> pool;
        buffer = pool.take();
        buffer->push_back(5);
    }
    QCOMPARE(*buffer, std::vector<int>{5});
    buffer = BufferPool<int>::Buffer{1, 2};
    QCOMPARE(buffer.size(), std::size_t(2));
}

void BufferPoolTest::idleBuffersAreBounded()
{
    BufferPool<int> pool(2);
    {
        std::vector<BufferPool<int>::Buffer> buffers;
        for (int i = 0; i < 5; ++i) {
            buffers.push_back(pool.take());
            buffers.back()->push_back(i);
        }
    }
    std::vector<BufferPool<int>::Buffer> again;
    int used = 0;
    for (int i = 0; i < 5; ++i) {
        again.push_back(pool.take());
        used += again.back()->capacity() > 0 ? 1 : 0;
    }
    QCOMPARE(used, 2);
}

void BufferPoolTest::producerAndConsumerCirculateFewBuffers()
{
    constexpr int kRounds = 20'000;
    BufferPool<int> pool;
    BoundedQueue<BufferPool<int>::Buffer> queue(8);
    long long received = 0;
    std::thread consumer([&] {
        BufferPool<int>::Buffer buffer;
        while (queue.pop(buffer))
            for (const int i : buffer)
                received += i;
    });
    long long sent = 0;
    for (int i = 0; i < kRounds; ++i) {
        auto buffer = pool.take();
        buffer->assign(3, i);
        while (!queue.push(std::move(buffer))) { // refused: it is gone, and back on its shelf
            std::this_thread::yield();
            buffer = pool.take();
            buffer->assign(3, i);
        }
        sent += 3LL * i;
    }
    queue.close();
    consumer.join();
    QCOMPARE(received, sent);
}

QTEST_APPLESS_MAIN(BufferPoolTest)
#include "tst_bufferpool.moc"
