// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/connection.h"

#include "tools/sim/listener.h"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gridloom {

Connection::Connection(int socket, Poller &poller, Listener &listener)
    : m_socket(socket), m_poller(poller), m_listener(listener)
{
    const int on = 1;
    ::setsockopt(m_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    m_poller.add(m_socket, *this);
}

Connection::~Connection()
{
    m_poller.remove(m_socket);
    ::close(m_socket);
}

void Connection::readable()
{
    if (!receive())
        m_listener.end(*this); // deletes this
}

bool Connection::receive()
{
    const std::span<std::uint8_t> space = m_framer.space();
    const ssize_t count = ::recv(m_socket, space.data(), space.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (count <= 0)
        return false;
    m_framer.received(static_cast<std::size_t>(count));
    const bool isFramed = serveFrames();
    return sendAnswers() && isFramed;
}

bool Connection::serveFrames()
{
    MbapFrame request;
    for (;;) {
        switch (m_framer.next(request)) {
        case MbapFramer::Next::Frame: m_listener.answer(request, m_answers); break;
        case MbapFramer::Next::Incomplete: return true;
        case MbapFramer::Next::Broken: m_listener.countBadFrame(); return false;
        }
    }
}

// What the socket does not take at once is the fault of a client that lets megabytes of answers lie.
bool Connection::sendAnswers()
{
    const auto size = static_cast<ssize_t>(m_answers.size());
    const bool isSent = size == 0 || ::send(m_socket, m_answers.data(), m_answers.size(), MSG_NOSIGNAL) == size;
    m_answers.clear();
    return isSent;
}

} // namespace gridloom
