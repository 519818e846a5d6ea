// SPDX-License-Identifier: Apache-2.0
// LoadProfile: a standard load profile (quarter-hour energies) as a smooth power. Read once, then pure and immutable.
#pragma once

#include "core/result.h"

#include <QByteArray>
#include <QDate>

#include <array>
#include <map>

namespace gridloom {

class LoadProfile {
public:
    static constexpr int kQuarters = 96;

    /// Takes profile `name` out of a file with lines `profile,month,day,HH:MM,kWh per quarter of 1 GWh a year`.
    /// Error "sim.profile" when it has no such profile, a line cannot be read or a day is not complete.
    static Result<LoadProfile> parse(const QByteArray &csv, const QString &name);

    /// kW of a customer of 1,000,000 kWh a year. A quarter's mean power holds in its middle; between two middles it is
    /// interpolated, also over midnight. `secondsOfDay` 0 to 86,400, local time.
    double kilowatts(QDate date, double secondsOfDay) const;

private:
    enum class DayType : std::uint8_t { Workday, Saturday, Sunday };
    using Day = std::array<double, kQuarters>; ///< mean kW of each quarter

    const Day &day(QDate date) const;

    std::map<std::pair<int, DayType>, Day> m_days; ///< by month and type
    std::array<int, 13> m_nearestMonth{};          ///< of months 1 to 12: a month that has days
};

} // namespace gridloom
