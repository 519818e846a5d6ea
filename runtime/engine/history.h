// SPDX-License-Identifier: Apache-2.0
// History: what of the samples, aggregation results and trigger rows goes to the store, and the account of it.
// Engine thread. samplesOffered = rows + skippedByPolicy + lost + pending at every moment.
#pragma once

#include "core/processimage.h"
#include "core/storage/storagefilter.h"
#include "engine/outlets.h"
#include "engine/schedule.h"

#include <vector>

namespace gridloom {

struct StoreAccount {
    std::uint64_t samplesOffered = 0;
    std::uint64_t rows = 0;            ///< handed to the operating system by the store
    std::uint64_t aggregationRows = 0; ///< of these: rows that triggers wrote
    std::uint64_t skippedByPolicy = 0;
    std::uint64_t lost = 0; ///< refused by a full queue or by the disk, or not known to survive a power cut
    std::uint64_t pending = 0;
    bool addsUp() const { return samplesOffered == rows + skippedByPolicy + lost + pending; }
};

class History {
public:
    History(const Design &design, const Outlets &outlets);

    bool hasStore() const { return static_cast<bool>(m_outlets.appendRows); }
    /// A sample of a device's point or of a Computed one: kept by the point's policy.
    void offer(const Sample &sample);
    /// Heartbeat rows of OnChange points whose last row is maxInterval old: no gap hangs on when samples come.
    void heartbeats(const PointStore &points, SteadyTime now, WallTime wall);
    /// Orderly stop: OnChange points get a row of their newest sample, so that the gap in history is that of the stop
    /// itself and not up to maxInterval more.
    void lastRows(const PointStore &points);
    /// A result of an aggregation: kept unless the policy is None. `time` is the start of its window.
    void offerResult(PointHandle point, const Value &value, Quality quality, WallTime time);
    /// A row written by a trigger's run: always kept, appended at once. False when there is no store or its queue is full.
    bool writeRow(PointHandle point, const Value &value, WallTime time, int trigger, std::uint64_t run);
    /// Hands over the rows that wait, when they are many enough, old enough or `isForced`.
    void flush(SteadyTime now, bool isForced = false);
    std::optional<SteadyTime> nextFlush() const;
    /// The store's answer.
    void stored(const RowsStored &event);
    /// Rows counted as stored count as lost.
    void unsynced(const RowsUnsynced &event);

    const StoreAccount &account() const { return m_account; }

private:
    bool handOver();

    const Outlets &m_outlets;
    std::vector<StorageFilter> m_filters; ///< by point
    std::vector<StoragePolicy::Mode> m_modes;
    Schedule<PointHandle> m_heartbeats; ///< at most one entry per point
    std::vector<char> m_hasHeartbeat;   ///< by point
    BufferPool<HistoryRow> m_rowBuffers;
    BufferPool<std::uint64_t> m_runBuffers;
    StoreRunner::Batch m_batch;
    std::optional<SteadyTime> m_oldest; ///< when the first row of m_batch came in
    SteadyTime m_now{};
    StoreAccount m_account;
};

} // namespace gridloom
