// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/interrupt.h"

#include <csignal>
#include <cstdlib>
#include <sys/eventfd.h>
#include <unistd.h>

namespace gridloom {

namespace {

// A signal handler has no other way to reach anything. It is a handler and not a blocked signal with signalfd(2)
// because children inherit a blocked signal over exec, and would not hear SIGTERM.
volatile std::sig_atomic_t s_event = -1;

void handleSignal(int signal)
{
    const std::uint64_t one = 1;
    if (::write(s_event, &one, sizeof one) != sizeof one)
        ::_exit(128 + signal);
    std::signal(signal, SIG_DFL);
}

} // namespace

Interrupt::Interrupt()
{
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    m_notifier = std::make_unique<QSocketNotifier>(event, QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, [this, event] {
        std::uint64_t count = 0;
        if (::read(event, &count, sizeof count) != sizeof count)
            return;
        m_wasRequested = true;
        Q_EMIT requested();
    });
    s_event = event;
    std::signal(SIGINT, handleSignal);
    std::signal(SIGTERM, handleSignal);
}

Interrupt::~Interrupt()
{
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    ::close(static_cast<int>(m_notifier->socket()));
}

} // namespace gridloom
