// SPDX-License-Identifier: Apache-2.0
// SimDevice: one simulated Modbus unit: a register map, and what stands behind it. Called by ModbusResponder on the
// thread of the listeners.
#pragma once

#include "core/clock.h"
#include "tools/sim/registermap.h"

namespace gridloom {

class JsonWriter;

class SimDevice {
public:
    virtual ~SimDevice() = default;

    /// Brings the registers up to date; called before each read. `now` is a moment of the simulation's clock.
    virtual void refresh(RegisterTable table, int address, SteadyTime now) = 0;
    /// Whether a write is within the value's range; false gives exception 3.
    virtual bool accepts(const RegisterMap::Write &write) const = 0;
    /// After the registers hold the new value.
    virtual void written(const RegisterMap::Write &write, SteadyTime now) = 0;

    /// Adds keys of its own to the device's entry in the report.
    virtual void describe(JsonWriter &) const {}

    RegisterMap &registers() { return m_registers; }
    const RegisterMap &registers() const { return m_registers; }

protected:
    SimDevice() = default;
    Q_DISABLE_COPY_MOVE(SimDevice)

private:
    RegisterMap m_registers;
};

} // namespace gridloom
