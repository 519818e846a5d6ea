// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/sitemodel.h"

#include <cmath>

namespace gridloom {

namespace {

constexpr double kStepS = std::chrono::duration<double>(SiteModel::kStep).count();
constexpr double kSecondsPerHour = 3600;
constexpr double kKwhPerYearOfProfile = 1'000'000;
constexpr double kNominalVolts = 230;
constexpr double kNominalHertz = 50;
/// Of the base load; what is left is on L3.
constexpr double kShareL1 = 0.38;
constexpr double kShareL2 = 0.33;
/// Reactive power of the base load: a power factor of 0.97.
constexpr double kVarPerWatt = 0.25;
/// A cloud reaches the panels of the next inverter later.
constexpr double kCloudDelayS = 6;

/// Different generated series of one seed.
enum class Series : std::uint64_t { Clouds = 1, Machine, LoadRipple, Frequency, Arrivals, Volts = 16, Vehicles = 64 };

std::uint64_t seedOf(std::uint64_t seed, Series series, std::uint64_t index = 0)
{
    return RandomSequence(seed * 0x1000U + static_cast<std::uint64_t>(series) + index).next();
}

/// -1 to 1.
double swing(std::uint64_t seed, double timeS, double periodS)
{
    return 2 * ripple(seed, timeS, periodS) - 1;
}

} // namespace

SiteModel::SiteModel(const Settings &settings, LoadProfile profile, SolarDay solarDay, SteadyTime start)
    : m_settings(settings), m_profile(std::move(profile)), m_solarDay(std::move(solarDay)),
      m_localTime(settings.start, settings.zone), m_start(start), m_date(m_localTime.at(0).date)
{
    stepVoltages();
}

PvModel &SiteModel::addPv(double ratedW, double peakW)
{
    return m_pvs.emplace_back(ratedW, peakW);
}

BatteryModel &SiteModel::addBattery(const BatteryModel::Rating &rating)
{
    return m_batteries.emplace_back(rating);
}

EvModel &SiteModel::addEv(double maxA)
{
    const std::uint64_t index = m_evs.size();
    RandomSequence arrivals(seedOf(m_settings.seed, Series::Arrivals, index));
    const double firstArrivalS = index == 0 ? 0 : arrivals.between(10, 120);
    return m_evs.emplace_back(maxA, seedOf(m_settings.seed, Series::Vehicles, index), firstArrivalS);
}

void SiteModel::advanceTo(SteadyTime now)
{
    // The step that begins now is done too: its constant power is what a meter shows at this moment.
    while (m_start + m_steps * kStep <= now)
        step();
}

double SiteModel::nowS() const
{
    return static_cast<double>(m_steps) * kStepS;
}

double SiteModel::meanVolts() const
{
    return (m_state.phases[0].volts + m_state.phases[1].volts + m_state.phases[2].volts) / 3;
}

void SiteModel::step()
{
    const double nowS = this->nowS();
    const LocalTime::Moment moment = m_localTime.at(nowS);
    if (moment.date != m_date) {
        m_date = moment.date;
        for (PvModel &pv : m_pvs)
            pv.startNewDay();
    }
    stepVoltages();

    const double clearSky = m_solarDay.irradiance(moment.secondsOfDay);
    m_state.pvW = 0;
    double delayS = 0;
    for (PvModel &pv : m_pvs) {
        const std::uint64_t clouds = seedOf(m_settings.seed, Series::Clouds);
        pv.step(kStepS, clearSky * cloudTransmittance(clouds, nowS - delayS));
        m_state.pvW += pv.powerW();
        delayS += kCloudDelayS;
    }
    m_state.batteryW = 0;
    for (BatteryModel &battery : m_batteries) {
        battery.step(nowS, kStepS);
        m_state.batteryW += battery.powerW();
    }
    double vehiclesW = 0;
    for (EvModel &ev : m_evs) {
        ev.step(nowS, kStepS, meanVolts());
        vehiclesW += ev.powerW();
    }
    const double baseW = baseLoadW(moment);
    m_state.loadW = baseW + vehiclesW;
    m_state.gridW = m_state.loadW - m_state.pvW - m_state.batteryW;
    splitPhases(baseW);
    const double energyWh = m_state.gridW * kStepS / kSecondsPerHour;
    (energyWh >= 0 ? m_state.importedWh : m_state.exportedWh) += std::abs(energyWh);
    ++m_steps;
}

double SiteModel::baseLoadW(const LocalTime::Moment &moment) const
{
    const double kw =
        m_profile.kilowatts(moment.date, moment.secondsOfDay) * m_settings.loadKwhPerYear / kKwhPerYearOfProfile;
    const double rippled = kw * (1 + 0.03 * swing(seedOf(m_settings.seed, Series::LoadRipple), nowS(), 2));
    const bool isOn = isMachineOn(seedOf(m_settings.seed, Series::Machine), nowS());
    return 1000 * rippled + (isOn ? m_settings.machineW : 0);
}

void SiteModel::stepVoltages()
{
    for (std::size_t i = 0; i < m_state.phases.size(); ++i)
        m_state.phases[i].volts = kNominalVolts + 3 * swing(seedOf(m_settings.seed, Series::Volts, i), nowS(), 5);
    m_state.hertz = kNominalHertz + 0.03 * swing(seedOf(m_settings.seed, Series::Frequency), nowS(), 4);
}

void SiteModel::splitPhases(double baseW)
{
    // Everything but the base load is symmetric. The last phase takes the remainder, so that the sum is exact.
    const double symmetricW = (m_state.gridW - baseW) / 3;
    auto &[l1, l2, l3] = m_state.phases;
    l1.watts = symmetricW + kShareL1 * baseW;
    l2.watts = symmetricW + kShareL2 * baseW;
    l3.watts = m_state.gridW - l1.watts - l2.watts;
    m_state.reactiveVar = kVarPerWatt * baseW;
    for (Phase &phase : m_state.phases)
        phase.amperes = std::hypot(phase.watts, m_state.reactiveVar / 3) / phase.volts;
}

} // namespace gridloom
