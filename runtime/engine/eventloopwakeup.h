// SPDX-License-Identifier: Apache-2.0
// EventLoopWakeUp: lets any thread wake a Qt event loop without a queued signal: an eventfd and a notifier, which
// ThreadSanitizer understands and which cost one system call.
#pragma once

#include <QSocketNotifier>

#include <functional>
#include <memory>

namespace gridloom {

class EventLoopWakeUp {
public:
    /// In the loop's thread; `woken` is called there, once for any number of notify() before it.
    explicit EventLoopWakeUp(std::function<void()> woken);
    ~EventLoopWakeUp();
    EventLoopWakeUp(const EventLoopWakeUp &) = delete;
    EventLoopWakeUp &operator=(const EventLoopWakeUp &) = delete;

    /// Any thread, as long as this lives; without effect after stopListening().
    void notify() const;
    /// In the loop's thread, before the loop ends: from here on this may be destroyed in any thread.
    void stopListening() { m_notifier.reset(); }

private:
    int m_fd;
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace gridloom
