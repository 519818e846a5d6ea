// SPDX-License-Identifier: Apache-2.0
#include "core/history/memorytable.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace gridloom {

namespace {
// The head byte of a row: how many bytes of the value's difference follow, how many low zero bytes were left out of
// it, and whether distance in time and label are those of the row before.
constexpr unsigned kLengthMask = 0x0F;
constexpr unsigned kShiftAt = 4;
constexpr unsigned kHasTime = 0x40;
constexpr unsigned kHasLabel = 0x80;
constexpr std::array<unsigned, 4> kZeroBytes{0, 2, 3, 5};
constexpr unsigned kHasTrigger = 0x80; // in the tag of a label
constexpr unsigned kTypeMask = 0x7F;

std::uint16_t labelOf(const SegmentRow &row)
{
    const unsigned tag = static_cast<unsigned>(row.value.type()) | (row.trigger >= 0 ? kHasTrigger : 0U);
    return static_cast<std::uint16_t>(tag << 8U | static_cast<unsigned>(row.quality));
}

std::uint64_t zigzag(std::uint64_t v)
{
    return (v << 1U) ^ (0 - (v >> 63U));
}
std::uint64_t unzigzag(std::uint64_t v)
{
    return (v >> 1U) ^ (0 - (v & 1U));
}

std::uint64_t difference(ValueType type, std::uint64_t bits, std::uint64_t before)
{
    return type == ValueType::Double ? bits ^ before : zigzag(bits - before);
}
} // namespace

std::uint32_t MemoryTable::addChunk()
{
    if (m_chunks % kSlabChunks == 0)
        m_slabs.push_back(std::make_unique<char[]>(kSlabChunks * kChunkSize));
    return m_chunks++;
}

void MemoryTable::write(Stream &stream, QByteArrayView bytes)
{
    constexpr std::size_t kRoom = kChunkSize - kLinkSize;
    while (!bytes.isEmpty()) {
        const std::size_t used = stream.bytes % kRoom;
        if (used == 0) {
            const std::uint32_t added = addChunk();
            if (stream.bytes == 0)
                stream.firstChunk = added;
            else
                std::memcpy(chunk(stream.lastChunk), &added, kLinkSize);
            stream.lastChunk = added;
        }
        const auto n = std::min<std::size_t>(kRoom - used, static_cast<std::size_t>(bytes.size()));
        std::memcpy(chunk(stream.lastChunk) + kLinkSize + used, bytes.data(), n);
        stream.bytes += static_cast<std::uint32_t>(n);
        bytes = bytes.sliced(static_cast<qsizetype>(n));
    }
}

