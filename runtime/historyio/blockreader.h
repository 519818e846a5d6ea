// SPDX-License-Identifier: Apache-2.0
// BlockReader: reads the blocks of an embedded store (history.db) in a connection of its own, while the store writes.
// One thread at a time; calls block on the disk. Between begin() and end() it sees the file as it was at begin().
#pragma once

#include "core/history/rollup.h"
#include "historyio/blockschema.h"
#include "historyio/sqlite.h"

#include <QHash>

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace gridloom {

/// A block without its content.
struct BlockRef {
    BlockKind kind = BlockKind::Rows;
    std::int64_t key = 0;
    std::int64_t segment = 0; ///< of its group
    std::int64_t t0 = 0, t1 = 0;
    std::int64_t count = 0;
};

/// Segments whose rows are in blocks, as far as they may still lie in the folder.
Result<std::set<std::uint64_t>> readCompactedSegments(const SqliteDatabase &database);

class BlockReader {
public:
    /// Error "store.absent" when there is no such file, "store.version" when a newer version wrote it.
    static Result<BlockReader> open(const QString &path);

    Result<void> begin();
    void end();
    /// Leaves aside, up to the next begin(), groups without anything in [fromMs, toMs).
    Result<void> narrow(BlockKind kind, std::int64_t fromMs, std::int64_t toMs);

    struct SeriesEntry {
        std::int64_t number = 0;
        QByteArray id, name, unit;
    };
    Result<std::vector<SeriesEntry>> series() const;
    /// Number of the series; nothing when no block has it.
    Result<std::optional<std::int64_t>> seriesNumber(const QByteArray &id);
    /// Trigger ids by number.
    Result<QHash<std::int64_t, QByteArray>> triggers() const;
    Result<std::set<std::uint64_t>> compactedSegments();
    Result<std::vector<BlockGroup>> groups(BlockKind kind);
    /// Blocks of a series that touch [fromMs, toMs), ordered by group.
    Result<std::vector<BlockRef>> find(BlockKind kind, std::int64_t series, std::int64_t fromMs, std::int64_t toMs);
    /// Calls `visit` for each block of a kind, ordered by group and series, until it answers false.
    Result<void> each(BlockKind kind, const std::function<bool(const BlockRef &, QByteArrayView block)> &visit);
    /// The content of a block; empty when it is no longer there.
    Result<QByteArray> load(const BlockRef &ref);

    const SqliteDatabase &database() const { return m_database; }

private:
    explicit BlockReader(SqliteDatabase database) : m_database(std::move(database)) {}
    Result<void> prepare();
    Result<std::vector<BlockGroup>> readGroups(BlockKind kind) const;

    SqliteDatabase m_database;
    // Of the snapshot, read when first asked for, and kept while nobody has written.
    std::array<std::optional<std::vector<BlockGroup>>, kBlockKinds> m_groups;
    std::optional<std::set<std::uint64_t>> m_segments;
    std::int64_t m_version = -1;
    bool m_isNarrowed = false;
    std::array<SqliteStatement, kBlockKinds> m_find, m_load;
    SqliteStatement m_seriesNumber;
};

} // namespace gridloom
