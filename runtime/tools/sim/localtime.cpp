// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/localtime.h"

#include <cmath>

namespace gridloom {

namespace {

constexpr qint64 kSecondsPerQuarter = 900;
constexpr double kSecondsPerDay = 86'400;

} // namespace

LocalTime::LocalTime(const QDateTime &start, const QTimeZone &zone)
    : m_zone(zone), m_startS(static_cast<double>(start.toMSecsSinceEpoch()) / 1000)
{
}

LocalTime::Moment LocalTime::at(double timeS)
{
    const double utcS = m_startS + timeS;
    const qint64 quarter = static_cast<qint64>(std::floor(utcS / kSecondsPerQuarter));
    if (quarter != m_quarter) {
        m_quarter = quarter;
        m_offsetS = m_zone.offsetFromUtc(QDateTime::fromSecsSinceEpoch(quarter * kSecondsPerQuarter, Qt::UTC));
    }
    const double localS = utcS + m_offsetS;
    const qint64 day = static_cast<qint64>(std::floor(localS / kSecondsPerDay));
    if (day != m_day) {
        m_day = day;
        m_date = QDate(1970, 1, 1).addDays(day);
    }
    return {m_date, localS - static_cast<double>(day) * kSecondsPerDay};
}

} // namespace gridloom
