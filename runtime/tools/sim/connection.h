// SPDX-License-Identifier: Apache-2.0
// Connection: one client of a listener. A plain socket under a QSocketNotifier: a request costs one recv and one send,
// where QTcpSocket would buffer twice. Deletes itself when the client goes, breaks the framing or does not read.
#pragma once

#include "tools/sim/mbapframer.h"

#include <QObject>
#include <QSocketNotifier>

namespace gridloom {

class Listener;

class Connection : public QObject {
    Q_OBJECT
public:
    /// Takes the socket over; becomes a child of the listener.
    Connection(int socket, Listener &listener);
    ~Connection() override;

private:
    void receive();
    bool serveFrames();
    bool sendAnswers();
    void end();

    int m_socket;
    Listener &m_listener;
    QSocketNotifier m_notifier;
    MbapFramer m_framer;
    std::vector<std::uint8_t> m_answers;
};

} // namespace gridloom
