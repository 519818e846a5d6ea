// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pvdevice.h"

#include "tools/sim/formats.h"

namespace gridloom {

namespace {

constexpr auto kTable = RegisterTable::Holding;
constexpr int kRegisters = 15;
constexpr int kLimitAddress = 40;
constexpr double kInverterEfficiency = 0.97;

enum : int { kNight = 1, kProducing = 2, kLimited = 3 };

/// Panels have a voltage as soon as there is light, and it sags a little under load.
double dcVolts(const PvModel &model)
{
    return model.irradiance() > 0 ? 640 - 60 * model.powerW() / model.ratedW() : 0;
}

} // namespace

PvDevice::PvDevice(SiteModel &site, PvModel &model) : m_site(site), m_model(model)
{
    RegisterMap &map = registers();
    map.addBlock(kTable, 0, kRegisters);
    map.addBlock(kTable, kLimitAddress, 1);
    m_state = map.addValue(kTable, 0, kUInt16);
    m_temperature = map.addValue(kTable, 1, kInt16Tenths);
    m_power = map.addValue(kTable, 2, kInt32Swapped);
    m_today = map.addValue(kTable, 4, kUInt32Swapped);
    m_total = map.addValue(kTable, 6, kUInt32Swapped);
    m_dcVolts = map.addValue(kTable, 8, kUInt16Tenths);
    m_dcAmperes = map.addValue(kTable, 9, kInt16Tenths);
    m_acVolts = map.addValue(kTable, 10, kUInt16Tenths);
    m_frequency = map.addValue(kTable, 11, kUInt16Hundredths);
    m_irradiance = map.addValue(kTable, 12, kFloat32Swapped);
    m_rated = map.addValue(kTable, 14, kUInt16Tenths);
    m_limit = map.addValue(kTable, kLimitAddress, kUInt16Tenths, true);
    map.set(m_rated, Value(model.ratedW() / 1000));
    map.set(m_limit, Value(model.limitPercent()));
}

void PvDevice::refresh(RegisterTable, int, SteadyTime now)
{
    m_site.advanceTo(now);
    RegisterMap &map = registers();
    const double volts = dcVolts(m_model);
    const int producing = m_model.isLimited() ? kLimited : kProducing;
    map.set(m_state, Value(m_model.irradiance() > 0 ? producing : kNight));
    map.set(m_temperature, Value(20 + 35 * m_model.powerW() / m_model.ratedW()));
    map.set(m_power, Value(m_model.powerW()));
    map.set(m_today, Value(m_model.todayWh()));
    map.set(m_total, Value(std::uint64_t{static_cast<std::uint32_t>(m_model.totalWh())}));
    map.set(m_dcVolts, Value(volts));
    map.set(m_dcAmperes, Value(volts > 0 ? m_model.powerW() / kInverterEfficiency / volts : 0.0));
    map.set(m_acVolts, Value(m_site.meanVolts()));
    map.set(m_frequency, Value(m_site.state().hertz));
    map.set(m_irradiance, Value(m_model.irradiance()));
}

bool PvDevice::accepts(const RegisterMap::Write &write) const
{
    const double percent = *write.value.toDouble();
    return percent >= 0 && percent <= 100;
}

void PvDevice::written(const RegisterMap::Write &write, SteadyTime now)
{
    // What happened until now happened under the old limit.
    m_site.advanceTo(now);
    m_model.setLimitPercent(*write.value.toDouble());
}

} // namespace gridloom
