// SPDX-License-Identifier: Apache-2.0
// RowBlock: rows of one series, packed by columns: what the embedded store keeps for good. docs/store-format.md is the
// byte layout. Pure; any thread.
#pragma once

#include "core/history/segment.h"

namespace gridloom {

inline constexpr std::size_t kMostBlockRows = 1'200;

/// Packs 1 to kMostBlockRows rows in the order they stand in; `series` is not kept, and every value comes back to
/// the last bit.
QByteArray packRows(std::span<const SegmentRow> rows);
/// Appends the rows of a block to `rows`, each with that series number. False, with `rows` as it was, when the block is
/// damaged.
bool unpackRows(QByteArrayView block, std::uint32_t series, std::vector<SegmentRow> &rows);

/// A block and what its key says.
struct PackedBlock {
    std::int64_t t0 = 0, t1 = 0; ///< earliest and latest time
    std::size_t count = 0;
    QByteArray data;
};
/// Packs rows in order of time into as many blocks as keep each near 4 kB: a page of the database then has little room
/// left over.
std::vector<PackedBlock> packBlocks(std::span<const SegmentRow> rows);

/// Starts a block of its own kind: CRC (filled in by endBlock()), version, count. For RowBlock and RollupBlock.
void beginBlock(QByteArray &out, std::uint8_t kind, std::size_t count);
void endBlock(QByteArray &out);
/// The fields after the count; isOk() is false when CRC or kind are wrong.
FieldReader openBlock(QByteArrayView block, std::uint8_t kind, std::size_t &count);

} // namespace gridloom
