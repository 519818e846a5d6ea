// SPDX-License-Identifier: Apache-2.0
// Connection: one client of a listener, which owns it. A plain socket: a request costs one recv and one send, where
// QTcpSocket would buffer twice. Ends when the client goes, breaks the framing or does not read its answers.
#pragma once

#include "tools/sim/mbapframer.h"
#include "tools/sim/poller.h"

namespace gridloom {

class Listener;

class Connection final : public Poller::Source {
public:
    /// Takes over a socket that does not block. Poller and listener outlive the connection.
    Connection(int socket, Poller &poller, Listener &listener);
    ~Connection();
    Q_DISABLE_COPY_MOVE(Connection)

    void readable() override;

private:
    /// False: the connection is at its end.
    bool receive();
    bool serveFrames();
    bool sendAnswers();

    int m_socket;
    Poller &m_poller;
    Listener &m_listener;
    MbapFramer m_framer;
    std::vector<std::uint8_t> m_answers;
};

} // namespace gridloom
