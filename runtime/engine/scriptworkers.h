// SPDX-License-Identifier: Apache-2.0
// ScriptWorkers: the threads that run triggers' Lua. A trigger belongs to one worker, so its Lua state is never shared;
// worker 0 is reserved for the 100 ms class. Jobs go in by the engine thread, results come back through its inbox.
#pragma once

#include "engine/events.h"
#include "script/triggerscript.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace gridloom {

class ScriptWorkers {
public:
    /// Whether a trigger is of the fast class: periodic, up to kFastPeriod.
    static bool isFast(const Trigger &trigger);
    struct Job {
        int trigger = -1;
        std::uint64_t run = 0;
        std::shared_ptr<const ProcessImage> image;
        bool wantsState = false; ///< the result is to hold the script's `state`
    };
    /// Triggers with a period up to this are of the fast class.
    static constexpr Milliseconds kFastPeriod{100};

    ScriptWorkers(const Design &design, EngineInbox &inbox, const Clock &clock);
    ~ScriptWorkers();

    /// Compiles every enabled trigger (blocking), gives each the `state` that it has in Records::states(), and starts
    /// the threads.
    Result<void> start(const std::map<QString, QByteArray> &states);
    /// Engine thread; never blocks.
    void run(Job job);
    /// Ends the threads after the scripts that run; jobs that wait are dropped. Idempotent.
    void stop();
    /// After stop(): the `state` of every script goes to the engine's inbox.
    void handStatesOver();
    /// Whether the worker of the fast class runs under SCHED_FIFO. Any thread.
    bool isFastWorkerRealTime() const { return m_isRealTime.load(std::memory_order_relaxed); }
    /// Jobs that wait for worker 0 (the fast class) or 1.
    const BoundedQueue<Job> &queue(std::size_t worker) const { return m_workers[worker].jobs; }

private:
    struct Worker {
        BoundedQueue<Job> jobs{1024};
        std::thread thread;
    };
    static constexpr std::size_t kWorkers = 2;
    static std::size_t workerOf(const Trigger &trigger);
    void work(Worker &worker);

    const Design &m_design;
    EngineInbox &m_inbox;
    const Clock &m_clock;
    std::vector<std::unique_ptr<TriggerScript>> m_scripts; ///< by trigger index; each touched by its worker only
    std::array<Worker, kWorkers> m_workers;
    std::atomic<bool> m_isRealTime{false};
};

} // namespace gridloom