void MemoryTable::add(const SegmentRow &row)
{
    if (row.series >= m_streams.size())
        m_streams.resize(std::size_t{row.series} + 1);
    Stream &s = m_streams[row.series];
    const std::uint16_t label = labelOf(row);
    const ValueType type = row.value.type();
    // Unsigned: differences of any two times come back by the same wrap-around.
    const auto delta =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(row.timeMs) - static_cast<std::uint64_t>(s.timeMs));

    unsigned head = 0, shift = 0;
    std::uint64_t value = 0;
    if (type == ValueType::Bool) {
        head = row.value.boolean() ? 1 : 0;
    } else if (type != ValueType::Null && type != ValueType::Text) {
        value = difference(type, row.value.bits(), s.bits);
        const unsigned zeros = value == 0 ? 0 : static_cast<unsigned>(std::countr_zero(value)) / 8;
        while (shift + 1 < kZeroBytes.size() && kZeroBytes[shift + 1] <= zeros)
            ++shift;
        value >>= 8 * kZeroBytes[shift];
        head = (static_cast<unsigned>(std::bit_width(value)) + 7) / 8 | shift << kShiftAt;
        s.bits = row.value.bits();
    }
    const unsigned length = type == ValueType::Bool ? 0 : head & kLengthMask;
    head |= (delta != s.deltaMs || s.rows == 0 ? kHasTime : 0U) | (label != s.label || s.rows == 0 ? kHasLabel : 0U);

    m_buffer.resize(0);
    FrameWriter w(m_buffer);
    w.byte(static_cast<std::uint8_t>(head));
    if ((head & kHasTime) != 0)
        w.signedVarint(
            static_cast<std::int64_t>(static_cast<std::uint64_t>(delta) - static_cast<std::uint64_t>(s.deltaMs)));
    if ((head & kHasLabel) != 0) {
        w.byte(static_cast<std::uint8_t>(label >> 8U));
        w.byte(static_cast<std::uint8_t>(label));
    }
    for (unsigned i = 0; i < length; ++i)
        w.byte(static_cast<std::uint8_t>(value >> (8 * i)));
    if (type == ValueType::Text)
        w.bytes(row.value.text());
    if (row.trigger >= 0) {
        w.varint(static_cast<std::uint64_t>(row.trigger));
        w.varint(row.run);
    }
    write(s, m_buffer);

    s.firstMs = s.rows == 0 ? row.timeMs : std::min(s.firstMs, row.timeMs);
    s.lastMs = s.rows == 0 ? row.timeMs : std::max(s.lastMs, row.timeMs);
    s.timeMs = row.timeMs;
    s.deltaMs = delta;
    s.label = label;
    ++s.rows;
    ++m_rows;
}

MemoryTable::Packed MemoryTable::series(std::uint32_t series) const
{
    if (series >= m_streams.size() || m_streams[series].rows == 0)
        return {};
    const Stream &s = m_streams[series];
    Packed packed{{}, s.rows, s.firstMs, s.lastMs};
    packed.bytes.reserve(static_cast<qsizetype>(s.bytes));
    std::uint32_t number = s.firstChunk;
    for (std::size_t left = s.bytes; left > 0;) {
        const std::size_t n = std::min(left, kChunkSize - kLinkSize);
        const char *const from = chunk(number);
        packed.bytes.append(from + kLinkSize, static_cast<qsizetype>(n));
        std::memcpy(&number, from, kLinkSize);
        left -= n;
    }
    return packed;
}

void MemoryTable::unpack(const Packed &packed, std::uint32_t series, std::vector<SegmentRow> &rows)
{
    FieldReader in(packed.bytes);
    std::uint64_t time = 0, delta = 0, bits = 0;
    unsigned tag = 0, quality = 0;
    rows.reserve(rows.size() + packed.rows);
    for (std::uint32_t i = 0; i < packed.rows; ++i) {
        const unsigned head = in.byte();
        if ((head & kHasTime) != 0)
            delta += static_cast<std::uint64_t>(in.signedVarint());
        if ((head & kHasLabel) != 0) {
            tag = in.byte();
            quality = in.byte();
        }
        time += delta;
        SegmentRow &row = rows.emplace_back();
        row.series = series;
        row.quality = static_cast<Quality>(quality);
        row.timeMs = static_cast<std::int64_t>(time);
        const auto type = static_cast<ValueType>(tag & kTypeMask);
        if (type == ValueType::Bool) {
            row.value = Value((head & 1U) != 0);
        } else if (type == ValueType::Text) {
            row.value = Value(in.bytes().toByteArray());
        } else if (type != ValueType::Null) {
            const QByteArrayView raw = in.raw(head & kLengthMask);
            std::uint64_t value = 0;
            for (qsizetype n = raw.size(); n > 0; --n)
                value = value << 8U | static_cast<std::uint8_t>(raw[n - 1]);
            value <<= 8 * kZeroBytes[(head >> kShiftAt) & 3U];
            bits = type == ValueType::Double ? bits ^ value : bits + unzigzag(value);
            row.value = Value::fromBits(type, bits);
        }
        if ((tag & kHasTrigger) != 0) {
            row.trigger = static_cast<std::int32_t>(in.varint());
            row.run = in.varint();
        }
    }
}

} // namespace gridloom
