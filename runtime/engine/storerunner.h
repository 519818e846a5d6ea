// SPDX-License-Identifier: Apache-2.0
// StoreRunner: the store at run time, on a thread of its own. The engine pushes batches of rows and never waits; each
// batch is answered by one RowsStored. What does not fit the queue is lost and counted by the caller.
#pragma once

#include "engine/events.h"
#include "sdk/store.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace gridloom {

class StoreRunner {
public:
    struct Batch {
        BufferPool<HistoryRow>::Buffer rows;
        BufferPool<std::uint64_t>::Buffer runs; ///< trigger runs that wrote rows of it
    };
    /// Most batches that wait, and most rows in them: about 11 MB without texts.
    static constexpr std::size_t kMostBatches = 4'096;
    static constexpr std::size_t kMostRows = 200'000;

    StoreRunner(std::unique_ptr<Store> store, EngineInbox &inbox, const Clock &clock);
    ~StoreRunner();

    /// Starts the thread, which opens the store. One that cannot be opened (disk away, read-only) stops nothing else: its
    /// rows are answered as lost, with the reason, and it is tried again every few seconds.
    void start(StoreOpening opening);
    /// Engine thread. False when the queue is full: the batch is lost.
    bool append(Batch batch);
    /// Appends what waits, syncs, closes. Idempotent.
    void stop();
    StoreStatistics statistics() const; ///< any thread
    /// Any thread, before stop(): reads what is stored while the store goes on appending.
    std::unique_ptr<HistoryReader> reader() { return m_store->reader(); }
    const BoundedQueue<Batch> &queue() const { return m_queue; }

private:
    void run();
    Result<void> openStore();
    void appendBatch(Batch &batch);
    void syncStore();

    std::unique_ptr<Store> m_store;
    EngineInbox &m_inbox;
    const Clock &m_clock;
    BoundedQueue<Batch> m_queue{kMostBatches};
    std::atomic<std::size_t> m_waitingRows{0};
    std::thread m_thread;
    mutable std::mutex m_statisticsMutex;
    StoreStatistics m_statistics;
    // The store thread only.
    StoreOpening m_opening;
    bool m_isOpen = false;
    std::chrono::steady_clock::time_point m_nextOpening{};
    Error m_openingError;
    std::size_t m_unsyncedRows = 0;
    bool m_isSyncing = true; ///< the last sync went well
};

} // namespace gridloom
