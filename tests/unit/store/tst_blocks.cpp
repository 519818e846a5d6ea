// SPDX-License-Identifier: Apache-2.0
// Columns, row blocks, roll-up blocks and the memory table: whatever goes in comes out to the last bit, and damage is
// noticed.
#include "core/history/columns.h"
#include "core/history/memorytable.h"
#include "core/history/rollup.h"
#include "core/history/rowblock.h"

#include <QTest>

#include <bit>
#include <cmath>
#include <random>

using namespace gridloom;

namespace {
using Patterns = std::vector<std::uint64_t>;

std::uint64_t patternOf(double v)
{
    return std::bit_cast<std::uint64_t>(v);
}

template<typename Make>
Patterns make(int count, const Make &one)
{
    Patterns values;
    for (int i = 0; i < count; ++i)
        values.push_back(one(i));
    return values;
}

bool isSame(const SegmentRow &a, const SegmentRow &b)
{
    return a.quality == b.quality && a.value.type() == b.value.type() && a.timeMs == b.timeMs && a.trigger == b.trigger
        && a.run == b.run
        && (a.value.type() == ValueType::Text ? a.value.text() == b.value.text() : a.value.bits() == b.value.bits());
}

bool areSame(const std::vector<SegmentRow> &a, const std::vector<SegmentRow> &b)
{
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), isSame);
}

// Rows of all kinds in a random mixture: runs of one kind, steps of time forward and back, extreme values.
std::vector<SegmentRow> randomRows(std::mt19937_64 &random, std::size_t count)
{
    std::vector<SegmentRow> rows;
    std::int64_t time = 1'785'542'400'000;
    unsigned kind = 0;
    while (rows.size() < count) {
        if (random() % 5 == 0)
            kind = random() % 9;
        time += random() % 40 == 0 ? static_cast<std::int64_t>(random()) / 4 : 1000 + static_cast<int>(random() % 3);
        SegmentRow row{0, Quality::Good, {}, time, -1, 0};
        switch (kind) {
        case 0: row.value = Value(static_cast<std::int64_t>(random())); break;
        case 1: row.value = Value(random()); break;
        case 2: row.value = Value::fromBits(ValueType::Double, random() & 0xBFFF'FFFF'FFFF'FFFF); break;
        case 3: row.value = Value(static_cast<double>(random() % 1000) / 10.0); break;
        case 4: row.value = Value(random() % 2 == 0); break;
        case 5:
            row.value = Value(QByteArray(static_cast<qsizetype>(random() % 300), static_cast<char>(random())));
            break;
        case 6: row.quality = static_cast<Quality>(0x80 + random() % 10); break;
        case 7: row.value = Value(static_cast<std::int64_t>(random() % 100)); break;
        default:
            row.value =
                Value(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0xBF7F'FFFF))));
            break;
        }
        if (random() % 7 == 0) {
            row.trigger = static_cast<std::int32_t>(random() % 100);
            row.run = random();
        }
        rows.push_back(row);
    }
    return rows;
}
} // namespace

class BlocksTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void columnsComeBack_data();
    void columnsComeBack();
    void rowsComeBack();
    void damageIsNoticed();
    void cutIntoBlocksOfAPageQuarter();
    void memoryTableComesBack();
    void memoryIsNotFullOfSeriesAlone();
    void bucketsAreThoseOfASecondAlgorithm();
    void daysAreThoseOfTheZone_data();
    void daysAreThoseOfTheZone();
};

