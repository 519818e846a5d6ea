// SPDX-License-Identifier: Apache-2.0
// PeriodicThread: a thread that calls one function on a grid and does nothing else. Start and stop it on one thread.
#pragma once

#include "core/clock.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gridloom {

class PeriodicThread {
public:
    /// Calls `tick` at once and then each `period`, with the time at which it was due, in the new thread. A due time that
    /// has passed while `tick` ran is counted and left out.
    void start(Nanoseconds period, std::function<void(SteadyTime due)> tick);
    /// Returns once the thread has ended. Idempotent; the destructor of std::jthread does the same.
    void stop();
    /// After stop().
    std::uint64_t missed() const { return m_missed; }

private:
    void run(const std::stop_token &stop, Nanoseconds period, const std::function<void(SteadyTime)> &tick);

    std::mutex m_mutex;
    std::condition_variable_any m_stopRequested;
    std::uint64_t m_missed = 0;
    std::jthread m_thread;
};

} // namespace gridloom
