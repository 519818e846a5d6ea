// SPDX-License-Identifier: Apache-2.0
#include "storefolder.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTest>

#include <algorithm>
#include <random>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;

class EmbeddedStoreTest : public QObject, private StoreFolder {
    Q_OBJECT
private Q_SLOTS:
    void init() { renew(); }
    void rowsComeBack();
    void anOutsiderReadsTheSame();
    void storedTwiceReadsAsOne();
    void orderIsByTime();
    void outlivesDeployments();
    void quotaRemovesTheOldest();
    void reopensWithoutLoss();
    void unknownPointCostsItsRowOnly();
};

void EmbeddedStoreTest::rowsComeBack()
{
    const std::vector<HistoryRow> rows{row(0, 0, Value(9007199254740993)),
                                       row(0, 1, Value(std::uint64_t{18446744073709551615ULL})),
                                       row(0, 2, Value(-1.3)),
                                       row(0, 3, Value(true)),
                                       row(0, 4, Value(QByteArray("\xCE\xA9"))),
                                       row(0, 5, Value(7.5), 1, 4711),
                                       {0, Quality::BadNotSupported, Value(), kStart + milliseconds(6)}};
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(rows));
    // From memory, from the segment of an earlier run or its blocks, from blocks alone.
    for (const char *from : {"memory", "restart", "blocks"}) {
        if (from != QByteArrayView("memory")) {
            store.close();
            QVERIFY(open(store));
        }
        if (from == QByteArrayView("blocks"))
            store.settle();
        const auto read = all(store);
        QCOMPARE(read.size(), rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            QVERIFY(read[i].value == rows[i].value);
            QCOMPARE(read[i].quality, rows[i].quality);
            QCOMPARE(read[i].time, rows[i].time);
            QCOMPARE(read[i].trigger, rows[i].trigger);
            QCOMPARE(read[i].run, rows[i].run);
            QCOMPARE(read[i].point, PointHandle{0});
        }
        QVERIFY(all(store, kSeries[1].id).empty());
        QVERIFY(all(store, QStringLiteral("no.such")).empty());
    }
    // from <= time < to; microseconds round to the stored resolution.
    QCOMPARE(all(store, kSeries[0].id, kStart + milliseconds(2), kStart + milliseconds(4)).size(), std::size_t{2});
    QCOMPARE(all(store, kSeries[0].id, kStart + std::chrono::microseconds(1), kStart + milliseconds(2)).size(),
             std::size_t{1});
    // The visitor ends it.
    int visits = 0;
    QVERIFY(store.reader()->query(kSeries[0].id, WallTime(), kEver, [&](const HistoryRow &) { return ++visits < 3; }));
    QCOMPARE(visits, 3);
}

void EmbeddedStoreTest::anOutsiderReadsTheSame()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(std::vector{row(1, 1, Value(std::uint64_t{18446744073709551615ULL}), 1, 12),
                                     row(0, 0, Value(-9007199254740993)), row(0, 2, Value(QByteArray("\xCE\xA9\"")))}));
    QVERIFY(store.append(std::vector{row(1, 3, Value(std::nan("")))}));
    QProcess python;
    python.start(QStringLiteral("python3"),
                 {QStringLiteral(GRIDLOOM_SOURCE_DIR "/tests/unit/store/read_segment.py"), path(1)});
    QVERIFY(python.waitForFinished());
    QCOMPARE(QString::fromUtf8(python.readAllStandardError()), QString());
    QCOMPARE(python.readAllStandardOutput(),
             QByteArray(
                 "{\"series\": \"meter1.e\", \"quality\": 0, \"time\": 1785542400001, \"value\": 18446744073709551615, "
                 "\"trigger\": \"count\", \"run\": 12}\n"
                 "{\"series\": \"meter1.p\", \"quality\": 0, \"time\": 1785542400000, \"value\": -9007199254740993}\n"
                 "{\"series\": \"meter1.p\", \"quality\": 0, \"time\": 1785542400002, \"value\": \"\\u03a9\\\"\"}\n"
                 "{\"series\": \"meter1.e\", \"quality\": 134, \"time\": 1785542400003, \"value\": null}\n"));
}

void EmbeddedStoreTest::storedTwiceReadsAsOne()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    for (int i = 0; i < 3; ++i)
        QVERIFY(store.append(numbers(0, 100)));
    QVERIFY(areNumbers(all(store), 0, 100));
    // Rows of different runs at one time are different rows.
    QVERIFY(store.append(std::vector{row(1, 0, Value(1), 0, 1), row(1, 0, Value(2), 0, 2)}));
    QCOMPARE(all(store, kSeries[1].id).size(), std::size_t{2});
}

