// SPDX-License-Identifier: Apache-2.0
// BatteryDevice: a battery inverter with its BMS; register map in docs/simulator.md, "battery".
#pragma once

#include "tools/sim/simdevice.h"
#include "tools/sim/sitemodel.h"

namespace gridloom {

class BatteryDevice final : public SimDevice {
public:
    /// The model outlives the device.
    BatteryDevice(SiteModel &site, BatteryModel &model);

    void refresh(RegisterTable table, int address, SteadyTime now) override;
    bool accepts(const RegisterMap::Write &write) const override;
    void written(const RegisterMap::Write &write, SteadyTime now) override;

private:
    SiteModel &m_site;
    BatteryModel &m_model;
    RegisterMap::ValueId m_soc, m_soh, m_power, m_dcVolts, m_dcAmperes, m_maxCharge, m_maxDischarge, m_temperature;
    RegisterMap::ValueId m_state, m_charged, m_discharged, m_stored, m_setpoint, m_heartbeat;
};

} // namespace gridloom
