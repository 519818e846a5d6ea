// SPDX-License-Identifier: Apache-2.0
// Compactor: turns rows that are safe in segments into blocks of history.db, keeps quota and retention, and removes
// segments once their blocks are durable. It has a thread of its own at low priority, so that an append never waits
// for it. What it cannot write stays in the segments, and is tried again.
#pragma once

#include "blockwriter.h"
#include "storestate.h"

#include "core/history/rollup.h"

#include <thread>

namespace gridloom {

class Compactor {
public:
    /// `clock` says how old history is, and names files that are set aside.
    Compactor(std::shared_ptr<StoreState> state, const Clock &clock);
    /// Ends the thread within the slice that is being written; rows of an unfinished group stay in their segments.
    ~Compactor();

private:
    using RealTime = std::chrono::steady_clock::time_point;
    void run();
    /// One piece of work; false when there was none.
    bool work();
    bool openWriter();
    Result<void> removeCompacted();
    void failed(const Error &error, const QString &what);
    void setDatabaseAside(const Error &why);

    bool flushSealed();
    bool flushWaiting();
    struct Batch {
        std::shared_ptr<const MemoryTable> table;
        std::vector<std::uint64_t> segments;
    };
    Batch readWaiting();
    Result<void> addSegment(std::uint64_t number, MemoryTable &table);
    Result<void> flush(const Batch &batch);
    Result<void> writeGroup(const Batch &batch);
    Result<void> writeSeries(std::int64_t number, std::vector<SegmentRow> rows);
    Result<void> dropStored(std::int64_t number, std::vector<SegmentRow> &rows);
    Result<void> writeRollups(std::int64_t number, std::span<const SegmentRow> rows);
    void removeSegments(std::span<const std::uint64_t> segments);

    bool setAsideDamaged();
    void keepBounds(bool isOverQuota);
    Result<void> keepQuota(std::int64_t coming);
    Result<void> keepDays();
    void measure();
    bool isStopping();

    std::shared_ptr<StoreState> m_state;
    const Clock &m_clock;
    std::optional<BlockWriter> m_writer;
    std::optional<BlockReader> m_reader; ///< of what was there before, while a group is written
    std::vector<RollupBorders> m_borders;
    QHash<std::uint32_t, std::int64_t> m_triggerNumbers;
    RealTime m_nextOpening{};
    RealTime m_nextBounds{};
    QString m_lastFailure;
    std::thread m_thread;
};

} // namespace gridloom
