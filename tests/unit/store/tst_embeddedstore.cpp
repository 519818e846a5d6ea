// SPDX-License-Identifier: Apache-2.0
#include "embeddedstore.h"
#include "faultydisk.h"

#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <random>

using namespace gridloom;
using gridloom::test::Fault;
using gridloom::test::FaultyDisk;
using std::chrono::milliseconds;

namespace {
const WallTime kStart{std::chrono::seconds(1'785'542'400)};
constexpr WallTime kEver = WallTime::max() - std::chrono::hours(1);
const QList<Series> kSeries{{QStringLiteral("meter1.p"), QStringLiteral("Leistung"), QStringLiteral("kW")},
                            {QStringLiteral("meter1.e"), QStringLiteral("x'); DROP TABLE samples;--"), {}}};
const QList<QString> kTriggers{QStringLiteral("shave"), QStringLiteral("count")};

HistoryRow row(PointHandle point, std::int64_t atMs, Value value, int trigger = -1, std::uint64_t run = 0)
{
    return {point, Quality::Good, std::move(value), kStart + milliseconds(atMs), trigger, run};
}

std::vector<HistoryRow> numbers(int first, int count, PointHandle point = 0)
{
    std::vector<HistoryRow> rows;
    for (int i = first; i < first + count; ++i)
        rows.push_back(row(point, i, Value(i)));
    return rows;
}

std::vector<HistoryRow> all(EmbeddedStore &store, const QString &id = kSeries[0].id, WallTime from = WallTime(),
                            WallTime to = kEver)
{
    std::vector<HistoryRow> rows;
    const auto read = store.query(id, from, to, [&](const HistoryRow &r) {
        rows.push_back(r);
        return true;
    });
    return read ? rows : std::vector<HistoryRow>();
}

// The values 0, 1, 2 ... one a millisecond, as numbers() makes them.
bool areNumbers(const std::vector<HistoryRow> &rows, int first, int count)
{
    if (rows.size() != static_cast<std::size_t>(count))
        return false;
    for (int i = 0; i < count; ++i) {
        const HistoryRow &r = rows[static_cast<std::size_t>(i)];
        if (r.value != Value(first + i) || r.time != kStart + milliseconds(first + i))
            return false;
    }
    return true;
}

QByteArray readFile(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}
void writeFile(const QString &path, const QByteArray &bytes)
{
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    QCOMPARE(file.write(bytes), bytes.size());
}
} // namespace

class EmbeddedStoreTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void rowsComeBack();
    void anOutsiderReadsTheSame();
    void storedTwiceReadsAsOne();
    void orderIsByTime();
    void outlivesDeployments();
    void quotaRemovesTheOldest();
    void reopensWithoutLoss();
    void unknownPointCostsItsRowOnly();
    void damagedFiles_data();
    void damagedFiles();
    void damageInAFullSegmentIsFoundWhenRead();
    void refusedBatchLeavesNoTrace();
    void goesOnAfterAFailedSync();
    void eachFailingCallIsSurvived();

private:
    Result<void> open(EmbeddedStore &store, int segmentMb = 8, int quotaMb = 1024);
    QString path(int number) const { return QStringLiteral("%1/%2.gls").arg(m_folder).arg(number, 8, 10, QLatin1Char('0')); }
    QStringList files(const char *pattern) const { return QDir(m_folder).entryList({QLatin1String(pattern)}, QDir::Files); }

    std::unique_ptr<QTemporaryDir> m_dir;
    QString m_folder;
    FakeClock m_clock;
};

void EmbeddedStoreTest::init()
{
    // In memory where possible: what is tested here does not depend on the disk, and its syncs take their time.
    m_dir = std::make_unique<QTemporaryDir>(QStringLiteral("/dev/shm/gridloom-store-XXXXXX"));
    if (!m_dir->isValid())
        m_dir = std::make_unique<QTemporaryDir>();
    m_folder = m_dir->filePath(QStringLiteral("history"));
}

Result<void> EmbeddedStoreTest::open(EmbeddedStore &store, int segmentMb, int quotaMb)
{
    return store.open({{QStringLiteral("segmentMb"), segmentMb}, {QStringLiteral("quotaMb"), quotaMb}}, m_folder, kSeries,
                      kTriggers);
}

void EmbeddedStoreTest::rowsComeBack()
{
    const std::vector<HistoryRow> rows{
        row(0, 0, Value(9007199254740993)), row(0, 1, Value(std::uint64_t{18446744073709551615ULL})),
        row(0, 2, Value(-1.3)), row(0, 3, Value(true)), row(0, 4, Value(QByteArray("\xCE\xA9"))),
        row(0, 5, Value(7.5), 1, 4711), {0, Quality::BadNotSupported, Value(), kStart + milliseconds(6)}};
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(rows));
    for (const bool isReopened : {false, true}) {
        if (isReopened) {
            store.close();
            QVERIFY(open(store));
        }
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
    QCOMPARE(all(store, kSeries[0].id, kStart + std::chrono::microseconds(1), kStart + milliseconds(2)).size(), std::size_t{1});
    // The visitor ends it.
    int visits = 0;
    QVERIFY(store.query(kSeries[0].id, WallTime(), kEver, [&](const HistoryRow &) { return ++visits < 3; }));
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
    python.start(QStringLiteral("python3"), {QStringLiteral(GRIDLOOM_SOURCE_DIR "/tests/unit/store/read_segment.py"), path(1)});
    QVERIFY(python.waitForFinished());
    QCOMPARE(QString::fromUtf8(python.readAllStandardError()), QString());
    QCOMPARE(python.readAllStandardOutput(),
             QByteArray("{\"series\": \"meter1.e\", \"quality\": 0, \"time\": 1785542400001, \"value\": 18446744073709551615, "
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
    QVERIFY(store.open({}, m_folder, other, {QStringLiteral("shave")}));
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
    QVERIFY(open(store, 1, 4));
    for (int i = 0; i < 100; ++i) {
        QVERIFY(store.append(numbers(i, 1)));
        QVERIFY(store.append(std::vector{row(1, i, Value(QByteArray(100'000, 't')))}));
        qint64 onDisk = 0;
        for (const QFileInfo &file : QDir(m_folder).entryInfoList(QDir::Files))
            onDisk += file.size();
        QVERIFY(onDisk <= 4'000'000);
        QCOMPARE(store.statistics().bytes, static_cast<std::uint64_t>(onDisk));
    }
    QVERIFY(files("*.gls").size() >= 3);
    QVERIFY(!QFile::exists(path(1)));
    const auto left = all(store);
    QVERIFY(left.size() >= 20 && left.size() < 50);
    QVERIFY(areNumbers(left, 100 - static_cast<int>(left.size()), static_cast<int>(left.size()))); // the newest, without gap
    QCOMPARE(store.statistics().rows, std::uint64_t{200});
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
    QVERIFY(files("*.gls").size() > 2);
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

// PC-18
void EmbeddedStoreTest::damagedFiles_data()
{
    QTest::addColumn<QString>("form");
    QTest::addColumn<bool>("isNewest");
    for (const char *form : {"empty", "zeros", "half", "flipped", "flippedHeader", "shortened"}) {
        QTest::addRow("newest %s", form) << QString::fromLatin1(form) << true;
        QTest::addRow("full %s", form) << QString::fromLatin1(form) << false;
    }
}

void EmbeddedStoreTest::damagedFiles()
{
    QFETCH(QString, form);
    QFETCH(bool, isNewest);
    {
        EmbeddedStore store(m_clock);
        QVERIFY(open(store, 1));
        for (int i = 0; i < 12; ++i) {
            QVERIFY(store.append(numbers(i * 100, 100)));
            QVERIFY(store.append(std::vector{row(1, i, Value(QByteArray(200'000, 't')))}));
        }
    }
    const int count = static_cast<int>(files("*.gls").size());
    QVERIFY(count >= 3);
    const QString victim = path(isNewest ? count : 1);
    QByteArray bytes = readFile(victim);
    if (form == QLatin1String("empty"))
        bytes.clear();
    else if (form == QLatin1String("zeros"))
        bytes.fill('\0');
    else if (form == QLatin1String("half"))
        bytes.truncate(bytes.size() / 2);
    else if (form == QLatin1String("shortened"))
        bytes.chop(3);
    else if (form == QLatin1String("flippedHeader"))
        bytes[9] ^= 1;
    else
        bytes[bytes.size() - 20] ^= 0x10;
    writeFile(victim, bytes);

    EmbeddedStore store(m_clock);
    QVERIFY(open(store, 1));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    QVERIFY(faults[0].contains(victim));
    const QStringList aside = files("*.corrupt-*");
    QCOMPARE(aside, QStringList(QFileInfo(victim).fileName() + QStringLiteral(".corrupt-20260801T000000Z")));
    QCOMPARE(readFile(m_folder + QLatin1Char('/') + aside[0]), bytes);
    QVERIFY(faults[0].contains(aside[0]));

    // Every row of the other segments is there, none is doubled or invented, and the store goes on.
    QVERIFY(store.append(numbers(1200, 100)));
    const auto left = all(store);
    QVERIFY(left.size() >= 400 && left.size() <= 1300);
    for (std::size_t i = 0; i < left.size(); ++i) {
        QVERIFY(left[i].value == Value(static_cast<int>((left[i].time - kStart) / milliseconds(1))));
        QVERIFY(i == 0 || left[i - 1].time < left[i].time);
    }
    QVERIFY(left.back().value == Value(1299));
    store.close();
    QVERIFY(open(store, 1));
    QVERIFY(store.takeFaults().isEmpty()); // mended for good
    QCOMPARE(all(store).size(), left.size());
}

void EmbeddedStoreTest::damageInAFullSegmentIsFoundWhenRead()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store, 1));
    for (int i = 0; i < 12; ++i) {
        QVERIFY(store.append(numbers(i * 100, 100)));
        QVERIFY(store.append(std::vector{row(1, i, Value(QByteArray(200'000, 't')))}));
    }
    QByteArray bytes = readFile(path(1));
    bytes[100'000] ^= 1; // in the first of the texts
    writeFile(path(1), bytes);
    QVERIFY(areNumbers(all(store), 0, 1200));
    QCOMPARE(store.takeFaults().size(), 1);
    QCOMPARE(readFile(m_folder + QLatin1Char('/') + files("*.corrupt-*").value(0)), bytes);
    QCOMPARE(all(store, kSeries[1].id).size(), std::size_t{11});
    QVERIFY(areNumbers(all(store), 0, 1200));
    QVERIFY(store.takeFaults().isEmpty());
}

void EmbeddedStoreTest::refusedBatchLeavesNoTrace()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(numbers(0, 10)));
    const QByteArray before = readFile(path(1));
    for (const Fault fault : {Fault::NoSpace, Fault::InputOutput, Fault::ShortWrite}) {
        FaultyDisk::failNth(1, fault);
        const auto refused = store.append(numbers(10, 1000));
        QVERIFY(FaultyDisk::heal());
        QVERIFY(!refused);
        QCOMPARE(refused.error().code,
                 fault == Fault::InputOutput ? QStringLiteral("file.failed") : QStringLiteral("file.full"));
        QVERIFY(refused.error().message.contains(path(1)));
        QCOMPARE(readFile(path(1)), before);
    }
    QCOMPARE(store.statistics().rows, std::uint64_t{10});
    QCOMPARE(store.statistics().lost, std::uint64_t{3000});
    QVERIFY(store.append(numbers(10, 5)));
    QVERIFY(areNumbers(all(store), 0, 15));
}

void EmbeddedStoreTest::goesOnAfterAFailedSync()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(numbers(0, 10)));
    QVERIFY(store.sync());
    QVERIFY(store.append(numbers(10, 10)));
    FaultyDisk::failSyncs();
    QVERIFY(!store.sync());
    FaultyDisk::heal();
    QCOMPARE(store.statistics().rows, std::uint64_t{10});
    QCOMPARE(store.statistics().lost, std::uint64_t{10});
    QVERIFY(store.append(numbers(20, 10)));
    QVERIFY(store.sync());
    QCOMPARE(files("*.gls").size(), 2);
    QVERIFY(areNumbers(all(store), 0, 30)); // readable, though not vouched for
    store.close();
    QVERIFY(open(store));
    QVERIFY(store.takeFaults().isEmpty());
    QVERIFY(areNumbers(all(store), 0, 30));
}

// Fails the first call, the second, ... until a run meets none: no crash, and what was taken is what is there.
void EmbeddedStoreTest::eachFailingCallIsSurvived()
{
    for (const Fault fault : {Fault::NoSpace, Fault::InputOutput, Fault::ShortWrite}) {
        int nth = 1;
        for (bool wasHit = true; wasHit; ++nth) {
            init();
            std::vector<int> taken;
            EmbeddedStore store(m_clock);
            FaultyDisk::failNth(nth, fault);
            QVERIFY(open(store, 1));
            for (int i = 0; i < 12; ++i) {
                auto rows = numbers(i, 1);
                rows.push_back(row(1, i, Value(QByteArray(200'000, 't'))));
                if (store.append(rows))
                    taken.push_back(i);
                static_cast<void>(store.sync());
            }
            wasHit = FaultyDisk::heal();
            QVERIFY(taken.size() >= 11);
            for (const bool isReopened : {false, true}) {
                if (isReopened) {
                    store.close();
                    QVERIFY(open(store, 1));
                }
                std::vector<int> read;
                for (const HistoryRow &r : all(store))
                    read.push_back(static_cast<int>(r.value.int64()));
                QCOMPARE(read, taken);
            }
            QVERIFY(store.takeFaults().isEmpty());
        }
        QVERIFY(nth > 20);
    }
}

QTEST_GUILESS_MAIN(EmbeddedStoreTest)
#include "tst_embeddedstore.moc"
