// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/batterydevice.h"

#include "tools/sim/formats.h"

#include <cmath>

namespace gridloom {

namespace {

constexpr auto kInputs = RegisterTable::Inputs;
constexpr auto kHolding = RegisterTable::Holding;
constexpr int kInputRegisters = 20;
constexpr int kSetpointAddress = 40;
constexpr int kHeartbeatAddress = 42;
constexpr int kHoldingRegisters = 3;

enum : int { kStandby = 0, kCharging = 1, kDischarging = 2, kSafe = 3 };

int stateOf(const BatteryModel &model)
{
    if (model.isSafe())
        return kSafe;
    if (model.powerW() == 0)
        return kStandby;
    return model.powerW() > 0 ? kDischarging : kCharging;
}

} // namespace

BatteryDevice::BatteryDevice(SiteModel &site, BatteryModel &model) : m_site(site), m_model(model)
{
    RegisterMap &map = registers();
    map.addBlock(kInputs, 0, kInputRegisters);
    map.addBlock(kHolding, kSetpointAddress, kHoldingRegisters);
    m_soc = map.addValue(kInputs, 0, kUInt16Tenths);
    m_soh = map.addValue(kInputs, 1, kUInt16Tenths);
    m_power = map.addValue(kInputs, 2, kInt32);
    m_dcVolts = map.addValue(kInputs, 4, kUInt16Tenths);
    m_dcAmperes = map.addValue(kInputs, 5, kInt16Tenths);
    m_maxCharge = map.addValue(kInputs, 6, kUInt16Hundredths);
    m_maxDischarge = map.addValue(kInputs, 7, kUInt16Hundredths);
    m_temperature = map.addValue(kInputs, 8, kInt16Tenths);
    m_state = map.addValue(kInputs, 9, kUInt16);
    m_charged = map.addValue(kInputs, 10, kUInt64);
    m_discharged = map.addValue(kInputs, 14, kUInt64);
    m_stored = map.addValue(kInputs, 18, kFloat32);
    m_setpoint = map.addValue(kHolding, kSetpointAddress, kInt32, true);
    m_heartbeat = map.addValue(kHolding, kHeartbeatAddress, kUInt16, true);
    map.set(m_soh, Value(98.5));
}

void BatteryDevice::refresh(RegisterTable, int, SteadyTime now)
{
    m_site.advanceTo(now);
    RegisterMap &map = registers();
    const double volts = 600 + 1.5 * m_model.socPercent();
    map.set(m_soc, Value(m_model.socPercent()));
    map.set(m_power, Value(m_model.powerW()));
    map.set(m_dcVolts, Value(volts));
    map.set(m_dcAmperes, Value(m_model.powerW() / volts));
    map.set(m_maxCharge, Value(m_model.maxChargeW() / 1000));
    map.set(m_maxDischarge, Value(m_model.maxDischargeW() / 1000));
    map.set(m_temperature, Value(22 + 10 * std::abs(m_model.powerW()) / m_model.ratedW()));
    map.set(m_state, Value(stateOf(m_model)));
    map.set(m_charged, Value(static_cast<std::uint64_t>(m_model.chargedWh())));
    map.set(m_discharged, Value(static_cast<std::uint64_t>(m_model.dischargedWh())));
    map.set(m_stored, Value(m_model.storedWh() / 1000));
    map.set(m_setpoint, Value(m_model.setpointW()));
}

bool BatteryDevice::accepts(const RegisterMap::Write &write) const
{
    return write.id == m_heartbeat || std::abs(*write.value.toDouble()) <= m_model.ratedW();
}

void BatteryDevice::written(const RegisterMap::Write &write, SteadyTime now)
{
    // What happened until now happened under the old setpoint.
    m_site.advanceTo(now);
    if (write.id == m_setpoint)
        m_model.setSetpoint(*write.value.toDouble(), m_site.nowS());
    else
        m_model.heartbeat(m_site.nowS());
}

} // namespace gridloom
