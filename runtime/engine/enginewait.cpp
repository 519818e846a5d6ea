// SPDX-License-Identifier: Apache-2.0
#include "engine/enginewait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace gridloom {

EngineWait::EngineWait()
    : m_event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      m_timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))
{
    if (m_event < 0 || m_timer < 0)
        throw std::system_error(errno, std::generic_category(), "the engine's timer cannot be created");
}

EngineWait::~EngineWait()
{
    ::close(m_timer);
    ::close(m_event);
}

void EngineWait::notify() const
{
    ::eventfd_write(m_event, 1);
}

void EngineWait::until(SteadyTime until)
{
    if (until != m_armedFor) {
        // Steady time is CLOCK_MONOTONIC. A time of 0 would disarm the timer; one in the past fires at once.
        const auto ns = std::max<Nanoseconds>(until.time_since_epoch(), Nanoseconds(1));
        const auto s = std::chrono::duration_cast<std::chrono::seconds>(ns);
        itimerspec spec{};
        spec.it_value.tv_sec = s.count();
        spec.it_value.tv_nsec = (ns - s).count();
        ::timerfd_settime(m_timer, TFD_TIMER_ABSTIME, &spec, nullptr);
        m_armedFor = until;
    }
    std::array<pollfd, 2> ready{{{m_event, POLLIN, 0}, {m_timer, POLLIN, 0}}};
    // Interrupted by a signal: whoever waits looks at the clock and comes again.
    if (::poll(ready.data(), ready.size(), -1) <= 0)
        return;
    if (ready[0].revents != 0) {
        eventfd_t count = 0;
        ::eventfd_read(m_event, &count);
    }
}

} // namespace gridloom
