// SPDX-License-Identifier: Apache-2.0
// HistoryFolder: the history in an embedded store's folder as it was when it was opened, read from outside; a runtime
// may go on writing it meanwhile. Nothing in the folder is changed. One thread; calls block on the disk.
#pragma once

#include "core/history/memorytable.h"
#include "historyio/blockreader.h"

#include <QDir>
#include <QStringList>

#include <memory>

namespace gridloom {

struct HistoryCount {
    std::uint64_t rows = 0;        ///< stored; of a row that was stored twice, both
    std::uint64_t triggerRows = 0; ///< with a trigger id
    std::uint64_t triggerRuns = 0; ///< different runs among them
};

class HistoryFolder {
public:
    /// Reads the segments that are not in blocks into memory, some bytes a row. Error "store.absent" when there is no
    /// such folder, else those of SqliteDatabase and "store.readFailed".
    static Result<std::unique_ptr<HistoryFolder>> open(const QString &path);

    struct SeriesSummary {
        SegmentSeries series;
        std::uint64_t rows = 0;
        std::int64_t firstMs = 0, lastMs = 0; ///< only with rows
    };
    /// By id.
    Result<std::vector<SeriesSummary>> series();
    /// Rows with from <= time < to, oldest first, each once; `trigger` is the id of the one that wrote it, else empty.
    Result<void> query(const QByteArray &id, std::int64_t fromMs, std::int64_t toMs,
                       const std::function<bool(const SegmentRow &, const QByteArray &trigger)> &visit);
    Result<HistoryCount> count();
    /// Reads everything through. What is damaged, one text each; of files that were set aside before only that they
    /// are there.
    Result<QStringList> check();

    /// Damage that open() and query() met.
    const QStringList &damage() const { return m_damage; }

private:
    explicit HistoryFolder(const QString &path) : m_folder(path) {}
    Result<void> openBlocks();
    /// False when a segment has gone meanwhile: it is in blocks now.
    Result<bool> readSegments();
    Result<void> readSegment(const QString &name, const QByteArray &bytes, bool isNewest);
    Result<void> checkBlocks(BlockKind kind, QStringList &found);

    QDir m_folder;
    std::optional<BlockReader> m_blocks;
    QHash<QByteArray, std::int64_t> m_blockSeries; ///< number in blocks
    QHash<std::int64_t, QByteArray> m_blockTriggers;
    // Of segments: numbers in m_table, and back.
    std::vector<SegmentSeries> m_series;
    std::vector<QByteArray> m_triggers;
    QHash<QByteArray, std::uint32_t> m_seriesNumbers, m_triggerNumbers;
    MemoryTable m_table;
    QStringList m_damage;
};

} // namespace gridloom
