// SPDX-License-Identifier: Apache-2.0
// MeterDevice: the grid meter of a site; register map in docs/simulator.md, "gridMeter". It has nothing to write.
#pragma once

#include "tools/sim/simdevice.h"
#include "tools/sim/sitemodel.h"

namespace gridloom {

class MeterDevice final : public SimDevice {
public:
    /// The model outlives the device.
    explicit MeterDevice(SiteModel &site);

    void refresh(RegisterTable table, int address, SteadyTime now) override;
    bool accepts(const RegisterMap::Write &write) const override;
    void written(const RegisterMap::Write &write, SteadyTime now) override;

private:
    struct PhaseIds {
        RegisterMap::ValueId volts, amperes, watts;
    };

    SiteModel &m_site;
    std::array<PhaseIds, 3> m_phases{};
    RegisterMap::ValueId m_power, m_reactivePower, m_powerFactor, m_frequency;
    RegisterMap::ValueId m_imported, m_exported, m_importedShort, m_exportedShort;
};

} // namespace gridloom
