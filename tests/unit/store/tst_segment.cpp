// SPDX-License-Identifier: Apache-2.0
#include "core/history/crc32.h"
#include "core/history/segment.h"

#include <QTest>

#include <limits>
#include <random>

using namespace gridloom;

namespace {
constexpr std::int64_t kTime = 1785542400123; // 2026-08-01T00:00:00.123Z

// Made by a Python script from docs/store-format.md with zlib.crc32 and struct: two series, one trigger, the six rows
// of sampleRows() and a summary.
const QByteArray kReference = QByteArray::fromHex(
    "474c484953544f5201000000c69b721423000000b2f930cf010102086d65746572312e700150026b5703612e62075ac3a468"
    "6c657200010474726967400000007d3dacef0201000400f6e1f6a9f767cdccccccccccf4bf01034000ffffffffffffffffff"
    "0101820001818080808080802000ac020000830400010000010105000003cea90018000000b4e4a7de030600000000000000"
    "7ad89eba9f0100007cd89eba9f010000");

SegmentTables sampleTables()
{
    return {{{"meter1.p", "P", "kW"}, {"a.b", "Z\xC3\xA4hler", ""}}, {"trig"}};
}

std::vector<SegmentRow> sampleRows()
{
    return {
        {0, Quality::Good, Value(-1.3), kTime, -1, 0},
        {1, Quality::UncertainLastUsable, Value(std::numeric_limits<std::uint64_t>::max()), kTime, -1, 0},
        {1, Quality::Good, Value(std::int64_t{-9007199254740993}), kTime - 1, 0, 300},
        {0, Quality::BadCommunicationError, Value(), kTime + 1, -1, 0},
        {0, Quality::Good, Value(true), kTime + 1, -1, 0},
        {1, Quality::Good, Value(QByteArray("\xCE\xA9\0", 3)), kTime + 1, -1, 0},
    };
}

QByteArray encode(const std::vector<SegmentRow> &rows)
{
    QByteArray out = segmentHeader();
    SegmentEncoder encoder(out);
    encoder.tables(1, sampleTables());
    encoder.beginRows(1);
    SegmentSummary summary;
    for (const SegmentRow &row : rows) {
        encoder.row(row);
        summary.include(row.timeMs);
    }
    encoder.endRows();
    encoder.summary(summary);
    return out;
}

std::vector<SegmentRow> decode(const QByteArray &file, qsizetype *firstDamage = nullptr)
{
    std::vector<SegmentRow> rows;
    SegmentReader reader(file);
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item == SegmentReader::Item::Row)
            rows.push_back(reader.row());
    }
    if (firstDamage != nullptr)
        *firstDamage = reader.firstDamage();
    return rows;
}

bool isSame(const SegmentRow &a, const SegmentRow &b)
{
    return a.series == b.series && a.quality == b.quality && a.value == b.value && a.timeMs == b.timeMs
        && a.trigger == b.trigger && a.run == b.run;
}
bool areSame(const std::vector<SegmentRow> &a, const std::vector<SegmentRow> &b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), isSame);
}
} // namespace

class SegmentTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void crcIsTheStandardOne();
    void bytesAreTheDocumentedOnes();
    void documentedBytesAreRead();
    void extremesComeBack();
    void nonFiniteBecomesNull();
    void tornAtEachByteLosesOnlyTheEnd();
    void flippedByteNeverGivesAWrongRow();
    void rowsNeverMoveToOtherTables();
    void damageInTheMiddleCostsOneFrame();
    void salvagedSegmentIsWhole();
    void noiseIsNoSegment();
};

void SegmentTest::crcIsTheStandardOne()
{
    QCOMPARE(crc32("123456789"), 0xCBF43926U); // check value of the CRC catalogue
    QCOMPARE(crc32(QByteArrayView()), 0U);
    // The eight-bytes-a-step part against the definition, bit by bit.
    QByteArray bytes;
    for (int n = 0; n < 100; ++n) {
        std::uint32_t crc = ~0U;
        for (const char c : std::as_const(bytes)) {
            crc ^= static_cast<std::uint8_t>(c);
            for (int bit = 0; bit < 8; ++bit)
                crc = (crc & 1U) != 0 ? (crc >> 1U) ^ 0xEDB88320U : crc >> 1U;
        }
        QCOMPARE(crc32(bytes), ~crc);
        bytes.append(static_cast<char>(n * 37));
    }
}

