// SPDX-License-Identifier: Apache-2.0
// The format of the records log, encoded and decoded: a file of frames (core/history/frames.h), one record a frame.
// docs/records.md describes it for readers in other languages. Pure: bytes in, bytes out; any thread.
#pragma once

#include "core/history/frames.h"
#include "sdk/records.h"

namespace gridloom {

struct NumberedRecord {
    RecordNumber number = 0;
    Record record;
};

/// The first numbers of each kind that are certainly free. What is written down lies ahead of what was seen, so that
/// numbers which never reached the disk are not given out again after a crash.
struct IdBounds {
    std::uint64_t record = 1;
    std::uint64_t message = 1;
    std::uint64_t run = 1;
    std::uint64_t command = 1;

    /// Raises the bounds above the numbers in a record.
    void include(const NumberedRecord &record);
    void raise(const IdBounds &other);
    /// All four grown by `n`.
    IdBounds plus(std::uint64_t n) const;
    /// Whether some bound is above that of `other`.
    bool exceeds(const IdBounds &other) const;
};

/// What a message is known by: ids are unique within a sink.
using MessageKey = std::pair<QString, std::uint64_t>;

/// Version of the logs that are written; all up to it are read.
inline constexpr std::uint16_t kLogVersion = 2;

/// The 16 bytes that every log starts with.
QByteArray logHeader();
/// Each appends one frame to `out`.
void encodeRecord(QByteArray &out, RecordNumber number, const Record &record);
void encodeBounds(QByteArray &out, const IdBounds &bounds);
/// Replaces the frames of records in `frames` by one frame that holds them compressed, when that is smaller.
void packFrames(QByteArray &frames);

struct LogContents {
    std::vector<NumberedRecord> records; ///< in the order of their numbers
    IdBounds bounds;
    bool hasBounds = false;
    bool isExact = false; ///< an orderly end: the numbers at `bounds` are the next ones, not a reserve ahead of them
    bool isNewer = false; ///< of a version that this one cannot read
    qsizetype firstDamage = -1; ///< offset; -1: none
    qsizetype damagedBytes = 0;
};

/// Everything that can be read; a file with a wrong header, or one of a newer version, is damaged from offset 0.
LogContents readLog(QByteArrayView file);

} // namespace gridloom
