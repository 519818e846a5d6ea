// SPDX-License-Identifier: Apache-2.0
// BlockWriter: the one writer of an embedded store's history.db. A group of blocks is written in slices, and becomes
// visible, durable and counted by commitGroup() alone. Compactor thread; calls block on the disk.
#pragma once

#include "core/history/rowblock.h"
#include "historyio/blockreader.h"
#include "historyio/sqlite.h"

#include <QHash>

#include <set>
#include <span>

namespace gridloom {

class BlockWriter {
public:
    /// Opens or creates the file and removes what an unfinished group left. A file that exists but is empty is
    /// damaged: one is created whole. Error codes of SqliteDatabase, and "store.version" for a file of a newer version.
    static Result<BlockWriter> open(const QString &path, const QByteArray &zone);

    Result<std::int64_t> seriesNumber(const SegmentSeries &series);
    Result<std::int64_t> triggerNumber(const QByteArray &id);

    /// Series in ascending order, the blocks of one in order of time. `segment` is the highest one of the group.
    Result<void> beginGroup(std::uint64_t segment);
    Result<void> add(BlockKind kind, std::int64_t series, const PackedBlock &block);
    void drop(std::uint64_t rows) { m_group[0].dropped += static_cast<std::int64_t>(rows); }
    /// The rows of these segments are now in blocks. When it returns they survive a power cut.
    Result<void> commitGroup(std::span<const std::uint64_t> segments);
    void abandonGroup();

    /// Removes the oldest group of a kind; false when there is none.
    Result<bool> removeOldest(BlockKind kind);
    struct Oldest {
        bool exists = false;
        std::int64_t lastMs = 0;
    };
    Result<Oldest> oldest(BlockKind kind);
    /// Copies a damaged block aside within the file and takes it out of its table.
    Result<void> setAside(BlockKind kind, std::int64_t key);
    /// Segments whose rows are in blocks.
    Result<std::set<std::uint64_t>> segments() const;
    /// Segments that need not be known as compacted any longer.
    Result<void> forgetSegments(std::uint64_t below);

    /// Gives at most so many free bytes back to the file system.
    Result<void> shrink(std::int64_t bytes);
    /// Moves the log into the file, synced. False: a reader keeps a part of it from being moved yet.
    Result<bool> checkpoint();
    struct Size {
        std::int64_t fileBytes = 0, freeBytes = 0;
    };
    Result<Size> size() const;

private:
    explicit BlockWriter(SqliteDatabase database) : m_database(std::move(database)) {}
    Result<void> prepare(const QByteArray &zone);
    Result<void> removeUnfinished();
    Result<void> insertGroups(std::span<const std::uint64_t> segments);
    Result<std::int64_t> numberOf(SqliteStatement &insert, SqliteStatement &find, const QByteArray &id);
    Result<void> begin();
    Result<void> commit();

    SqliteDatabase m_database;
    std::array<SqliteStatement, kBlockKinds> m_insert;
    SqliteStatement m_insertSeries, m_findSeries, m_insertTrigger, m_findTrigger, m_insertGroup, m_insertSegment;
    QHash<QByteArray, std::int64_t> m_seriesNumbers, m_triggerNumbers;
    std::int64_t m_nextGroup = 1;
    std::array<BlockGroup, kBlockKinds> m_group; // the one being written, by kind
    std::array<std::int64_t, kBlockKinds> m_lastSeries{}, m_places{};
    std::int64_t m_sliceBytes = 0;
    bool m_isInTransaction = false;
    bool m_hasUnfinished = false;
};

} // namespace gridloom
