// SPDX-License-Identifier: Apache-2.0
// BatteryModel: a storage system with its BMS. Power is on the AC side in W, discharge +. Pure: time is a parameter, in
// seconds of the simulation.
#pragma once

namespace gridloom {

class BatteryModel {
public:
    static constexpr double kEfficiency = 0.96; ///< one way
    static constexpr double kLagS = 0.5;        ///< of the power behind the setpoint (first order)

    struct Rating {
        double capacityWh = 0;
        double ratedW = 0;
        double socPercent = 50; ///< at the start
        double safeAfterS = 60;
    };
    explicit BatteryModel(const Rating &rating);

    /// -ratedW to ratedW. Also a sign of life.
    void setSetpoint(double watts, double nowS);
    /// A sign of life: without one for safeAfterS the setpoint falls to its safe value, 0.
    void heartbeat(double nowS);
    /// From nowS to nowS + stepS at a constant power, which powerW() tells afterwards.
    void step(double nowS, double stepS);

    double ratedW() const { return m_rating.ratedW; }
    double setpointW() const { return m_setpointW; }
    bool isSafe() const { return m_isSafe; }
    double powerW() const { return m_powerW; }
    double storedWh() const { return m_storedWh; }
    double socPercent() const { return 100 * m_storedWh / m_rating.capacityWh; }
    /// What the BMS allows now: from full power at 90 % to 0 at 100 %.
    double maxChargeW() const;
    /// From full power at 15 % to 0 at 5 %.
    double maxDischargeW() const;
    double chargedWh() const { return m_chargedWh; }
    double dischargedWh() const { return m_dischargedWh; }

private:
    Rating m_rating;
    double m_setpointW = 0;
    double m_powerW = 0;
    double m_storedWh = 0;
    double m_chargedWh = 0;
    double m_dischargedWh = 0;
    double m_lastSignS = 0;
    bool m_isSafe = false;
};

} // namespace gridloom
