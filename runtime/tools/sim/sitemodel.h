// SPDX-License-Identifier: Apache-2.0
// SiteModel: the physics behind all electrical devices of a scenario, in steps of 100 ms of the injected clock. It runs
// only when somebody looks (advanceTo), so an idle simulator costs nothing. Signs: grid import +, battery discharge +;
// after each step P_load = P_grid + P_pv + P_battery. Not thread-safe; no I/O.
#pragma once

#include "core/clock.h"
#include "tools/sim/batterymodel.h"
#include "tools/sim/evmodel.h"
#include "tools/sim/loadprofile.h"
#include "tools/sim/localtime.h"
#include "tools/sim/pvmodel.h"
#include "tools/sim/solarday.h"

#include <array>
#include <deque>

namespace gridloom {

class SiteModel {
public:
    static constexpr std::chrono::milliseconds kStep{100};

    struct Settings {
        QTimeZone zone = QTimeZone::utc();
        QDateTime start; ///< the moment at which the simulation starts
        double loadKwhPerYear = 0;
        double machineW = 0;
        std::uint64_t seed = 1;
    };
    struct Phase {
        double volts = 0; ///< to neutral
        double amperes = 0;
        double watts = 0; ///< import +
    };
    /// What the last step was, and the energies up to its end.
    struct State {
        double loadW = 0; ///< profile, machine and vehicles
        double pvW = 0;
        double batteryW = 0;
        double gridW = 0;
        double reactiveVar = 0;
        double hertz = 50;
        std::array<Phase, 3> phases;
        double importedWh = 0;
        double exportedWh = 0;
    };

    /// `start` is the clock's moment of second 0.
    SiteModel(const Settings &settings, LoadProfile profile, SolarDay solarDay, SteadyTime start);

    // Add devices before the first advanceTo(). References stay valid as long as the model lives.
    PvModel &addPv(double ratedW, double peakW);
    BatteryModel &addBattery(const BatteryModel::Rating &rating);
    EvModel &addEv(double maxA);

    /// Does all steps that begin at or before `now`.
    void advanceTo(SteadyTime now);
    /// Seconds since the start, up to which the steps are done: where the next one begins.
    double nowS() const;
    const State &state() const { return m_state; }
    double meanVolts() const;

private:
    void step();
    double baseLoadW(const LocalTime::Moment &moment) const;
    void stepVoltages();
    void splitPhases(double baseW);

    Settings m_settings;
    LoadProfile m_profile;
    SolarDay m_solarDay;
    LocalTime m_localTime;
    SteadyTime m_start;
    std::int64_t m_steps = 0;
    QDate m_date;
    std::deque<PvModel> m_pvs;
    std::deque<BatteryModel> m_batteries;
    std::deque<EvModel> m_evs;
    State m_state;
};

} // namespace gridloom
