// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/terminationsignal.h"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace gridloom {

TerminationSignal::TerminationSignal()
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    // Blocked signals wait in the signalfd. The simulator starts no programs that could inherit the blocking.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    m_notifier =
        std::make_unique<QSocketNotifier>(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), QSocketNotifier::Read);
    connect(m_notifier.get(), &QSocketNotifier::activated, this, [this](QSocketDescriptor descriptor) {
        signalfd_siginfo info;
        if (::read(static_cast<int>(descriptor), &info, sizeof info) == sizeof info)
            Q_EMIT received();
    });
}

TerminationSignal::~TerminationSignal()
{
    m_notifier->setEnabled(false);
    ::close(static_cast<int>(m_notifier->socket()));
}

} // namespace gridloom
