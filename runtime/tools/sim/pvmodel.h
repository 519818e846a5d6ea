// SPDX-License-Identifier: Apache-2.0
// PvModel: an inverter with its panels. Power in W, production +. Pure: time is a parameter.
#pragma once

namespace gridloom {

class PvModel {
public:
    static constexpr double kLagS = 1.0; ///< of the power behind sun and limit (first order)

    /// `peakW`: the panels' power at 1,000 W/m2.
    PvModel(double ratedW, double peakW) : m_ratedW(ratedW), m_peakW(peakW) {}

    void setLimitPercent(double percent) { m_limitPercent = percent; } ///< 0 to 100 of the rated power
    /// One step of stepS at a constant power, which powerW() tells afterwards. Irradiance in W/m2 on the panels.
    void step(double stepS, double irradiance);
    void startNewDay() { m_todayWh = 0; }

    double ratedW() const { return m_ratedW; }
    double limitPercent() const { return m_limitPercent; }
    double irradiance() const { return m_irradiance; }
    double powerW() const { return m_powerW; }
    bool isLimited() const { return m_isLimited; }
    double todayWh() const { return m_todayWh; }
    double totalWh() const { return m_totalWh; }

private:
    double m_ratedW;
    double m_peakW;
    double m_limitPercent = 100;
    double m_irradiance = 0;
    double m_powerW = 0;
    double m_todayWh = 0;
    double m_totalWh = 0;
    bool m_isLimited = false;
};

} // namespace gridloom
