// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/periodicthread.h"

namespace gridloom {

void PeriodicThread::start(Nanoseconds period, std::function<void(SteadyTime)> tick)
{
    stop();
    m_missed = 0;
    m_thread =
        std::jthread([this, period, tick = std::move(tick)](const std::stop_token &stop) { run(stop, period, tick); });
}

void PeriodicThread::stop()
{
    m_thread = std::jthread(); // asks the old one to stop, and joins it
}

void PeriodicThread::run(const std::stop_token &stop, Nanoseconds period, const std::function<void(SteadyTime)> &tick)
{
    SteadyTime due = std::chrono::steady_clock::now();
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_stopRequested.wait_until(lock, stop, due, [] { return false; });
        if (stop.stop_requested())
            return;
        tick(due);
        const SteadyTime now = std::chrono::steady_clock::now();
        for (due += period; due <= now; due += period)
            ++m_missed;
    }
}

} // namespace gridloom
