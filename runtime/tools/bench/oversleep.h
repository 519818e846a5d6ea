// SPDX-License-Identifier: Apache-2.0
// Oversleep: how late an idle thread that wants to wake each millisecond is woken while a run goes on: what the machine
// adds to any latency. Start and stop it on one thread; longestMs() after stop().
#pragma once

#include "tools/bench/periodicthread.h"

#include <utility>
#include <vector>

namespace gridloom {

class Oversleep {
public:
    void start();
    void stop() { m_thread.stop(); }
    /// The latest wake-up of those that were due with from < time <= to, milliseconds.
    double longestMs(SteadyTime from, SteadyTime to) const;

private:
    /// Of each second the worst one; of the thread until it has ended.
    std::vector<std::pair<SteadyTime, double>> m_worst;
    PeriodicThread m_thread;
};

} // namespace gridloom
