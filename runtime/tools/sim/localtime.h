// SPDX-License-Identifier: Apache-2.0
// LocalTime: the site's wall clock as a function of the simulation's seconds. Days with a change of the offset have
// their 23 or 25 hours.
#pragma once

#include <QDateTime>
#include <QTimeZone>

namespace gridloom {

class LocalTime {
public:
    struct Moment {
        QDate date;
        double secondsOfDay = 0;
    };

    /// `start` is the moment of second 0.
    LocalTime(const QDateTime &start, const QTimeZone &zone);

    /// `timeS` from 0. Cheap: asks the zone again only in another quarter-hour, on which all offsets change.
    Moment at(double timeS);

private:
    QTimeZone m_zone;
    double m_startS; ///< since 1970, UTC
    qint64 m_quarter = -1;
    int m_offsetS = 0;
    qint64 m_day = -1; ///< days since 1970, local
    QDate m_date;
};

} // namespace gridloom
