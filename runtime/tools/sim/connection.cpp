// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/connection.h"

#include "tools/sim/listener.h"

#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gridloom {

Connection::Connection(int socket, Listener &listener)
    : QObject(&listener), m_socket(socket), m_listener(listener), m_notifier(socket, QSocketNotifier::Read)
{
    const int on = 1;
    ::setsockopt(m_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(m_socket, F_SETFL, ::fcntl(m_socket, F_GETFL) | O_NONBLOCK);
    connect(&m_notifier, &QSocketNotifier::activated, this, &Connection::receive);
    ++m_listener.counters().connections;
}

Connection::~Connection()
{
    --m_listener.counters().connections;
    m_notifier.setEnabled(false);
    ::close(m_socket);
}

void Connection::receive()
{
    const std::span<std::uint8_t> space = m_framer.space();
    const ssize_t count = ::recv(m_socket, space.data(), space.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        end();
        return;
    }
    m_framer.received(static_cast<std::size_t>(count));
    const bool isFramed = serveFrames();
    if (!sendAnswers() || !isFramed)
        end();
}

bool Connection::serveFrames()
{
    MbapFrame request;
    for (;;) {
        switch (m_framer.next(request)) {
        case MbapFramer::Next::Frame: m_listener.answer(request, m_answers); break;
        case MbapFramer::Next::Incomplete: return true;
        case MbapFramer::Next::Broken: ++m_listener.counters().badFrames; return false;
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

void Connection::end()
{
    m_notifier.setEnabled(false);
    deleteLater();
}

} // namespace gridloom
