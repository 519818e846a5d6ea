// SPDX-License-Identifier: Apache-2.0
// DeadlineTimer: a one-shot timer for a thread with a Qt event loop, on timerfd(2). Unlike QTimer it is exact to the
// nanosecond the kernel gives, and setting it costs no memory and, most of the time, no system call. Created, used and
// destroyed in one thread.
#pragma once

#include <QSocketNotifier>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace gridloom {

class DeadlineTimer {
public:
    using Time = std::chrono::steady_clock::time_point; ///< real time (core/clock.h)

    /// `expired` is called by the event loop; it may set the timer again, and must not destroy it.
    explicit DeadlineTimer(std::function<void()> expired);
    ~DeadlineTimer();
    DeadlineTimer(const DeadlineTimer &) = delete;
    DeadlineTimer &operator=(const DeadlineTimer &) = delete;

    /// One call at that time, or as soon as possible when it has passed, instead of the one that was due.
    void set(Time due);
    void cancel() { m_due.reset(); }

private:
    void onReadable();
    void setKernelTimer(Time at);

    int m_fd = -1;
    std::function<void()> m_expired;
    std::optional<Time> m_due;
    std::optional<Time> m_kernelDue; ///< never later than m_due; an early end is made good by setting it again
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace gridloom
