// SPDX-License-Identifier: Apache-2.0
// Signals: SIGTERM and SIGINT as events of the main loop, by signalfd(2). SIGPIPE and
// SIGXFSZ are ignored: both are reported by the call that caused them.
#pragma once

#include <QSocketNotifier>

#include <functional>
#include <memory>

namespace gridloom {

class Signals {
public:
    /// Blocks the signals for this thread and all it creates. Before the first thread.
    static void block();
    /// `received` is called in the main loop with the signal's number.
    explicit Signals(std::function<void(int)> received);
    ~Signals();
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;

private:
    int m_fd;
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace gridloom
