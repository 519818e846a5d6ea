// SPDX-License-Identifier: Apache-2.0
// Canary: what the disk itself takes for a durable write while a run goes on. Each 100 ms a thread of its own writes
// 4 kB and calls fdatasync(2), always on the same allocated block: the disk alone, without the file system's own
// bookkeeping. Start and stop it on one thread; evaluate() after stop().
#pragma once

#include "core/result.h"
#include "tools/bench/periodicthread.h"
#include "tools/bench/summary.h"

#include <QString>

#include <utility>
#include <vector>

namespace gridloom {

class Canary {
public:
    ~Canary() { stop(); }
    /// Creates `canary` in the folder. Error "bench.canary" when it cannot be written.
    Result<void> start(const QString &folder);
    /// Returns once the thread has ended. Idempotent.
    void stop();
    /// Milliseconds of the writes that began with from < time <= to.
    Summary evaluate(SteadyTime from, SteadyTime to) const;

private:
    void write();

    int m_file = -1;
    char m_fill = 0;
    std::vector<std::pair<SteadyTime, double>> m_writes; ///< of the thread until it has ended
    PeriodicThread m_thread;
};

} // namespace gridloom
