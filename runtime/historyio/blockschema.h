// SPDX-License-Identifier: Apache-2.0
// The tables of history.db, where an embedded store keeps its blocks. docs/store-format.md describes them for others.
#pragma once

#include "core/history/bucket.h"

#include <array>
#include <cstdint>

namespace gridloom {

inline constexpr const char *kBlocksFile = "history.db";
inline constexpr int kBlocksVersion = 1;

/// Kinds of blocks: rows, and a roll-up of each step. Each has a table of its own, so that blocks are only ever appended
/// at the end of one.
enum class BlockKind : std::uint8_t { Rows, Minutes, QuarterHours, Hours, Days };
inline constexpr std::size_t kBlockKinds = 1 + kRollupSteps;
inline constexpr std::array<const char *, kBlockKinds> kBlockTables{"row_blocks", "minute_blocks",
                                                                    "quarter_hour_blocks", "hour_blocks", "day_blocks"};
constexpr BlockKind blockKindOf(RollupStep step)
{
    return static_cast<BlockKind>(static_cast<int>(step) + 1);
}

/// The key of a block: blocks of a group lie together, in it those of a series.
inline constexpr int kSeriesBits = 24;
inline constexpr int kPlaceBits = 15;
inline constexpr std::int64_t kMostSeries = std::int64_t{1} << kSeriesBits;
inline constexpr std::int64_t kMostPlaces = std::int64_t{1} << kPlaceBits;
constexpr std::int64_t blockKey(std::int64_t group, std::int64_t series, std::int64_t place)
{
    return ((group << kSeriesBits) | series) << kPlaceBits | place;
}

inline constexpr const char *kBlockTablesSql =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE series(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, unit TEXT NOT NULL);"
    "CREATE TABLE triggers(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);"
    "CREATE TABLE segments(number INTEGER PRIMARY KEY);"
    "CREATE TABLE groups(kind INTEGER NOT NULL, number INTEGER NOT NULL, segment INTEGER NOT NULL,"
    " first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, count INTEGER NOT NULL, dropped INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, PRIMARY KEY(kind, number)) WITHOUT ROWID;"
    "CREATE TABLE row_blocks(key INTEGER PRIMARY KEY, t0 INTEGER, t1 INTEGER, count INTEGER, data BLOB);"
    "CREATE TABLE minute_blocks(key INTEGER PRIMARY KEY, t0 INTEGER, t1 INTEGER, count INTEGER, data BLOB);"
    "CREATE TABLE quarter_hour_blocks(key INTEGER PRIMARY KEY, t0 INTEGER, t1 INTEGER, count INTEGER, data BLOB);"
    "CREATE TABLE hour_blocks(key INTEGER PRIMARY KEY, t0 INTEGER, t1 INTEGER, count INTEGER, data BLOB);"
    "CREATE TABLE day_blocks(key INTEGER PRIMARY KEY, t0 INTEGER, t1 INTEGER, count INTEGER, data BLOB);"
    "CREATE TABLE damaged_blocks(kind INTEGER, key INTEGER, t0 INTEGER, t1 INTEGER, count INTEGER, data BLOB,"
    " PRIMARY KEY(kind, key));";

/// What was written by one compaction: visible as a whole or not at all.
struct BlockGroup {
    std::int64_t number = 0;
    std::int64_t segment = 0; ///< the highest segment in it: of two groups the one with the higher has the newer rows
    std::int64_t firstMs = 0, lastMs = 0;
    std::int64_t count = 0;   ///< rows or buckets
    std::int64_t dropped = 0; ///< rows that were stored before: not kept a second time
    std::int64_t bytes = 0;
};

} // namespace gridloom