void BlocksTest::columnsComeBack_data()
{
    QTest::addColumn<Patterns>("values");
    QTest::addColumn<double>("mostBytes"); // a value, as integers and as doubles alike; 0: not said
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> unit(0, 1);
    const std::uint64_t kLowest = 1ULL << 63U;
    QTest::newRow("one") << Patterns{42} << 0.0;
    QTest::newRow("constant") << Patterns(3600, patternOf(-1.3)) << 0.01;
    QTest::newRow("extremes") << Patterns{0, ~0ULL, kLowest, kLowest - 1, 1, ~0ULL, kLowest} << 0.0;
    QTest::newRow("times") << make(3600, [&](int i) { return 1'785'542'400'000 + 1000ULL * static_cast<unsigned>(i); })
                           << 0.1;
    QTest::newRow("counter") << make(3600, [&](int i) { return 5'000'000ULL + 7U * static_cast<unsigned>(i); }) << 0.1;
    QTest::newRow("zeros of both signs") << Patterns{patternOf(0.0), patternOf(-0.0), patternOf(0.0)} << 0.0;
    QTest::newRow("not finite") << Patterns{patternOf(HUGE_VAL), patternOf(std::nan("")), patternOf(-HUGE_VAL)} << 0.0;
    QTest::newRow("random patterns") << make(3600, [&](int) { return random(); }) << 8.2;
    double walk = 230;
    QTest::newRow("tenths") << make(3600, [&](int) {
        walk += unit(random) - 0.5;
        return patternOf(std::round(walk * 10) / 10);
    }) << 0.0;
    QTest::newRow("tenths by scale") << make(3600, [&](int) {
        return patternOf(static_cast<double>(random() % 5000) * 0.1);
    }) << 0.0;
    QTest::newRow("float noise") << make(3600, [&](int) {
        return patternOf(static_cast<double>(static_cast<float>(unit(random) * 100 - 50)));
    }) << 0.0;
    QTest::newRow("double noise") << make(3600, [&](int) { return patternOf(unit(random) * 100); }) << 8.0;
    QTest::newRow("seldom another") << make(3600, [&](int i) { return i % 100 == 0 ? random() : 17; }) << 8.2;
    QTest::newRow("runs") << make(3600, [&](int i) { return patternOf(std::sin(i / 200)); }) << 0.1;
}

void BlocksTest::columnsComeBack()
{
    QFETCH(Patterns, values);
    QFETCH(double, mostBytes);
    for (const bool isDouble : {false, true}) {
        QByteArray packed("x");
        isDouble ? packDoubles(values, packed) : packIntegers(values, packed);
        if (mostBytes > 0)
            QVERIFY2(static_cast<double>(packed.size()) <= mostBytes * static_cast<double>(values.size()) + 20,
                     qPrintable(QString::number(packed.size())));
        packed.append("y");
        FieldReader in(QByteArrayView(packed).sliced(1));
        Patterns read;
        QVERIFY(isDouble ? unpackDoubles(in, values.size(), read) : unpackIntegers(in, values.size(), read));
        QVERIFY(read == values);
        QCOMPARE(in.byte(), std::uint8_t('y'));
        QVERIFY(in.atEnd());
        // Cut anywhere it is either noticed or, at a border, the count does not fit.
        for (qsizetype size = 1; size < packed.size() - 1; size += 1 + packed.size() / 50) {
            FieldReader torn(QByteArrayView(packed).sliced(1, size - 1));
            QVERIFY(!(isDouble ? unpackDoubles(torn, values.size(), read) : unpackIntegers(torn, values.size(), read)));
        }
    }
}

void BlocksTest::rowsComeBack()
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const auto rows = randomRows(random, 1 + random() % 500);
        std::vector<SegmentRow> read{{}};
        QVERIFY(unpackRows(packRows(rows), 7, read));
        QCOMPARE(read[1].series, 7U);
        read.erase(read.begin());
        QVERIFY(areSame(read, rows));
    }
}

void BlocksTest::damageIsNoticed()
{
    std::mt19937_64 random(2);
    const auto rows = randomRows(random, 200);
    const QByteArray block = packRows(rows);
    std::vector<SegmentRow> read;
    for (qsizetype at = 0; at < block.size(); ++at) {
        QByteArray bad = block;
        bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
        QVERIFY(!unpackRows(bad, 0, read));
        QVERIFY(!unpackRows(QByteArrayView(block).first(at), 0, read));
    }
    // Also where the CRC is right, as in a file made on purpose, nothing is read beyond the block and nothing hangs.
    for (int round = 0; round < 20'000; ++round) {
        const auto below = [&](qsizetype n) {
            return static_cast<qsizetype>(random() % static_cast<std::uint64_t>(n));
        };
        QByteArray bad = block.first(6 + below(block.size() - 5));
        for (int hits = 0; hits < 3; ++hits)
            bad[5 + below(bad.size() - 5)] = static_cast<char>(random());
        endBlock(bad);
        static_cast<void>(unpackRows(bad, 0, read));
        std::vector<HistoryBucket> buckets;
        bad[4] = 2;
        endBlock(bad);
        static_cast<void>(unpackBuckets(bad, buckets));
        read.clear();
    }
}

