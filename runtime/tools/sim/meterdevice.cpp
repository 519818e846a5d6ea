// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/meterdevice.h"

#include "tools/sim/formats.h"

#include <cmath>

namespace gridloom {

namespace {

constexpr auto kTable = RegisterTable::Inputs;
constexpr int kRegisters = 44;

} // namespace

MeterDevice::MeterDevice(SiteModel &site) : m_site(site)
{
    RegisterMap &map = registers();
    map.addBlock(kTable, 0, kRegisters);
    for (int i = 0; i < 3; ++i)
        m_phases[static_cast<std::size_t>(i)] = {map.addValue(kTable, 2 * i, kFloat32),
                                                 map.addValue(kTable, 6 + 2 * i, kFloat32),
                                                 map.addValue(kTable, 12 + 2 * i, kFloat32)};
    m_power = map.addValue(kTable, 18, kFloat32);
    m_reactivePower = map.addValue(kTable, 20, kFloat32);
    m_powerFactor = map.addValue(kTable, 22, kFloat32);
    m_frequency = map.addValue(kTable, 24, kFloat32);
    m_imported = map.addValue(kTable, 30, kUInt64);
    m_exported = map.addValue(kTable, 34, kUInt64);
    m_importedShort = map.addValue(kTable, 40, kUInt32);
    m_exportedShort = map.addValue(kTable, 42, kUInt32);
}

void MeterDevice::refresh(RegisterTable, int, SteadyTime now)
{
    m_site.advanceTo(now);
    const SiteModel::State &state = m_site.state();
    RegisterMap &map = registers();
    for (std::size_t i = 0; i < m_phases.size(); ++i) {
        map.set(m_phases[i].volts, Value(state.phases[i].volts));
        map.set(m_phases[i].amperes, Value(state.phases[i].amperes));
        map.set(m_phases[i].watts, Value(state.phases[i].watts));
    }
    const double apparent = std::hypot(state.gridW, state.reactiveVar);
    map.set(m_power, Value(state.gridW));
    map.set(m_reactivePower, Value(state.reactiveVar));
    map.set(m_powerFactor, Value(apparent > 0 ? std::abs(state.gridW) / apparent : 1.0));
    map.set(m_frequency, Value(state.hertz));
    const auto imported = static_cast<std::uint64_t>(state.importedWh);
    const auto exported = static_cast<std::uint64_t>(state.exportedWh);
    map.set(m_imported, Value(imported));
    map.set(m_exported, Value(exported));
    // The short counters roll over, as those of real meters do.
    map.set(m_importedShort, Value(std::uint64_t{static_cast<std::uint32_t>(imported)}));
    map.set(m_exportedShort, Value(std::uint64_t{static_cast<std::uint32_t>(exported)}));
}

bool MeterDevice::accepts(const RegisterMap::Write &) const
{
    return false;
}

void MeterDevice::written(const RegisterMap::Write &, SteadyTime) {}

} // namespace gridloom
