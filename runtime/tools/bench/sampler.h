// SPDX-License-Identifier: Apache-2.0
// Sampler: reads the machine's and the runtime's use of CPU and memory once a second, in a thread of its own that
// does nothing else. Start and stop it on one thread; evaluate() after stop().
#pragma once

#include "tools/bench/periodicthread.h"
#include "tools/bench/procreader.h"
#include "tools/bench/summary.h"

#include <QString>

#include <vector>

namespace gridloom {

struct UseOfMachine {
    Summary deviceCpuPercent; ///< of all cores together
    Summary deviceMemoryMb;   ///< MemTotal - MemAvailable
    Summary ioWaitPercent;
    double runtimeCpuPercent = 0;              ///< of one core, mean
    double runtimeRssMb = 0;                   ///< the highest reading
    int runtimeThreads = 0;                    ///< the highest reading
    double writtenGbPerDay = 0;                ///< by the runtime, as it would be in a day; 1 GB = 10^9 bytes
    std::optional<double> diskWrittenGbPerDay; ///< by everybody, to the disk with the run's folder
};

class Sampler {
public:
    /// `pid`: the runtime. `folder`: lies on the disk to look at.
    void start(qint64 pid, const QString &folder);
    /// Returns once the thread has ended. Idempotent.
    void stop() { m_thread.stop(); }

    /// The readings with from < time <= to: of those N + 2 that surround a window of N seconds the first and the last
    /// are dropped.
    UseOfMachine evaluate(SteadyTime from, SteadyTime to) const;
    /// Seconds that passed without a reading.
    std::uint64_t timeouts() const { return m_thread.missed(); }

private:
    struct Reading {
        SteadyTime time{};
        DeviceCpu cpu;
        std::uint64_t memoryUsedKb = 0;
        ProcessUse runtime;
        std::uint64_t runtimeWritten = 0; ///< bytes
        std::optional<std::uint64_t> diskWritten;
    };
    Reading take() const;

    QByteArray m_process;            ///< "/proc/PID"
    QByteArray m_disk;               ///< its "stat" below /sys
    std::vector<Reading> m_readings; ///< of the thread until it has ended
    PeriodicThread m_thread;
};

} // namespace gridloom
