// SPDX-License-Identifier: Apache-2.0
#include "core/history/rowblock.h"

#include "core/history/columns.h"
#include "core/history/crc32.h"

#include <QtEndian>

#include <array>

namespace gridloom {

namespace {
constexpr std::uint8_t kRowsKind = 1;
constexpr qsizetype kCrcSize = 4;
constexpr std::uint64_t kMostCount = 1U << 20U; // of any block; more is damage
constexpr std::size_t kMostBlockBytes = 4'056;  // four of them fit a page of 16 kB
constexpr std::size_t kGoodBlockBytes = 4'030;
constexpr std::uint8_t kHasTrigger = 0x80;
constexpr std::uint8_t kTypeMask = 0x7F;

std::uint16_t labelOf(const SegmentRow &row)
{
    const auto tag = static_cast<unsigned>(row.value.type()) | (row.trigger >= 0 ? kHasTrigger : 0U);
    return static_cast<std::uint16_t>(tag << 8U | static_cast<unsigned>(row.quality));
}

struct Columns {
    std::vector<std::uint64_t> times;
    // By type: bits of its rows; of texts their lengths.
    std::array<std::vector<std::uint64_t>, 6> values;
    std::vector<std::uint64_t> triggers, runs;
};

void packLabels(std::span<const SegmentRow> rows, FrameWriter &w)
{
    for (std::size_t at = 0; at < rows.size();) {
        const std::uint16_t label = labelOf(rows[at]);
        std::size_t end = at + 1;
        while (end < rows.size() && labelOf(rows[end]) == label)
            ++end;
        w.varint(end - at);
        w.byte(static_cast<std::uint8_t>(label >> 8U));
        w.byte(static_cast<std::uint8_t>(label));
        at = end;
    }
}

// The labels, and how many rows there are of each type and with a trigger.
struct Labels {
    std::vector<std::uint16_t> ofRow;
    std::array<std::size_t, 6> ofType{};
    std::size_t withTrigger = 0;
};

bool unpackLabels(FieldReader &in, std::size_t count, Labels &labels)
{
    labels.ofRow.reserve(count);
    while (labels.ofRow.size() < count) {
        const std::uint64_t n = in.varint();
        const std::uint8_t tag = in.byte();
        const std::uint8_t quality = in.byte();
        const unsigned type = tag & kTypeMask;
        if (!in.isOk() || n < 1 || n > count - labels.ofRow.size() || type >= labels.ofType.size())
            return false;
        labels.ofRow.insert(labels.ofRow.end(), n, static_cast<std::uint16_t>(tag << 8U | quality));
        labels.ofType[type] += n;
        labels.withTrigger += (tag & kHasTrigger) != 0 ? n : 0;
    }
    return true;
}

bool unpackColumns(FieldReader &in, std::size_t count, const Labels &labels, Columns &columns)
{
    if (!unpackIntegers(in, count, columns.times))
        return false;
    for (std::size_t type = 1; type < columns.values.size(); ++type) {
        const bool isRead = static_cast<ValueType>(type) == ValueType::Double
            ? unpackDoubles(in, labels.ofType[type], columns.values[type])
            : unpackIntegers(in, labels.ofType[type], columns.values[type]);
        if (!isRead)
            return false;
    }
    return unpackIntegers(in, labels.withTrigger, columns.triggers)
        && unpackIntegers(in, labels.withTrigger, columns.runs);
}

bool buildRows(FieldReader &in, std::uint32_t series, const Labels &labels, const Columns &columns,
               std::vector<SegmentRow> &rows)
{
    std::array<std::size_t, 6> next{};
    std::size_t nextTrigger = 0;
    for (std::size_t i = 0; i < labels.ofRow.size(); ++i) {
        const unsigned tag = labels.ofRow[i] >> 8U;
        const auto type = static_cast<ValueType>(tag & kTypeMask);
        SegmentRow &row = rows.emplace_back();
        row.series = series;
        row.quality = static_cast<Quality>(labels.ofRow[i] & 0xFFU);
        row.timeMs = static_cast<std::int64_t>(columns.times[i]);
        if (type != ValueType::Null) {
            const std::uint64_t bits = columns.values[tag & kTypeMask][next[tag & kTypeMask]++];
            row.value = type == ValueType::Text ? Value(in.raw(bits).toByteArray()) : Value::fromBits(type, bits);
        }
        if ((tag & kHasTrigger) != 0) {
            row.trigger = static_cast<std::int32_t>(columns.triggers[nextTrigger]);
            row.run = columns.runs[nextTrigger++];
        }
    }
    return in.isOk() && in.atEnd();
}
} // namespace

void beginBlock(QByteArray &out, std::uint8_t kind, std::size_t count)
{
    out.append(kCrcSize, '\0');
    FrameWriter w(out);
    w.byte(kind);
    w.varint(count);
}

void endBlock(QByteArray &out)
{
    qToLittleEndian(crc32(QByteArrayView(out).sliced(kCrcSize)), out.data());
}

FieldReader openBlock(QByteArrayView block, std::uint8_t kind, std::size_t &count)
{
    const bool isWhole =
        block.size() > kCrcSize && qFromLittleEndian<std::uint32_t>(block.data()) == crc32(block.sliced(kCrcSize));
    FieldReader in(isWhole ? block.sliced(kCrcSize) : QByteArrayView());
    const bool isKind = in.byte() == kind;
    count = in.varint();
    if (!isKind || count < 1 || count > kMostCount)
        static_cast<void>(in.raw(kMostCount << 20U)); // leaves it not ok
    return in;
}

QByteArray packRows(std::span<const SegmentRow> rows)
{
    QByteArray out;
    beginBlock(out, kRowsKind, rows.size());
    FrameWriter w(out);
    packLabels(rows, w);
    Columns columns;
    columns.times.reserve(rows.size());
    for (const SegmentRow &row : rows) {
        columns.times.push_back(static_cast<std::uint64_t>(row.timeMs));
        const bool isText = row.value.type() == ValueType::Text;
        columns.values[static_cast<std::size_t>(row.value.type())].push_back(
            isText ? static_cast<std::uint64_t>(row.value.text().size()) : row.value.bits());
        if (row.trigger >= 0) {
            columns.triggers.push_back(static_cast<std::uint64_t>(row.trigger));
            columns.runs.push_back(row.run);
        }
    }
    packIntegers(columns.times, out);
    for (std::size_t type = 1; type < columns.values.size(); ++type) {
        if (static_cast<ValueType>(type) == ValueType::Double)
            packDoubles(columns.values[type], out);
        else
            packIntegers(columns.values[type], out);
    }
    packIntegers(columns.triggers, out);
    packIntegers(columns.runs, out);
    for (const SegmentRow &row : rows) {
        if (row.value.type() == ValueType::Text)
            out.append(row.value.text());
    }
    endBlock(out);
    return out;
}

std::vector<PackedBlock> packBlocks(std::span<const SegmentRow> rows)
{
    std::vector<PackedBlock> blocks;
    std::size_t most = kMostBlockRows;
    while (!rows.empty()) {
        const auto part = rows.first(std::min(most, rows.size()));
        QByteArray data = packRows(part);
        const auto size = static_cast<std::size_t>(data.size());
        if (size > kMostBlockBytes && part.size() > 1) {
            most = std::clamp<std::size_t>(part.size() * kGoodBlockBytes / size, 1, part.size() - 1);
            continue;
        }
        blocks.push_back({part.front().timeMs, part.back().timeMs, part.size(), std::move(data)});
        rows = rows.subspan(part.size());
    }
    return blocks;
}

bool unpackRows(QByteArrayView block, std::uint32_t series, std::vector<SegmentRow> &rows)
{
    std::size_t count = 0;
    FieldReader in = openBlock(block, kRowsKind, count);
    Labels labels;
    Columns columns;
    if (!in.isOk() || !unpackLabels(in, count, labels) || !unpackColumns(in, count, labels, columns))
        return false;
    const std::size_t before = rows.size();
    rows.reserve(before + count);
    if (buildRows(in, series, labels, columns, rows))
        return true;
    rows.resize(before);
    return false;
}

} // namespace gridloom
