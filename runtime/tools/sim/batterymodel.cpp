// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/batterymodel.h"

#include <algorithm>
#include <cmath>

namespace gridloom {

namespace {

constexpr double kChargeFullPowerUpTo = 90;
constexpr double kChargeEndsAt = 100;
constexpr double kDischargeFullPowerFrom = 15;
constexpr double kDischargeEndsAt = 5;
constexpr double kSecondsPerHour = 3600;

} // namespace

BatteryModel::BatteryModel(const Rating &rating)
    : m_rating(rating), m_storedWh(rating.capacityWh * rating.socPercent / 100)
{
}

void BatteryModel::setSetpoint(double watts, double nowS)
{
    m_setpointW = watts;
    heartbeat(nowS);
}

void BatteryModel::heartbeat(double nowS)
{
    m_lastSignS = nowS;
    m_isSafe = false;
}

double BatteryModel::maxChargeW() const
{
    const double share = (kChargeEndsAt - socPercent()) / (kChargeEndsAt - kChargeFullPowerUpTo);
    return m_rating.ratedW * std::clamp(share, 0.0, 1.0);
}

double BatteryModel::maxDischargeW() const
{
    const double share = (socPercent() - kDischargeEndsAt) / (kDischargeFullPowerFrom - kDischargeEndsAt);
    return m_rating.ratedW * std::clamp(share, 0.0, 1.0);
}

void BatteryModel::step(double nowS, double stepS)
{
    if (nowS - m_lastSignS >= m_rating.safeAfterS) {
        m_isSafe = true;
        m_setpointW = 0;
    }
    const double lagged = m_powerW + (m_setpointW - m_powerW) * (1 - std::exp(-stepS / kLagS));
    m_powerW = std::clamp(lagged, -maxChargeW(), maxDischargeW());
    // A lag never quite arrives; below a watt it has.
    if (m_setpointW == 0 && std::abs(m_powerW) < 1)
        m_powerW = 0;

    const double energyWh = m_powerW * stepS / kSecondsPerHour;
    if (energyWh >= 0) {
        m_dischargedWh += energyWh;
        m_storedWh -= energyWh / kEfficiency;
    } else {
        m_chargedWh -= energyWh;
        m_storedWh -= energyWh * kEfficiency;
    }
}

} // namespace gridloom
