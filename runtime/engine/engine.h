// SPDX-License-Identifier: Apache-2.0
// Engine: builds everything that runs a design, starts its threads and stops them in order. Main thread.
#pragma once

#include "engine/cycle.h"
#include "engine/enginewait.h"
#include "engine/iothread.h"
#include "engine/pluginhost.h"
#include "engine/sinkrunner.h"

#include <QDir>

#include <atomic>
#include <thread>

namespace gridloom {

class Engine {
public:
    struct Options {
        QString pluginDir;
        QString stateDir; ///< history goes to STATE/history
        std::vector<PointHandle> watched;
        /// Called on the engine thread once a second.
        std::function<void(EngineSnapshot)> publish;
        /// How often the state of windows, alarms and scripts is written down; real time.
        std::chrono::milliseconds checkpointPeriod{10'000};
    };
    /// `records` are open and outlive the engine; their commit reports are taken over.
    Engine(std::shared_ptr<const Design> design, const Clock &clock, Records &records, Options options);
    ~Engine();

    /// Starts everything. Error when a script, the store or a sink cannot be used at all; drivers that cannot be opened
    /// are logged and answer bad.
    Result<void> start();
    /// Damaged state found by the caller: raised as an alarm. Any thread.
    void reportFault(const QString &text) { m_inbox.pushAlways(StateFault{text}); }
    /// Has a record written. Any thread.
    void append(Record record) { m_inbox.pushAlways(RecordAsked{std::move(record)}); }
    /// No new work becomes due; what is in flight ends. Snapshots go on. Any thread.
    void drain() { m_inbox.pushAlways(DrainRequested{}); }
    /// Ends all threads and answers the last account. `closeRecords` closes the records, after the last append.
    EngineSnapshot stop(const std::function<void()> &closeRecords);

    DriverStatistics driverStatistics() const { return m_io->statistics(); }
    StoreStatistics storeStatistics() const { return m_store ? m_store->statistics() : StoreStatistics{}; }
    const std::vector<std::unique_ptr<SinkRunner>> &sinks() const { return m_sinks; }
    /// Whether a sink that holds messages is connected: waiting for it makes sense.
    bool canDeliver() const;
    struct QueueState {
        const char *name;
        std::size_t size, highWater;
        std::uint64_t refused;
    };
    std::vector<QueueState> queueStates() const;
    /// Which of the threads of the 100 ms class run under SCHED_FIFO. Any thread.
    struct RealTimeThreads {
        bool engine = false, fastScripts = false;
    };
    RealTimeThreads realTimeThreads() const;

private:
    Result<void> startStore();
    Result<void> startSinks(const std::vector<OutboxEntry> &outbox);
    Outlets outlets();
    void run();

    std::shared_ptr<const Design> m_design;
    const Clock &m_clock;
    Records &m_records;
    Options m_options;
    PluginHost m_plugins;
    EngineWait m_wait;
    EngineInbox m_inbox{8192};
    std::unique_ptr<Expressions> m_expressions;
    std::unique_ptr<IoThread> m_io;
    std::unique_ptr<ScriptWorkers> m_workers;
    std::unique_ptr<StoreRunner> m_store;
    std::vector<std::unique_ptr<SinkRunner>> m_sinks;
    std::unique_ptr<Cycle> m_cycle;
    std::atomic<bool> m_isStopping{false};
    std::atomic<bool> m_isRealTime{false};
    std::thread m_thread;
};

} // namespace gridloom
