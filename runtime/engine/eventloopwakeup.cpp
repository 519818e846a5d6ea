// SPDX-License-Identifier: Apache-2.0
#include "engine/eventloopwakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace gridloom {

EventLoopWakeUp::EventLoopWakeUp(std::function<void()> woken)
    : m_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      m_notifier(std::make_unique<QSocketNotifier>(m_fd, QSocketNotifier::Read))
{
    QObject::connect(m_notifier.get(), &QSocketNotifier::activated, m_notifier.get(), [this, woken = std::move(woken)] {
        eventfd_t count = 0;
        ::eventfd_read(m_fd, &count);
        woken();
    });
}

EventLoopWakeUp::~EventLoopWakeUp()
{
    m_notifier.reset();
    ::close(m_fd);
}

void EventLoopWakeUp::notify() const
{
    ::eventfd_write(m_fd, 1);
}

} // namespace gridloom
