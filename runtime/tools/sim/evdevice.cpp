// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/evdevice.h"

#include "tools/sim/formats.h"

namespace gridloom {

namespace {

constexpr auto kInputs = RegisterTable::Inputs;
constexpr int kInputRegisters = 13;
constexpr int kPhases = 3;

} // namespace

EvDevice::EvDevice(SiteModel &site, EvModel &model) : m_site(site), m_model(model)
{
    RegisterMap &map = registers();
    map.addBlock(kInputs, 0, kInputRegisters);
    map.addBlock(RegisterTable::Holding, 0, 1);
    map.addBlock(RegisterTable::Coils, 0, 1);
    map.addBlock(RegisterTable::DiscreteInputs, 0, 2);
    m_state = map.addValue(kInputs, 0, kUInt16);
    m_phases = map.addValue(kInputs, 1, kUInt16);
    for (int i = 0; i < kPhases; ++i)
        m_amperes[static_cast<std::size_t>(i)] = map.addValue(kInputs, 2 + i, kUInt16Tenths);
    m_volts = map.addValue(kInputs, 5, kUInt16Tenths);
    m_power = map.addValue(kInputs, 6, kFloat32);
    m_session = map.addValue(kInputs, 8, kUInt32Swapped);
    m_total = map.addValue(kInputs, 10, kUInt32Swapped);
    m_maxAmperes = map.addValue(kInputs, 12, kUInt16Tenths);
    m_limit = map.addValue(RegisterTable::Holding, 0, kUInt16Tenths, true);
    m_enabled = map.addValue(RegisterTable::Coils, 0, kBit, true);
    m_isPlugged = map.addValue(RegisterTable::DiscreteInputs, 0, kBit);
    m_isCharging = map.addValue(RegisterTable::DiscreteInputs, 1, kBit);
    map.set(m_maxAmperes, Value(model.maxA()));
    map.set(m_limit, Value(model.limitA()));
    map.set(m_enabled, Value(model.isEnabled()));
}

void EvDevice::refresh(RegisterTable, int, SteadyTime now)
{
    m_site.advanceTo(now);
    RegisterMap &map = registers();
    map.set(m_state, Value(static_cast<int>(m_model.state())));
    map.set(m_phases, Value(m_model.currentA() > 0 ? kPhases : 0));
    for (const auto id : m_amperes)
        map.set(id, Value(m_model.currentA()));
    map.set(m_volts, Value(m_site.meanVolts()));
    map.set(m_power, Value(m_model.powerW()));
    map.set(m_session, Value(m_model.sessionWh()));
    map.set(m_total, Value(std::uint64_t{static_cast<std::uint32_t>(m_model.totalWh())}));
    map.set(m_isPlugged, Value(m_model.state() != EvModel::State::Free));
    map.set(m_isCharging, Value(m_model.state() == EvModel::State::Charging));
}

bool EvDevice::accepts(const RegisterMap::Write &write) const
{
    return write.id == m_enabled || *write.value.toDouble() <= m_model.maxA();
}

void EvDevice::written(const RegisterMap::Write &write, SteadyTime now)
{
    // What happened until now happened under the old limit.
    m_site.advanceTo(now);
    if (write.id == m_enabled)
        m_model.setEnabled(write.value.boolean());
    else
        m_model.setLimitA(*write.value.toDouble());
}

} // namespace gridloom