void EmbeddedStoreTest::orderIsByTime()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store, 1));
    // Blocks of rows out of order, as clock steps and late windows give them, over many segments; text fills them.
    std::mt19937 random(3);
    std::vector<int> blocks(40);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (const int block : blocks) {
        QVERIFY(store.append(numbers(block * 50, 50)));
        QVERIFY(store.append(std::vector{row(1, block, Value(QByteArray(200'000, 't')))}));
    }
    QVERIFY(files("*.gls").size() > 5);
    QVERIFY(areNumbers(all(store), 0, 2000));
    QVERIFY(areNumbers(all(store, kSeries[0].id, kStart + milliseconds(333), kStart + milliseconds(1444)), 333, 1111));
}

void EmbeddedStoreTest::outlivesDeployments()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(numbers(0, 10)));
    QVERIFY(store.append(std::vector{row(1, 0, Value(5), 1, 9)}));
    // The points change places, one is new; one trigger is gone.
    const QList<Series> other{{QStringLiteral("a.new"), {}, {}}, kSeries[1], kSeries[0]};
    QVERIFY(store.open({{}, m_folder, other, {QStringLiteral("shave")}, {}}));
    QVERIFY(store.append(numbers(10, 10, 2)));
    QVERIFY(store.append(std::vector{row(0, 0, Value(99))}));
    QCOMPARE(files("*.gls").size(), 1);
    QVERIFY(areNumbers(all(store), 0, 20));
    QCOMPARE(all(store).front().point, PointHandle{2});
    QCOMPARE(all(store, QStringLiteral("a.new")).size(), std::size_t{1});
    const auto ofGoneTrigger = all(store, kSeries[1].id);
    QCOMPARE(ofGoneTrigger.size(), std::size_t{1});
    QCOMPARE(ofGoneTrigger[0].trigger, -1);
    QCOMPARE(ofGoneTrigger[0].run, std::uint64_t{9});
    // Back again, from another process' view.
    EmbeddedStore again(m_clock);
    QVERIFY(open(again));
    QVERIFY(again.append(numbers(20, 10)));
    QVERIFY(areNumbers(all(again), 0, 30));
    QCOMPARE(all(again, kSeries[1].id)[0].trigger, 1);
    QVERIFY(all(again, QStringLiteral("a.new"))[0].point == kNoPoint);
}

void EmbeddedStoreTest::quotaRemovesTheOldest()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store, 1, 16));
    const auto onDisk = [this] {
        qint64 sum = 0;
        for (const QFileInfo &file : QDir(m_folder).entryInfoList(QDir::Files))
            sum += file.size();
        return sum;
    };
    std::mt19937 random(9);
    for (int i = 0; i < 250; ++i) {
        QByteArray text(100'000, '\0');
        std::generate(text.begin(), text.end(), [&] { return static_cast<char>('a' + random() % 26); });
        QVERIFY(store.append(numbers(i, 1)));
        QVERIFY(store.append(std::vector{row(1, i, Value(text))}));
        if (i % 10 == 9) {
            store.settle();
            QVERIFY2(onDisk() <= 16'000'000, qPrintable(QString::number(onDisk())));
            QCOMPARE(store.statistics().bytes, static_cast<std::uint64_t>(onDisk()));
        }
    }
    const auto left = all(store);
    QVERIFY2(left.size() >= 80 && left.size() < 160, qPrintable(QString::number(left.size())));
    QVERIFY(areNumbers(left, 250 - static_cast<int>(left.size()),
                       static_cast<int>(left.size()))); // the newest, without gap
    QCOMPARE(store.statistics().rows, std::uint64_t{500});
    // A lower quota is kept as well.
    QVERIFY(open(store, 1, 8));
    store.settle();
    QVERIFY2(onDisk() <= 8'000'000, qPrintable(QString::number(onDisk())));
    QVERIFY(all(store).back().value == Value(249));
    QVERIFY(store.takeFaults().isEmpty());
}

void EmbeddedStoreTest::reopensWithoutLoss()
{
    for (int i = 0; i < 10; ++i) {
        EmbeddedStore store(m_clock);
        QVERIFY(open(store, 1));
        QVERIFY(store.append(numbers(i * 100, 100)));
        QVERIFY(store.append(std::vector{row(1, i, Value(QByteArray(250'000, 't')))}));
        QVERIFY(areNumbers(all(store), 0, (i + 1) * 100));
        QVERIFY(store.takeFaults().isEmpty());
        // No close(): as a kill leaves it.
    }
    writeFile(m_folder + QStringLiteral("/00000099.gls.new"), "left over");
    EmbeddedStore store(m_clock);
    QVERIFY(open(store, 1));
    QVERIFY(areNumbers(all(store), 0, 1000));
    QVERIFY(files("*.new").isEmpty());
    QVERIFY(store.takeFaults().isEmpty());
}

void EmbeddedStoreTest::unknownPointCostsItsRowOnly()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    auto rows = numbers(0, 3);
    rows.insert(rows.begin() + 1, row(2, 0, Value(1)));
    rows.push_back(row(0, 9, Value(1), 2, 1));
    QVERIFY(store.append(rows));
    QVERIFY(areNumbers(all(store), 0, 3));
    QCOMPARE(store.statistics().rows, std::uint64_t{3});
    QCOMPARE(store.statistics().lost, std::uint64_t{2});
}

QTEST_GUILESS_MAIN(EmbeddedStoreTest)
#include "tst_embeddedstore.moc"
