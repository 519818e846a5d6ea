// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pvmodel.h"

#include <algorithm>
#include <cmath>

namespace gridloom {

void PvModel::step(double stepS, double irradiance)
{
    m_irradiance = irradiance;
    const double available = m_peakW * irradiance / 1000;
    const double cap = m_ratedW * m_limitPercent / 100;
    m_isLimited = available > cap;
    const double target = std::min(available, cap);
    m_powerW += (target - m_powerW) * (1 - std::exp(-stepS / kLagS));
    if (target == 0 && m_powerW < 1)
        m_powerW = 0;
    const double energyWh = m_powerW * stepS / 3600;
    m_todayWh += energyWh;
    m_totalWh += energyWh;
}

} // namespace gridloom
