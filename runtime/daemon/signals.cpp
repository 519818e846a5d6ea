// SPDX-License-Identifier: Apache-2.0
#include "daemon/signals.h"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace gridloom {

namespace {
sigset_t stopSignals()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}
} // namespace

void Signals::block()
{
    const sigset_t set = stopSignals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // a full quota is an error of write(2), not the end of control
}

Signals::Signals(std::function<void(int)> received)
{
    const sigset_t set = stopSignals();
    m_fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    m_notifier = std::make_unique<QSocketNotifier>(m_fd, QSocketNotifier::Read);
    QObject::connect(m_notifier.get(), &QSocketNotifier::activated, m_notifier.get(),
                     [this, received = std::move(received)] {
                         signalfd_siginfo info{};
                         while (::read(m_fd, &info, sizeof info) == sizeof info)
                             received(static_cast<int>(info.ssi_signo));
                     });
}

Signals::~Signals()
{
    m_notifier.reset();
    ::close(m_fd);
}

} // namespace gridloom
