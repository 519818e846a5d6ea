// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/listener.h"

#include "tools/sim/connection.h"
#include "tools/sim/mbapframer.h"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gridloom {

Listener::Listener(Poller &poller, const Clock &clock, WireCounters &counters)
    : m_poller(poller), m_clock(clock), m_counters(counters)
{
}

Listener::~Listener()
{
    if (m_socket < 0)
        return;
    m_poller.remove(m_socket);
    ::close(m_socket);
}

void Listener::addUnit(int unit, SimDevice &device, DeviceCounters &counters)
{
    m_units.insert_or_assign(unit, Unit{&device, &counters});
}

Result<void> Listener::open(quint16 port)
{
    m_socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1; // a port that a former simulator has just left
    ::setsockopt(m_socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    socklen_t size = sizeof address;
    if (m_socket < 0 || ::bind(m_socket, generic, size) != 0 || ::listen(m_socket, SOMAXCONN) != 0
        || ::getsockname(m_socket, generic, &size) != 0)
        return Error{
            QStringLiteral("sim.listen"),
            QStringLiteral("port %1 of 127.0.0.1 cannot be opened: %2; choose another port, or 0 for any free one")
                .arg(port)
                .arg(QString::fromLocal8Bit(std::strerror(errno)))};
    m_port = ntohs(address.sin_port);
    m_poller.add(m_socket, *this);
    return {};
}

void Listener::readable()
{
    for (;;) {
        const int socket = ::accept4(m_socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0)
            return;
        auto connection = std::make_unique<Connection>(socket, m_poller, *this);
        m_connections.emplace(connection.get(), std::move(connection));
        ++m_counters.connections;
    }
}

void Listener::answer(const MbapFrame &request, std::vector<std::uint8_t> &out)
{
    const std::uint8_t function = request.pdu[0];
    const auto unit = m_units.find(request.unit);
    std::span<const std::uint8_t> pdu;
    if (unit == m_units.end()) {
        pdu = m_responder.refuse(function, ModbusException::NoSuchUnit);
    } else {
        DeviceCounters &counters = *unit->second.counters;
        counters.reads += ModbusResponder::isRead(function);
        counters.writes += ModbusResponder::isWrite(function);
        pdu = m_responder.answer(*unit->second.device, request.pdu, m_clock.steadyNow());
    }
    if (m_responder.exception() != ModbusException::None)
        ++m_counters.badRequests;
    MbapFramer::append(out, {request.transaction, request.unit, pdu});
}

void Listener::end(Connection &connection)
{
    m_connections.erase(&connection);
    --m_counters.connections;
}

} // namespace gridloom
