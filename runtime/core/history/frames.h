// SPDX-License-Identifier: Apache-2.0
// Frames: the container of history segments and of the records log. A file is a header of 16 bytes and then frames
//   u32 length | u32 CRC-32 of kind and payload | u8 kind | payload of `length` bytes
// with all numbers little endian. docs/store-format.md is the byte layout for readers in other languages.
// Pure: bytes in, bytes out; any thread, no I/O.
#pragma once

#include <QByteArray>
#include <QByteArrayView>
#include <QString>
#include <QStringView>

#include <cstdint>

namespace gridloom {

inline constexpr qsizetype kFileHeaderSize = 16;
inline constexpr qsizetype kFrameHeaderSize = 9;
/// A length above this is damage.
inline constexpr std::uint32_t kMaxFrameLength = 64U << 20U;

/// The header of a file: 8 bytes of magic, u16 version, u16 zero, u32 CRC-32 of these 12 bytes.
QByteArray fileHeader(QByteArrayView magic, std::uint16_t version);
/// Whether `file` starts with exactly that header.
bool hasFileHeader(QByteArrayView file, QByteArrayView magic, std::uint16_t version);

/// Appends frames to a buffer that the caller owns and may reuse. begin(), fields, end().
class FrameWriter {
public:
    explicit FrameWriter(QByteArray &out) : m_out(out) {}

    void begin(std::uint8_t kind);
    /// Fills in length and CRC of the frame begun last.
    void end();
    /// Bytes of payload since begin().
    qsizetype payloadSize() const { return m_out.size() - m_start - kFrameHeaderSize; }

    void byte(std::uint8_t v) { m_out.append(static_cast<char>(v)); }
    void fixed64(std::uint64_t v);
    /// LEB128: seven bits a byte, least significant first, 0x80 set on all but the last; 1 to 10 bytes.
    void varint(std::uint64_t v);
    /// Zigzag: 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
    void signedVarint(std::int64_t v);
    void raw(QByteArrayView v) { m_out.append(v.data(), v.size()); }
    /// Length as varint, then the bytes; QStringView as UTF-8.
    void bytes(QByteArrayView v);
    void text(QStringView v);

private:
    QByteArray &m_out;
    qsizetype m_start = 0;
};

/// Reads the fields of a payload in the order they were written. Past the end, or over a malformed field, everything
/// reads as 0 and isOk() stays false.
class FieldReader {
public:
    explicit FieldReader(QByteArrayView payload) : m_left(payload) {}

    bool isOk() const { return m_ok; }
    bool atEnd() const { return m_left.isEmpty(); }
    std::uint8_t byte();
    std::uint64_t fixed64();
    std::uint64_t varint();
    std::int64_t signedVarint();
    QByteArrayView bytes();                                 ///< points into the payload
    QByteArrayView raw(std::uint64_t n) { return take(n); } ///< points into the payload
    QString text() { return QString::fromUtf8(bytes()); }

private:
    QByteArrayView take(std::uint64_t n);
    QByteArrayView m_left;
    bool m_ok = true;
};

struct Frame {
    std::uint8_t kind = 0;
    QByteArrayView payload; ///< points into the file
    qsizetype begin = 0;    ///< offset of the frame's header
    qsizetype end = 0;
};

/// Walks the frames of a file after its header. What fails its CRC is skipped up to the next whole frame, so that one
/// bad sector costs what lies in it; where nothing whole follows, the walk ends. Zero bytes up to the end of the file
/// are space reserved for frames to come, not damage.
class FrameReader {
public:
    /// Kinds of 1 to `highestKind` are frames; any other byte there is damage.
    FrameReader(QByteArrayView file, std::uint8_t highestKind, qsizetype offset = kFileHeaderSize);

    bool next(Frame &frame);

    /// Offset of the first damage; -1: none so far.
    qsizetype firstDamage() const { return m_firstDamage; }
    /// Bytes that belong to no whole frame.
    qsizetype damagedBytes() const { return m_damagedBytes; }

private:
    bool readAt(qsizetype offset, Frame &frame) const;
    QByteArrayView m_file;
    qsizetype m_at;
    qsizetype m_firstDamage = -1;
    qsizetype m_damagedBytes = 0;
    std::uint8_t m_highestKind;
};

} // namespace gridloom
