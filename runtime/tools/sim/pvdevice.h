// SPDX-License-Identifier: Apache-2.0
// PvDevice: a PV inverter; register map in docs/simulator.md, "pvInverter".
#pragma once

#include "tools/sim/simdevice.h"
#include "tools/sim/sitemodel.h"

namespace gridloom {

class PvDevice final : public SimDevice {
public:
    /// The model outlives the device.
    PvDevice(SiteModel &site, PvModel &model);

    void refresh(RegisterTable table, int address, SteadyTime now) override;
    bool accepts(const RegisterMap::Write &write) const override;
    void written(const RegisterMap::Write &write, SteadyTime now) override;

private:
    SiteModel &m_site;
    PvModel &m_model;
    RegisterMap::ValueId m_state, m_temperature, m_power, m_today, m_total, m_dcVolts, m_dcAmperes, m_acVolts;
    RegisterMap::ValueId m_frequency, m_irradiance, m_rated, m_limit;
};

} // namespace gridloom