void SegmentTest::bytesAreTheDocumentedOnes()
{
    QCOMPARE(encode(sampleRows()).toHex(), kReference.toHex());
}

void SegmentTest::documentedBytesAreRead()
{
    SegmentReader reader(kReference);
    QCOMPARE(reader.next(), SegmentReader::Item::Tables);
    QVERIFY(reader.tables() == sampleTables());
    for (const SegmentRow &expected : sampleRows()) {
        QCOMPARE(reader.next(), SegmentReader::Item::Row);
        QVERIFY(isSame(reader.row(), expected));
    }
    QCOMPARE(reader.next(), SegmentReader::Item::Summary);
    QCOMPARE(reader.next(), SegmentReader::Item::End);
    QCOMPARE(reader.firstDamage(), -1);
    QCOMPARE(reader.damagedBytes(), 0);

    SegmentSummary summary;
    QVERIFY(SegmentReader::summaryAtEnd(kReference.right(SegmentReader::kSummarySize), summary));
    QCOMPARE(summary.rows, std::uint64_t{6});
    QCOMPARE(summary.firstMs, kTime - 1);
    QCOMPARE(summary.lastMs, kTime + 1);
    QVERIFY(!SegmentReader::summaryAtEnd(kReference.chopped(1).right(SegmentReader::kSummarySize), summary));
}

