// SPDX-License-Identifier: Apache-2.0
#include "sdk/deadlinetimer.h"

#include <sys/timerfd.h>
#include <unistd.h>

namespace gridloom {

DeadlineTimer::DeadlineTimer(std::function<void()> expired)
    : m_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)), m_expired(std::move(expired)),
      m_notifier(std::make_unique<QSocketNotifier>(m_fd, QSocketNotifier::Read))
{
    QObject::connect(m_notifier.get(), &QSocketNotifier::activated, m_notifier.get(), [this] { onReadable(); });
}

DeadlineTimer::~DeadlineTimer()
{
    m_notifier.reset();
    ::close(m_fd);
}

void DeadlineTimer::set(Time due)
{
    m_due = due;
    if (!m_kernelDue || due < *m_kernelDue)
        setKernelTimer(due);
}

void DeadlineTimer::setKernelTimer(Time at)
{
    constexpr std::chrono::nanoseconds kNow(1); // 0 would switch it off
    const auto ns = std::max<std::chrono::nanoseconds>(at.time_since_epoch(), kNow).count();
    constexpr std::int64_t kPerSecond = 1'000'000'000;
    itimerspec spec{};
    spec.it_value = {static_cast<time_t>(ns / kPerSecond), static_cast<long>(ns % kPerSecond)};
    ::timerfd_settime(m_fd, TFD_TIMER_ABSTIME, &spec, nullptr);
    m_kernelDue = at;
}

void DeadlineTimer::onReadable()
{
    std::uint64_t expirations = 0;
    if (::read(m_fd, &expirations, sizeof expirations) != sizeof expirations)
        return; // set anew since
    m_kernelDue.reset();
    if (!m_due)
        return;
    if (*m_due > std::chrono::steady_clock::now())
        return setKernelTimer(*m_due);
    m_due.reset();
    m_expired();
}

} // namespace gridloom
