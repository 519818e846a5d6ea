// SPDX-License-Identifier: Apache-2.0
// DroppingProxy: a network between a client and a server on 127.0.0.1 that can go silent (packets are lost, no reset, as
// when a cable is pulled), delay what the server says, cut connections or close them as soon as they are accepted. It runs
// on a thread of its own, so that a test may block meanwhile. Its functions are for the test's thread.
#pragma once

#include <QThread>

#include <chrono>
#include <cstdint>
#include <memory>

namespace gridloom {

class DroppingProxy {
public:
    explicit DroppingProxy(quint16 serverPort);
    ~DroppingProxy();

    quint16 port() const { return m_port; }
    /// True: nothing passes any more, neither bytes nor the end of a connection; new connections are taken and lead
    /// nowhere. False: what was held back arrives, as TCP's retransmissions would bring it.
    void setSilent(bool isSilent);
    /// Whatever the server says arrives so much later; also for connections that exist.
    void setDelay(std::chrono::milliseconds delay);
    /// New connections are closed at once.
    void setClosing(bool isClosing);
    /// All connections end with a reset at both ends.
    void reset();

    std::uint64_t accepted() const; ///< connections since the start
    int open() const;               ///< connections now

private:
    class Worker;
    template<typename F>
    auto inThread(F &&f) const;

    QThread m_thread;
    QObject *m_context;         ///< in m_thread: what runs there is posted to it
    Worker *m_worker = nullptr; ///< in m_thread
    quint16 m_port = 0;
};

} // namespace gridloom
