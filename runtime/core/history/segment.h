// SPDX-License-Identifier: Apache-2.0
// Segment: the format of a history file (".gls"), encoded and decoded. Frames of three kinds: tables (what the numbers
// of series and triggers mean from here on), rows, and a summary at the end of a full segment. A segment can be read
// without any other file. docs/store-format.md is the byte layout. Pure: bytes in, bytes out; any thread, no I/O.
#pragma once

#include "core/history/frames.h"
#include "core/quality.h"
#include "core/value.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gridloom {

/// What one series number means; UTF-8.
struct SegmentSeries {
    QByteArray id; ///< "device-id.point-id", stable
    QByteArray name;
    QByteArray unit;
    friend bool operator==(const SegmentSeries &, const SegmentSeries &) = default;
};

/// The meaning of all numbers in the rows that name this table.
struct SegmentTables {
    std::vector<SegmentSeries> series; ///< index = series number
    std::vector<QByteArray> triggers;  ///< index = trigger number; trigger ids
    friend bool operator==(const SegmentTables &, const SegmentTables &) = default;
};

struct SegmentRow {
    std::uint32_t series = 0;
    Quality quality = Quality::Good;
    Value value;
    std::int64_t timeMs = 0;   ///< UTC, milliseconds since 1970
    std::int32_t trigger = -1; ///< trigger number of a row that a trigger wrote, else -1
    std::uint64_t run = 0;     ///< its run number
};

/// The row as it is stored: a non-finite double becomes null, with quality BadOutOfRange unless it is bad already.
void makeStorable(SegmentRow &row);

struct SegmentSummary {
    std::uint64_t rows = 0;
    std::int64_t firstMs = std::numeric_limits<std::int64_t>::max(); ///< earliest time of a row
    std::int64_t lastMs = std::numeric_limits<std::int64_t>::min();  ///< latest time of a row; < firstMs: no rows
    void include(std::int64_t timeMs);
};

/// The 16 bytes that every segment starts with.
QByteArray segmentHeader();
bool isSegment(QByteArrayView file);

/// Appends frames to a buffer that the caller owns and may reuse.
class SegmentEncoder {
public:
    explicit SegmentEncoder(QByteArray &out) : m_frames(out) {}

    /// `table` names these tables within the segment; rows that follow refer to it.
    void tables(std::uint64_t table, const SegmentTables &tables);
    /// Rows between beginRows() and endRows() go into frames of about 256 kB.
    void beginRows(std::uint64_t table);
    /// The row is storable.
    void row(const SegmentRow &row);
    void endRows();
    void summary(const SegmentSummary &summary);

private:
    FrameWriter m_frames;
    std::uint64_t m_table = 0;
    std::int64_t m_lastMs = 0;
};

/// Reads a segment item by item: `while ((item = reader.next()) != Item::End)`. Damaged stretches are skipped, and so
/// are rows whose tables were lost with them: a row is never shown under a wrong name.
class SegmentReader {
public:
    enum class Item : std::uint8_t { Tables, Row, Summary, End };

    /// `file` is the whole segment and outlives the reader. A wrong header reads as a segment damaged from offset 0.
    explicit SegmentReader(QByteArrayView file);

    Item next();
    const SegmentRow &row() const { return m_row; }
    /// Of the current row.
    const SegmentTables &tables() const { return m_tables; }
    std::uint64_t tableNumber() const { return m_table; }
    const SegmentSummary &summary() const { return m_summary; }
    /// The frame that the item came from.
    const Frame &frame() const { return m_frame; }

    /// Offset of the first damage; -1: none so far.
    qsizetype firstDamage() const;
    /// Bytes that could not be read, frames that make no sense included.
    qsizetype damagedBytes() const { return m_frames.damagedBytes() + m_senselessBytes; }

    /// The summary that a full segment ends with, from its last bytes alone; false when there is none.
    static bool summaryAtEnd(QByteArrayView tail, SegmentSummary &summary);
    /// Bytes of the file's end that summaryAtEnd() needs.
    static constexpr qsizetype kSummarySize = kFrameHeaderSize + 24;

private:
    bool readTables();
    bool readRow();
    void rejectFrame();

    FrameReader m_frames;
    Frame m_frame;
    FieldReader m_rows{QByteArrayView()};
    SegmentTables m_tables;
    SegmentRow m_row;
    SegmentSummary m_summary;
    std::uint64_t m_table = 0;
    qsizetype m_senselessBytes = 0;
    qsizetype m_firstSenseless = -1;
    bool m_hasTables = false;
    bool m_inRows = false;
};

/// What can be read of a damaged segment, as a segment: whole frames, without summaries.
QByteArray salvageSegment(QByteArrayView file);

} // namespace gridloom
