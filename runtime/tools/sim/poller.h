// SPDX-License-Identifier: Apache-2.0
// Poller: all sockets of the simulator behind one QSocketNotifier (epoll). With a notifier each, the event loop would
// hand some hundred descriptors to poll() at every wake-up, which costs more than serving the request.
#pragma once

#include <QObject>
#include <QSocketNotifier>

#include <memory>

namespace gridloom {

class Poller : public QObject {
    Q_OBJECT
public:
    class Source {
    public:
        /// There is something to read or accept, or the peer has gone. The source may remove and delete itself, but no
        /// other one.
        virtual void readable() = 0;

    protected:
        ~Source() = default;
    };

    Poller();
    ~Poller() override;

    /// The source outlives its membership.
    void add(int descriptor, Source &source);
    void remove(int descriptor);

private:
    void dispatch();

    int m_epoll;
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace gridloom
