// SPDX-License-Identifier: Apache-2.0
// MemoryTable: rows of many series in memory, a few bytes each, in the order in which they came. Pure; not thread-safe,
// but a table that no longer changes may be read by any number of threads.
#pragma once

#include "core/history/segment.h"

#include <algorithm>
#include <memory>

namespace gridloom {

class MemoryTable {
public:
    /// `row.series` and `row.trigger` are the caller's numbers; series should be dense.
    void add(const SegmentRow &row);

    std::uint64_t rows() const { return m_rows; }
    /// Memory in use.
    std::size_t bytes() const { return m_chunks * kChunkSize + m_streams.size() * sizeof(Stream); }
    /// Whether it is time to pack it: `budget` bytes are in use, and with many series also some rows of each are in. A
    /// block of one row a series would be nothing but overhead.
    bool isFull(std::size_t budget) const
    {
        return bytes() >= std::max(budget, m_streams.size() * (sizeof(Stream) + kLeastChunks * kChunkSize));
    }
    /// One above the highest series number.
    std::uint32_t seriesEnd() const { return static_cast<std::uint32_t>(m_streams.size()); }

    /// The rows of one series, cut out so that they can be unpacked without the table.
    struct Packed {
        QByteArray bytes;
        std::uint32_t rows = 0;
        std::int64_t firstMs = 0, lastMs = 0; ///< earliest and latest time
    };
    Packed series(std::uint32_t series) const;
    /// Appends the rows, each with that series number.
    static void unpack(const Packed &packed, std::uint32_t series, std::vector<SegmentRow> &rows);

private:
    static constexpr std::size_t kChunkSize = 128; // a link of 4 bytes and what it holds
    static constexpr std::size_t kLinkSize = 4;
    static constexpr std::size_t kSlabChunks = 2'048;
    static constexpr std::size_t kLeastChunks = 2; // of each series on the average: about 50 rows at 1 s
    struct Stream {
        std::uint32_t firstChunk = 0, lastChunk = 0;
        std::uint32_t rows = 0;
        std::uint32_t bytes = 0;
        std::int64_t firstMs = 0, lastMs = 0;
        // What the next row is written as a difference to.
        std::int64_t timeMs = 0, deltaMs = 0;
        std::uint64_t bits = 0;
        std::uint16_t label = 0;
    };

    char *chunk(std::uint32_t number) const
    {
        return m_slabs[number / kSlabChunks].get() + (number % kSlabChunks) * kChunkSize;
    }
    std::uint32_t addChunk();
    void write(Stream &stream, QByteArrayView bytes);

    std::vector<std::unique_ptr<char[]>> m_slabs;
    std::uint32_t m_chunks = 0;
    std::vector<Stream> m_streams;
    std::uint64_t m_rows = 0;
    QByteArray m_buffer; // of one row
};

} // namespace gridloom
