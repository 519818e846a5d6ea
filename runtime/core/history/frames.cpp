// SPDX-License-Identifier: Apache-2.0
#include "core/history/frames.h"

#include "core/history/crc32.h"

#include <QtEndian>

#include <algorithm>
#include <array>

namespace gridloom {

namespace {
constexpr qsizetype kMagicSize = 8;
constexpr qsizetype kCrcOffset = 4;
constexpr qsizetype kKindOffset = 8;

template<typename Int>
void appendLittleEndian(QByteArray &out, Int v)
{
    std::array<char, sizeof(Int)> raw{};
    qToLittleEndian(v, raw.data());
    out.append(raw.data(), raw.size());
}
} // namespace

QByteArray fileHeader(QByteArrayView magic, std::uint16_t version)
{
    Q_ASSERT(magic.size() == kMagicSize);
    QByteArray header = magic.toByteArray();
    appendLittleEndian(header, version);
    appendLittleEndian(header, std::uint16_t{0});
    appendLittleEndian(header, crc32(header));
    return header;
}

bool hasFileHeader(QByteArrayView file, QByteArrayView magic, std::uint16_t version)
{
    return file.first(std::min(file.size(), kFileHeaderSize)) == QByteArrayView(fileHeader(magic, version));
}

void FrameWriter::begin(std::uint8_t kind)
{
    m_start = m_out.size();
    m_out.append(kKindOffset, '\0');
    byte(kind);
}

void FrameWriter::end()
{
    const auto covered = QByteArrayView(m_out).sliced(m_start + kKindOffset);
    Q_ASSERT(covered.size() - 1 <= qsizetype{kMaxFrameLength});
    const std::uint32_t crc = crc32(covered);
    char *const header = m_out.data() + m_start;
    qToLittleEndian(static_cast<std::uint32_t>(payloadSize()), header);
    qToLittleEndian(crc, header + kCrcOffset);
}

void FrameWriter::fixed64(std::uint64_t v)
{
    appendLittleEndian(m_out, v);
}

void FrameWriter::varint(std::uint64_t v)
{
    std::array<char, 10> raw{};
    qsizetype n = 0;
    for (; v >= 0x80; v >>= 7U)
        raw[n++] = static_cast<char>(v | 0x80U);
    raw[n++] = static_cast<char>(v);
    m_out.append(raw.data(), n);
}

void FrameWriter::signedVarint(std::int64_t v)
{
    varint((static_cast<std::uint64_t>(v) << 1U) ^ static_cast<std::uint64_t>(v >> 63));
}

void FrameWriter::bytes(QByteArrayView v)
{
    varint(static_cast<std::uint64_t>(v.size()));
    m_out.append(v.data(), v.size());
}

void FrameWriter::text(QStringView v)
{
    // ASCII, which nearly all names and states are, needs no conversion buffer.
    const bool isAscii = std::all_of(v.begin(), v.end(), [](QChar c) { return c.unicode() < 0x80; });
    if (!isAscii)
        return bytes(v.toUtf8());
    varint(static_cast<std::uint64_t>(v.size()));
    for (const QChar c : v)
        m_out.append(static_cast<char>(c.unicode()));
}

QByteArrayView FieldReader::take(std::uint64_t n)
{
    if (!m_ok || n > static_cast<std::uint64_t>(m_left.size())) {
        m_ok = false;
        m_left = {};
        return {};
    }
    const QByteArrayView taken = m_left.first(static_cast<qsizetype>(n));
    m_left = m_left.sliced(taken.size());
    return taken;
}

std::uint8_t FieldReader::byte()
{
    const QByteArrayView raw = take(1);
    return raw.isEmpty() ? 0 : static_cast<std::uint8_t>(raw.front());
}

std::uint64_t FieldReader::fixed64()
{
    const QByteArrayView raw = take(8);
    return raw.isEmpty() ? 0 : qFromLittleEndian<std::uint64_t>(raw.data());
}

std::uint64_t FieldReader::varint()
{
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t part = byte();
        if (shift == 63 && part > 1)
            break; // more than 64 bits
        v |= static_cast<std::uint64_t>(part & 0x7FU) << shift;
        if ((part & 0x80U) == 0)
            return m_ok ? v : 0;
    }
    m_ok = false;
    return 0;
}

std::int64_t FieldReader::signedVarint()
{
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>((v >> 1U) ^ (~(v & 1U) + 1U));
}

QByteArrayView FieldReader::bytes()
{
    return take(varint());
}

FrameReader::FrameReader(QByteArrayView file, std::uint8_t highestKind, qsizetype offset)
    : m_file(file), m_at(std::min(offset, file.size())), m_highestKind(highestKind)
{
}

bool FrameReader::readAt(qsizetype offset, Frame &frame) const
{
    if (m_file.size() - offset < kFrameHeaderSize)
        return false;
    const char *const header = m_file.data() + offset;
    const auto kind = static_cast<std::uint8_t>(header[kKindOffset]);
    const auto length = qFromLittleEndian<std::uint32_t>(header);
    if (kind < 1 || kind > m_highestKind || length > kMaxFrameLength
        || m_file.size() - offset - kFrameHeaderSize < qsizetype{length})
        return false;
    if (crc32({header + kKindOffset, qsizetype{length} + 1}) != qFromLittleEndian<std::uint32_t>(header + kCrcOffset))
        return false;
    frame = {kind, {header + kFrameHeaderSize, qsizetype{length}}, offset, offset + kFrameHeaderSize + length};
    return true;
}

bool FrameReader::next(Frame &frame)
{
    const qsizetype expected = m_at;
    // Nearly every wrong offset fails the test of kind and length, before any CRC is computed.
    for (qsizetype offset = expected; offset < m_file.size(); ++offset) {
        if (!readAt(offset, frame))
            continue;
        m_at = frame.end;
        if (offset != expected) {
            m_damagedBytes += offset - expected;
            m_firstDamage = m_firstDamage < 0 ? expected : m_firstDamage;
        }
        return true;
    }
    m_at = m_file.size();
    const QByteArrayView rest = m_file.sliced(expected);
    const auto lastUsed = std::find_if(rest.rbegin(), rest.rend(), [](char c) { return c != '\0'; });
    if (lastUsed != rest.rend()) {
        m_damagedBytes += rest.rend() - lastUsed;
        m_firstDamage = m_firstDamage < 0 ? expected : m_firstDamage;
    }
    return false;
}

} // namespace gridloom
