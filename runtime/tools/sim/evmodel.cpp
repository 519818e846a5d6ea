// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/evmodel.h"

#include <algorithm>
#include <cmath>

namespace gridloom {

namespace {

constexpr double kLongestStayS = 4 * 3600;
constexpr double kPhases = 3;
constexpr double kNoCurrentA = 0.05; // a lag never quite arrives

} // namespace

EvModel::EvModel(double maxA, std::uint64_t seed, double firstArrivalS)
    : m_random(seed), m_maxA(maxA), m_limitA(maxA), m_arrivalS(firstArrivalS)
{
}

void EvModel::come(double nowS)
{
    m_state = State::Waiting;
    m_roomWh = m_random.between(5'000, 40'000);
    m_vehicleA = m_random.below(2) == 0 ? 16 : 32;
    m_sessionWh = 0;
    m_departureS = nowS + kLongestStayS;
}

double EvModel::targetA() const
{
    if (m_state == State::Free || m_state == State::Full || !m_isEnabled || m_limitA < kMinAmperes)
        return 0;
    return std::min({m_limitA, m_maxA, m_vehicleA});
}

void EvModel::step(double nowS, double stepS, double voltsPerPhase)
{
    if (m_state == State::Free && nowS >= m_arrivalS)
        come(nowS);
    if (m_state != State::Free && m_state != State::Full && m_sessionWh >= m_roomWh) {
        m_state = State::Full;
        m_departureS = std::min(m_departureS, nowS + m_random.between(300, 1200));
    }
    if (m_state != State::Free && nowS >= m_departureS) {
        m_state = State::Free;
        m_currentA = 0;
        m_arrivalS = nowS + m_random.between(600, 3600);
    }

    const double target = targetA();
    m_currentA += (target - m_currentA) * (1 - std::exp(-stepS / kLagS));
    if (target == 0 && m_currentA < kNoCurrentA)
        m_currentA = 0;
    if (m_state == State::Waiting || m_state == State::Charging)
        m_state = m_currentA > 0 ? State::Charging : State::Waiting;

    m_powerW = kPhases * voltsPerPhase * m_currentA;
    const double energyWh = m_powerW * stepS / 3600;
    m_sessionWh += energyWh;
    m_totalWh += energyWh;
}

} // namespace gridloom
