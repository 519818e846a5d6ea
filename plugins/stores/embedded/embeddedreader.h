// SPDX-License-Identifier: Apache-2.0
// EmbeddedReader: reads an embedded store from memory, waiting segments and blocks, while it is appended to.
#pragma once

#include "storestate.h"

#include "historyio/rowmerge.h"

#include <QFile>

namespace gridloom {

class EmbeddedReader final : public HistoryReader {
public:
    explicit EmbeddedReader(std::shared_ptr<StoreState> state) : m_state(std::move(state)) {}

    Result<void> query(const QString &seriesId, WallTime from, WallTime to,
                       const std::function<bool(const HistoryRow &)> &visit) override;
    Result<std::vector<HistoryRow>> last(const QString &seriesId, std::size_t count, WallTime to) override;
    Result<std::vector<HistoryBucket>> buckets(const QString &seriesId, WallTime from, WallTime to,
                                               std::size_t count) override;
    Result<std::vector<HistoryBucket>> rollups(const QString &seriesId, WallTime from, WallTime to,
                                               RollupStep step) override;

private:
    struct Range {
        std::int64_t fromMs = 0, toMs = 0;
    };
    /// What is not in blocks, as of one moment, and what the numbers mean.
    struct Recent {
        struct Part {
            MemoryTable::Packed packed;          ///< of a table in memory
            std::shared_ptr<QFile> segment;      ///< or a file
            std::vector<std::uint64_t> segments; ///< those it stands for
            std::int64_t firstMs = 0;
        };
        std::vector<Part> parts; ///< in the order in which they were stored
        PointHandle point = kNoPoint;
        QHash<QByteArray, int> triggers; ///< of the running design, by id
        std::vector<int> memoryTriggers; ///< the same by the numbers they have in memory; -1: no longer in the design
        QTimeZone zone = QTimeZone::utc();
    };
    Result<Recent> recent(const QByteArray &id, Range range);
    /// Opens the blocks, when there are any, and begins a snapshot that is newer than `recent`, of which those parts are
    /// removed that it holds.
    Result<void> begin(Recent &recent);
    void end();

    Result<void> rows(const QByteArray &id, Range range, const std::function<bool(const HistoryRow &)> &visit);
    Result<std::vector<RowSource>> sources(const QByteArray &id, const Recent &recent, Range range);
    Result<void> loadBlock(const BlockRef &ref, const Recent &recent, std::uint32_t place,
                           std::vector<SegmentRow> &rows);
    Result<std::vector<HistoryBucket>> rolled(const QByteArray &id, Range range, RollupStep step);
    void reportDamage(const BlockRef &ref);

    std::shared_ptr<StoreState> m_state;
    std::optional<BlockReader> m_blocks;
    int m_generation = -1;
    bool m_hasSnapshot = false;
    QHash<std::int64_t, QByteArray> m_blockTriggers; ///< trigger ids by the number they have in blocks
};

} // namespace gridloom
