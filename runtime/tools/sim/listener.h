// SPDX-License-Identifier: Apache-2.0
// Listener: one Modbus TCP port on 127.0.0.1 with the units behind it. Lives on the poller's thread; answers at once
// and never blocks.
#pragma once

#include "core/clock.h"
#include "core/result.h"
#include "tools/sim/counters.h"
#include "tools/sim/modbusresponder.h"
#include "tools/sim/poller.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace gridloom {

class Connection;
struct MbapFrame;

class Listener final : public Poller::Source {
public:
    /// All three outlive the listener.
    Listener(Poller &poller, const Clock &clock, WireCounters &counters);
    ~Listener();
    Q_DISABLE_COPY_MOVE(Listener)

    /// The device and its counters outlive the listener. Add all units before open().
    void addUnit(int unit, SimDevice &device, DeviceCounters &counters);
    /// Port 0 takes any free one, see port(). Once. Error "sim.listen".
    Result<void> open(quint16 port);
    quint16 port() const { return m_port; }

    void readable() override;

    // For connections.
    /// Appends the answer frame to `out`.
    void answer(const MbapFrame &request, std::vector<std::uint8_t> &out);
    void countBadFrame() { ++m_counters.badFrames; }
    /// Deletes the connection.
    void end(Connection &connection);

private:
    struct Unit {
        SimDevice *device;
        DeviceCounters *counters;
    };

    Poller &m_poller;
    const Clock &m_clock;
    WireCounters &m_counters;
    int m_socket = -1;
    quint16 m_port = 0;
    std::map<int, Unit> m_units;
    std::unordered_map<Connection *, std::unique_ptr<Connection>> m_connections;
    ModbusResponder m_responder;
};

} // namespace gridloom
