// SPDX-License-Identifier: Apache-2.0
// EvDevice: an EV charger; register map in docs/simulator.md, "evCharger".
#pragma once

#include "tools/sim/simdevice.h"
#include "tools/sim/sitemodel.h"

namespace gridloom {

class EvDevice final : public SimDevice {
public:
    /// The model outlives the device.
    EvDevice(SiteModel &site, EvModel &model);

    void refresh(RegisterTable table, int address, SteadyTime now) override;
    bool accepts(const RegisterMap::Write &write) const override;
    void written(const RegisterMap::Write &write, SteadyTime now) override;

private:
    SiteModel &m_site;
    EvModel &m_model;
    RegisterMap::ValueId m_state, m_phases, m_volts, m_power, m_session, m_total, m_maxAmperes;
    std::array<RegisterMap::ValueId, 3> m_amperes{};
    RegisterMap::ValueId m_limit, m_enabled, m_isPlugged, m_isCharging;
};

} // namespace gridloom