void SegmentTest::extremesComeBack()
{
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    std::vector<SegmentRow> rows;
    for (const std::int64_t time : {std::int64_t{0}, kMin, kMax, std::int64_t{-1}, kMax, kMin}) {
        for (const Value &value : {Value(kMin), Value(kMax), Value(std::uint64_t{1} << 63U), Value(0), Value(-0.0),
                                   Value(std::numeric_limits<double>::denorm_min()), Value(false), Value(QByteArray()),
                                   Value(QByteArray(300'000, 'x'))})
            rows.push_back({1, Quality::BadNoData, value, time, 0, std::numeric_limits<std::uint64_t>::max()});
    }
    const auto read = decode(encode(rows));
    QVERIFY(areSame(read, rows));
    QVERIFY(std::signbit(read[4].value.real())); // -0.0 == 0.0 would hide it
}

// PC-17: a non-finite number is never stored.
void SegmentTest::nonFiniteBecomesNull()
{
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        std::vector<SegmentRow> rows{{0, Quality::Good, Value(bad), kTime, -1, 0},
                                     {0, Quality::BadDeviceFailure, Value(bad), kTime, -1, 0}};
        std::for_each(rows.begin(), rows.end(), makeStorable);
        QVERIFY(rows[0].value.isNull() && rows[1].value.isNull());
        QCOMPARE(rows[0].quality, Quality::BadOutOfRange);
        QCOMPARE(rows[1].quality, Quality::BadDeviceFailure);
    }
}

void SegmentTest::tornAtEachByteLosesOnlyTheEnd()
{
    const auto rows = sampleRows();
    QByteArray file = encode(rows).chopped(SegmentReader::kSummarySize);
    const qsizetype whole = file.size();
    SegmentEncoder encoder(file);
    encoder.beginRows(1);
    for (const SegmentRow &row : rows)
        encoder.row(row);
    encoder.endRows();
    for (qsizetype size = whole; size < file.size(); ++size) {
        qsizetype firstDamage = -2;
        const auto read = decode(file.first(size), &firstDamage);
        QVERIFY(areSame(read, rows));
        QCOMPARE(firstDamage, size == whole ? -1 : whole);
    }
    QCOMPARE(decode(file).size(), 2 * rows.size());
}

void SegmentTest::flippedByteNeverGivesAWrongRow()
{
    const auto rows = sampleRows();
    for (qsizetype at = 0; at < kReference.size(); ++at) {
        for (const int mask : {0x01, 0x80, 0xFF}) {
            QByteArray file = kReference;
            file[at] = static_cast<char>(file[at] ^ mask);
            qsizetype firstDamage = -1;
            const auto read = decode(file, &firstDamage);
            QVERIFY2(firstDamage >= 0 && firstDamage <= at, qPrintable(QString::number(at)));
            QVERIFY(read.empty() || areSame(read, rows));
        }
    }
}

void SegmentTest::rowsNeverMoveToOtherTables()
{
    QByteArray file = encode(sampleRows()).chopped(SegmentReader::kSummarySize);
    const qsizetype second = file.size();
    SegmentEncoder encoder(file);
    encoder.tables(2, {{{"other.x", "X", ""}, {"other.y", "Y", ""}}, {"other"}});
    encoder.beginRows(2);
    for (const SegmentRow &row : sampleRows())
        encoder.row(row);
    encoder.endRows();
    QCOMPARE(decode(file).size(), 2 * sampleRows().size());
    file[second + kFrameHeaderSize + 3] ^= 0x20; // the second tables are lost: so are the rows that need them
    qsizetype firstDamage = -1;
    QVERIFY(areSame(decode(file, &firstDamage), sampleRows()));
    QCOMPARE(firstDamage, second);
}

void SegmentTest::damageInTheMiddleCostsOneFrame()
{
    std::mt19937 random(7);
    QByteArray file = segmentHeader();
    SegmentEncoder encoder(file);
    encoder.tables(1, sampleTables());
    std::vector<qsizetype> begins;
    for (int frame = 0; frame < 50; ++frame) {
        begins.push_back(file.size());
        encoder.beginRows(1);
        for (int i = 0; i < 20; ++i)
            encoder.row({0, Quality::Good, Value(frame * 20 + i), kTime + i, -1, 0});
        encoder.endRows();
    }
    begins.push_back(file.size());
    for (int round = 0; round < 100; ++round) {
        const auto hit = random() % 50;
        QByteArray damaged = file;
        for (qsizetype at = begins[hit]; at < begins[hit + 1]; ++at) // a sector of nonsense
            damaged[at] = static_cast<char>(random());
        qsizetype firstDamage = -1;
        const auto rows = decode(damaged, &firstDamage);
        QCOMPARE(rows.size(), std::size_t{49 * 20});
        QCOMPARE(firstDamage, begins[hit]);
        for (const SegmentRow &row : rows)
            QVERIFY(row.value.int64() / 20 != static_cast<std::int64_t>(hit));
    }
}

void SegmentTest::salvagedSegmentIsWhole()
{
    QByteArray file = encode(sampleRows());
    SegmentEncoder encoder(file);
    encoder.beginRows(9); // of tables that are not there
    encoder.row(sampleRows().front());
    encoder.endRows();
    file += QByteArray(100, '\xFF');
    const QByteArray mended = salvageSegment(file);
    qsizetype firstDamage = 0;
    QVERIFY(areSame(decode(mended, &firstDamage), sampleRows()));
    QCOMPARE(firstDamage, -1);
    QVERIFY(kReference.startsWith(mended));
}

void SegmentTest::noiseIsNoSegment()
{
    std::mt19937 random(11);
    for (const qsizetype size : {0, 1, 15, 16, 17, 1000, 100'000}) {
        for (const bool hasHeader : {false, true}) {
            QByteArray file(size, '\0');
            for (char &c : file)
                c = static_cast<char>(random());
            if (hasHeader)
                file.prepend(segmentHeader());
            qsizetype firstDamage = -1;
            QVERIFY(decode(file, &firstDamage).empty());
            QCOMPARE(firstDamage, !hasHeader ? 0 : size == 0 ? -1 : kFileHeaderSize);
        }
    }
    QCOMPARE(decode(QByteArray(1'000'000, '\0')).size(), std::size_t{0});
    // Zeros at the end are reserved space, zeros with something after them are not.
    qsizetype firstDamage = 0;
    const QByteArray reserved = kReference + QByteArray(100, '\0');
    QVERIFY(areSame(decode(reserved, &firstDamage), sampleRows()));
    QCOMPARE(firstDamage, -1);
    decode(reserved + 'x', &firstDamage);
    QCOMPARE(firstDamage, kReference.size());
}

QTEST_APPLESS_MAIN(SegmentTest)
#include "tst_segment.moc"
