// SPDX-License-Identifier: Apache-2.0
// Sampler: reads the machine's and the runtime's use of CPU and memory once a second, in a thread of its own that
// does nothing else. Start and stop it on one thread; evaluate() after stop().
#pragma once

#include "core/clock.h"
#include "tools/bench/procreader.h"
#include "tools/bench/summary.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace gridloom {

struct UseOfMachine {
    Summary deviceCpuPercent; ///< of all cores together
    Summary deviceMemoryMb;   ///< MemTotal - MemAvailable
    Summary ioWaitPercent;
    double runtimeCpuPercent = 0; ///< of one core, mean
    double runtimeRssMb = 0;      ///< the highest reading
    int runtimeThreads = 0;       ///< the highest reading
};

class Sampler {
public:
    ~Sampler() { stop(); }
    /// `pid`: the runtime.
    void start(qint64 pid);
    /// Returns once the thread has ended. Idempotent.
    void stop();

    /// The readings with from < time <= to: of those N + 2 that surround a window of N seconds the first and the last
    /// are dropped.
    UseOfMachine evaluate(SteadyTime from, SteadyTime to) const;
    /// Seconds that passed without a reading.
    std::uint64_t timeouts() const { return m_timeouts; }

private:
    struct Reading {
        SteadyTime time{};
        DeviceCpu cpu;
        std::uint64_t memoryUsedKb = 0;
        ProcessUse runtime;
    };
    void run();
    Reading take() const;

    QByteArray m_processStat;
    std::thread m_thread;
    std::mutex m_mutex;
    std::condition_variable m_stopRequested;
    bool m_isStopping = false;
    std::vector<Reading> m_readings; ///< of the thread until it has ended
    std::uint64_t m_timeouts = 0;
};

} // namespace gridloom
