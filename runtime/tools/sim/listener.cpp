// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/listener.h"

#include "tools/sim/connection.h"
#include "tools/sim/mbapframer.h"

namespace gridloom {

Listener::Listener(const Clock &clock, WireCounters &counters, QObject *parent)
    : QTcpServer(parent), m_clock(clock), m_counters(counters)
{
}

void Listener::addUnit(int unit, SimDevice &device, DeviceCounters &counters)
{
    m_units.insert_or_assign(unit, Unit{&device, &counters});
}

Result<void> Listener::open(quint16 port)
{
    if (listen(QHostAddress::LocalHost, port))
        return {};
    return Error{QStringLiteral("sim.listen"), QStringLiteral("port %1 of 127.0.0.1 cannot be opened: %2; choose another "
                                                              "port, or 0 for any free one")
                                                   .arg(port)
                                                   .arg(errorString())};
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

void Listener::incomingConnection(qintptr socket)
{
    new Connection(static_cast<int>(socket), *this); // ends itself
}

} // namespace gridloom
