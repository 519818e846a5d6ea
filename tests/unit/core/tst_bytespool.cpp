// SPDX-License-Identifier: Apache-2.0
#include "core/bytespool.h"

#include "core/boundedqueue.h"
#include "core/json.h"

#include <QTest>

#include <deque>
#include <thread>

using namespace gridloom;

class BytesPoolTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void memoryIsUsedAgainOnceItIsFree();
    void whatOthersHoldNeverChanges();
    void rememberedArraysAreBounded();
    void otherThreadsMayHoldAndLetGo();
    void aWriterTakesABuffer();
};

void BytesPoolTest::memoryIsUsedAgainOnceItIsFree()
{
    BytesPool pool;
    QByteArray bytes = pool.take();
    QVERIFY(bytes.isEmpty());
    bytes.append(500, 'a');
    const char *memory = bytes.constData();
    pool.remember(bytes);
    QVERIFY(pool.take().constData() != memory); // held here
    bytes = QByteArray();
    QByteArray again = pool.take();
    QVERIFY(again.isEmpty() && again.capacity() >= 500);
    again.append(500, 'b');
    QCOMPARE(again.constData(), memory);
    QVERIFY(pool.take().constData() != memory); // it is out
}

void BytesPoolTest::whatOthersHoldNeverChanges()
{
    BytesPool pool(16);
    std::deque<std::pair<int, QByteArray>> held;
    for (int i = 0; i < 5'000; ++i) {
        QByteArray bytes = pool.take();
        bytes.append(QByteArray::number(i)).append(i % 97, 'x');
        pool.remember(bytes);
        held.emplace_back(i, bytes);
        if (held.size() > static_cast<std::size_t>(i % 30))
            held.erase(held.begin() + i * 7 % static_cast<int>(held.size()));
        for (const auto &[number, content] : held)
            QCOMPARE(content, QByteArray::number(number) + QByteArray(number % 97, 'x'));
    }
}

void BytesPoolTest::rememberedArraysAreBounded()
{
    BytesPool pool(3);
    for (int i = 0; i < 10; ++i)
        pool.remember(QByteArray(100, 'x'));
    pool.remember(QByteArray(1 << 20, 'x'));
    int used = 0;
    for (int i = 0; i < 10; ++i)
        used += pool.take().capacity() > 0 ? 1 : 0;
    QCOMPARE(used, 3);
}

void BytesPoolTest::otherThreadsMayHoldAndLetGo()
{
    BytesPool pool;
    BoundedQueue<QByteArray> queue(64);
    bool isIntact = true;
    std::thread reader([&] {
        QByteArray bytes;
        while (queue.pop(bytes))
            isIntact = isIntact && bytes.count(bytes.at(0)) == bytes.size();
    });
    for (int i = 0; i < 50'000; ++i) {
        QByteArray bytes = pool.take();
        bytes.append(1 + i % 300, static_cast<char>('a' + i % 26));
        pool.remember(bytes);
        queue.push(std::move(bytes));
    }
    queue.close();
    reader.join();
    QVERIFY(isIntact);
}

void BytesPoolTest::aWriterTakesABuffer()
{
    QByteArray buffer;
    buffer.reserve(100);
    const char *memory = buffer.constData();
    JsonWriter w(std::move(buffer));
    w.beginObject().key("a").integer(1).endObject();
    const QByteArray text = w.take();
    QCOMPARE(text, QByteArray("{\"a\":1}"));
    QCOMPARE(text.constData(), memory);
}

QTEST_APPLESS_MAIN(BytesPoolTest)
#include "tst_bytespool.moc"
