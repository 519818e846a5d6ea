// SPDX-License-Identifier: Apache-2.0
#include "engine/storerunner.h"

#include <QLoggingCategory>

#include <pthread.h>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcStore, "gridloom.store")
// Telemetry may lose so much by a power cut.
constexpr std::chrono::seconds kSyncPeriod{1};
constexpr std::chrono::seconds kOpenAgain{5};
} // namespace

StoreRunner::StoreRunner(std::unique_ptr<Store> store, EngineInbox &inbox, const Clock &clock)
    : m_store(std::move(store)), m_inbox(inbox), m_clock(clock)
{
}

StoreRunner::~StoreRunner()
{
    stop();
}

void StoreRunner::start(StoreOpening opening)
{
    m_opening = std::move(opening);
    m_thread = std::thread([this] { run(); });
}

Result<void> StoreRunner::openStore()
{
    const auto now = std::chrono::steady_clock::now();
    if (m_isOpen)
        return {};
    if (now < m_nextOpening)
        return m_openingError;
    m_nextOpening = now + kOpenAgain;
    const Result<void> opened = m_store->open(m_opening);
    m_isOpen = opened.ok();
    if (m_isOpen)
        m_opening = {}; // the store keeps what it needs
    if (!opened) {
        m_openingError = opened.error();
        qCWarning(lcStore).noquote() << m_openingError.message;
    }
    return opened;
}

void StoreRunner::stop()
{
    m_queue.close();
    if (m_thread.joinable())
        m_thread.join();
}

StoreStatistics StoreRunner::statistics() const
{
    const std::lock_guard lock(m_statisticsMutex);
    return m_statistics;
}

bool StoreRunner::append(Batch batch)
{
    const std::size_t rows = batch.rows.size();
    // One batch may go beyond the bound: the engine alone pushes, so that it is no more than one.
    if (m_waitingRows.load(std::memory_order_relaxed) >= kMostRows)
        return m_queue.refuse();
    m_waitingRows.fetch_add(rows, std::memory_order_relaxed);
    if (m_queue.push(std::move(batch)))
        return true;
    m_waitingRows.fetch_sub(rows, std::memory_order_relaxed);
    return false;
}

void StoreRunner::run()
{
    ::pthread_setname_np(::pthread_self(), "store");
    (void)openStore(); // a failure is the answer to the first rows
    std::vector<Batch> batches;
    auto nextSync = std::chrono::steady_clock::now() + kSyncPeriod;
    for (;;) {
        batches.clear();
        m_queue.drainUntil(batches, nextSync);
        for (Batch &batch : batches)
            appendBatch(batch);
        const bool isLast = m_queue.isClosed() && m_queue.size() == 0;
        const auto now = std::chrono::steady_clock::now();
        if (now >= nextSync || isLast) {
            syncStore();
            nextSync = now + kSyncPeriod;
        }
        for (const QString &fault : m_store->takeFaults())
            m_inbox.pushAlways(StateFault{fault});
        {
            const std::lock_guard lock(m_statisticsMutex);
            m_statistics = m_store->statistics();
        }
        if (isLast)
            break;
    }
    if (m_isOpen)
        m_store->close();
}

// What could not be synced may not survive a power cut: it counts as lost, and the engine is told once for each second.
void StoreRunner::syncStore()
{
    if (m_unsyncedRows == 0)
        return;
    const Result<void> synced = m_store->sync();
    if (!synced) {
        if (m_isSyncing)
            qCWarning(lcStore).noquote() << synced.error().message;
        m_inbox.pushAlways(RowsUnsynced{m_unsyncedRows, synced.error().message});
    }
    m_isSyncing = synced.ok();
    m_unsyncedRows = 0;
}

void StoreRunner::appendBatch(Batch &batch)
{
    m_waitingRows.fetch_sub(batch.rows.size(), std::memory_order_relaxed);
    const Result<void> opened = openStore();
    const Result<void> appended = opened ? m_store->append(*batch.rows) : opened;
    RowsStored event;
    event.rows = batch.rows.size();
    event.runs = std::move(batch.runs);
    event.triggerRows = event.runs.size();
    event.isStored = appended.ok();
    event.isSynced = m_isSyncing;
    if (appended)
        m_unsyncedRows += event.rows;
    else
        event.error = appended.error().message;
    event.at = m_clock.steadyNow();
    m_inbox.pushAlways(std::move(event));
}

} // namespace gridloom
