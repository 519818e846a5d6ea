// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/poller.h"

#include <array>
#include <sys/epoll.h>
#include <unistd.h>

namespace gridloom {

Poller::Poller()
    : m_epoll(::epoll_create1(EPOLL_CLOEXEC)),
      m_notifier(std::make_unique<QSocketNotifier>(m_epoll, QSocketNotifier::Read))
{
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &Poller::dispatch);
}

Poller::~Poller()
{
    m_notifier.reset();
    ::close(m_epoll);
}

void Poller::add(int descriptor, Source &source)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &source;
    ::epoll_ctl(m_epoll, EPOLL_CTL_ADD, descriptor, &event);
}

void Poller::remove(int descriptor)
{
    ::epoll_ctl(m_epoll, EPOLL_CTL_DEL, descriptor, nullptr);
}

void Poller::dispatch()
{
    // More than fit are found at the next turn of the event loop.
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(m_epoll, events.data(), int{events.size()}, 0);
    for (int i = 0; i < count; ++i)
        static_cast<Source *>(events[static_cast<std::size_t>(i)].data.ptr)->readable();
}

} // namespace gridloom
