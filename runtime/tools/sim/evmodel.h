// SPDX-License-Identifier: Apache-2.0
// EvModel: a three-phase charger and the vehicles that come to it (seeded pseudo-random). Power in W, consumption +.
// Pure: time is a parameter, in seconds of the simulation.
#pragma once

#include "tools/sim/generated.h"

namespace gridloom {

class EvModel {
public:
    static constexpr double kLagS = 2.0;     ///< of the current behind the limit (first order)
    static constexpr double kMinAmperes = 6; ///< IEC 61851-1: a lower limit pauses the charge
    enum class State { Free, Waiting, Charging, Full };

    /// The first vehicle comes at `firstArrivalS`.
    EvModel(double maxA, std::uint64_t seed, double firstArrivalS);

    void setLimitA(double amperes) { m_limitA = amperes; } ///< 0 to maxA
    void setEnabled(bool enabled) { m_isEnabled = enabled; }
    /// From nowS to nowS + stepS at a constant power, which powerW() tells afterwards.
    void step(double nowS, double stepS, double voltsPerPhase);

    State state() const { return m_state; }
    double maxA() const { return m_maxA; }
    double limitA() const { return m_limitA; }
    bool isEnabled() const { return m_isEnabled; }
    double currentA() const { return m_currentA; } ///< of each phase
    double powerW() const { return m_powerW; }
    double sessionWh() const { return m_sessionWh; } ///< kept until the next vehicle comes
    double totalWh() const { return m_totalWh; }

private:
    void come(double nowS);
    double targetA() const;

    RandomSequence m_random;
    double m_maxA;
    double m_limitA;
    bool m_isEnabled = true;
    State m_state = State::Free;
    double m_arrivalS;
    double m_departureS = 0;
    double m_vehicleA = 0;
    double m_roomWh = 0;
    double m_currentA = 0;
    double m_powerW = 0;
    double m_sessionWh = 0;
    double m_totalWh = 0;
};

} // namespace gridloom
