// SPDX-License-Identifier: Apache-2.0
// Listener: one Modbus TCP port on 127.0.0.1 with the units behind it. Lives on one thread with an event loop; answers
// at once and never blocks.
#pragma once

#include "core/clock.h"
#include "core/result.h"
#include "tools/sim/counters.h"
#include "tools/sim/modbusresponder.h"

#include <QTcpServer>

#include <map>
#include <vector>

namespace gridloom {

struct MbapFrame;

class Listener : public QTcpServer {
    Q_OBJECT
public:
    /// Clock and counters outlive the listener.
    Listener(const Clock &clock, WireCounters &counters, QObject *parent = nullptr);

    /// The device and its counters outlive the listener. Add all units before open().
    void addUnit(int unit, SimDevice &device, DeviceCounters &counters);
    /// Port 0 takes any free one, see serverPort(). Error "sim.listen".
    Result<void> open(quint16 port);

    /// Appends the answer frame to `out`. For connections.
    void answer(const MbapFrame &request, std::vector<std::uint8_t> &out);
    WireCounters &counters() { return m_counters; }

protected:
    void incomingConnection(qintptr socket) override;

private:
    struct Unit {
        SimDevice *device;
        DeviceCounters *counters;
    };

    const Clock &m_clock;
    WireCounters &m_counters;
    std::map<int, Unit> m_units;
    ModbusResponder m_responder;
};

} // namespace gridloom