void BlocksTest::cutIntoBlocksOfAPageQuarter()
{
    std::mt19937_64 random(3);
    for (const std::size_t count : {1, 100, 20'000}) {
        auto rows = randomRows(random, count);
        const auto blocks = packBlocks(rows);
        std::vector<SegmentRow> read;
        std::size_t sum = 0;
        for (const PackedBlock &block : blocks) {
            QVERIFY(block.data.size() < 4'100 || block.count == 1);
            QVERIFY(unpackRows(block.data, 0, read));
            QCOMPARE(read[sum].timeMs, block.t0);
            sum += block.count;
            QCOMPARE(read.size(), sum);
            QCOMPARE(read.back().timeMs, block.t1);
        }
        QVERIFY(areSame(read, rows));
    }
}

// 100,000 series had filled the memory with one row each: every batch became blocks of one row, and a segment of its own.
void BlocksTest::memoryIsNotFullOfSeriesAlone()
{
    constexpr std::size_t kBudget = 6 << 20;
    const auto rowsUntilFull = [](std::uint32_t series) {
        MemoryTable table;
        std::mt19937_64 random(series);
        for (std::int64_t second = 0;; ++second) {
            for (std::uint32_t s = 0; s < series; ++s) {
                if (table.isFull(kBudget))
                    return table.rows();
                table.add({s, Quality::Good, Value(static_cast<double>(random())), 1'000 * second, -1, 0});
            }
        }
    };
    QVERIFY(rowsUntilFull(100'000) >= 1'000'000); // ten rows of each, noise as they are
    const std::uint64_t few = rowsUntilFull(50);
    QVERIFY2(few > kBudget / 20 && few < kBudget / 4, qPrintable(QString::number(few))); // the budget alone decides
}

void BlocksTest::memoryTableComesBack()
{
    std::mt19937_64 random(4);
    MemoryTable table;
    std::vector<std::vector<SegmentRow>> expected(50);
    for (auto &row : randomRows(random, 50'000)) {
        row.series = static_cast<std::uint32_t>(random() % 49); // the last one stays empty
        table.add(row);
        expected[row.series].push_back(row);
    }
    QCOMPARE(table.rows(), std::uint64_t(50'000));
    for (std::uint32_t series = 0; series < expected.size(); ++series) {
        const auto packed = table.series(series);
        std::vector<SegmentRow> read;
        MemoryTable::unpack(packed, series, read);
        QVERIFY(areSame(read, expected[series]));
        for (const SegmentRow &row : read)
            QVERIFY(row.timeMs >= packed.firstMs && row.timeMs <= packed.lastMs && row.series == series);
    }
    QCOMPARE(table.series(1'000).rows, 0U);
}

// Against sums made per bucket in one go, by integer division of the times.
void BlocksTest::bucketsAreThoseOfASecondAlgorithm()
{
    std::mt19937_64 random(6);
    std::vector<SegmentRow> rows;
    for (int i = 0; i < 20'000; ++i)
        rows.push_back({0, i % 11 == 0 ? Quality::BadDeviceFailure : Quality::Good,
                        i % 13 == 0 ? Value() : Value(static_cast<double>(random() % 1000) / 8.0),
                        1'785'542'400'000 + static_cast<std::int64_t>(random() % 7'200'000), -1, 0});
    std::vector<HistoryBucket> buckets;
    RollupBorders borders(RollupStep::Minute, QTimeZone::utc());
    // In parts and out of order: what was rolled up apart adds up.
    for (std::size_t at = 0; at < rows.size(); at += 1'000)
        addRows(std::span(rows).subspan(at, 1'000), borders, buckets);
    std::vector<HistoryBucket> read;
    QVERIFY(unpackBuckets(packBuckets(buckets), read));
    QCOMPARE(read.size(), std::size_t(120));
    for (std::size_t b = 0; b < read.size(); ++b) {
        std::vector<const SegmentRow *> all, numbers;
        for (const SegmentRow &row : rows) {
            if ((row.timeMs - 1'785'542'400'000) / 60'000 != static_cast<std::int64_t>(b))
                continue;
            all.push_back(&row);
            if (row.quality == Quality::Good && !row.value.isNull())
                numbers.push_back(&row);
        }
        const auto byTime = [](auto *x, auto *y) { return x->timeMs < y->timeMs; };
        const auto byValue = [](auto *x, auto *y) { return x->value.real() < y->value.real(); };
        double sum = 0; // eighths: exact in any order
        for (const SegmentRow *row : numbers)
            sum += row->value.real();
        QCOMPARE(read[b].startMs, 1'785'542'400'000 + 60'000 * static_cast<std::int64_t>(b));
        QCOMPARE(read[b].endMs - read[b].startMs, std::int64_t(60'000));
        QCOMPARE(read[b].count, all.size());
        QCOMPARE(read[b].good, std::uint64_t(std::count_if(all.begin(), all.end(), [](auto *r) {
                     return r->quality == Quality::Good;
                 })));
        QCOMPARE(read[b].numbers, numbers.size());
        QCOMPARE(read[b].sum, sum);
        QCOMPARE(read[b].min, (*std::min_element(numbers.begin(), numbers.end(), byValue))->value.real());
        QCOMPARE(read[b].max, (*std::max_element(numbers.begin(), numbers.end(), byValue))->value.real());
        QCOMPARE(read[b].firstMs, (*std::min_element(numbers.begin(), numbers.end(), byTime))->timeMs);
        QCOMPARE(read[b].lastMs, (*std::max_element(numbers.begin(), numbers.end(), byTime))->timeMs);
    }
}

// Hours of the day of the change and of the day after it, written down from the tz database.
void BlocksTest::daysAreThoseOfTheZone_data()
{
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<qint64>("startMs"); // of the day, UTC
    QTest::addColumn<double>("hours");
    QTest::newRow("Vienna, end of summer time")
        << QByteArray("Europe/Vienna") << 1'792'879'200'000LL << 25.0; // 2026-10-24T22:00Z
    QTest::newRow("Vienna, begin of summer time")
        << QByteArray("Europe/Vienna") << 1'774'738'800'000LL << 23.0;                              // 2026-03-28T23:00Z
    QTest::newRow("Lord Howe") << QByteArray("Australia/Lord_Howe") << 1'775'307'600'000LL << 24.5; // 2026-04-04T13:00Z
    QTest::newRow("Kathmandu") << QByteArray("Asia/Kathmandu") << 1'785'521'700'000LL << 24.0;      // 2026-07-31T18:15Z
    QTest::newRow("UTC") << QByteArray("UTC") << 1'785'542'400'000LL << 24.0;
}

void BlocksTest::daysAreThoseOfTheZone()
{
    QFETCH(QByteArray, zone);
    QFETCH(qint64, startMs);
    QFETCH(double, hours);
    RollupBorders borders(RollupStep::Day, QTimeZone(zone));
    const auto endMs = startMs + static_cast<qint64>(hours * 3'600'000);
    for (const qint64 inside : {startMs, startMs + 1, (startMs + endMs) / 2, endMs - 1}) {
        const auto span = borders.at(inside);
        QCOMPARE(span.startMs, startMs);
        QCOMPARE(span.endMs, endMs);
    }
    QCOMPARE(borders.at(endMs).startMs, endMs);
    QCOMPARE(borders.at(startMs - 1).endMs, startMs);
}

QTEST_APPLESS_MAIN(BlocksTest)
#include "tst_blocks.moc"
