// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/loadprofile.h"

#include <QList>
#include <QTime>

#include <cmath>
#include <limits>

namespace gridloom {

namespace {

constexpr int kMonths = 12;
constexpr double kSecondsPerQuarter = 900;
constexpr double kQuartersPerHour = 4;

Error profileError(const QString &message)
{
    return {QStringLiteral("sim.profile"), message};
}

/// January is next to December.
int monthsApart(int a, int b)
{
    const int distance = std::abs(a - b);
    return std::min(distance, kMonths - distance);
}

} // namespace

Result<LoadProfile> LoadProfile::parse(const QByteArray &csv, const QString &name)
{
    static constexpr std::pair<const char *, DayType> kDayTypes[] = {
        {"workday", DayType::Workday}, {"saturday", DayType::Saturday}, {"sunday", DayType::Sunday}};
    LoadProfile profile;
    const QByteArray wanted = name.toUtf8();
    const QList<QByteArray> lines = csv.split('\n');
    for (qsizetype i = 1; i < lines.size(); ++i) {
        const QList<QByteArray> fields = lines[i].trimmed().split(',');
        if (fields.first() != wanted)
            continue;
        bool isNumber = false;
        const double energy = fields.value(4).toDouble(&isNumber);
        const int month = fields.value(1).toInt();
        const QTime start = QTime::fromString(QString::fromLatin1(fields.value(3)), QStringLiteral("HH:mm"));
        const auto *type = std::find_if(std::begin(kDayTypes), std::end(kDayTypes),
                                        [&](const auto &t) { return fields.value(2) == t.first; });
        if (!isNumber || energy < 0 || month < 1 || month > kMonths || !start.isValid() || type == std::end(kDayTypes))
            return profileError(QStringLiteral("load profile, line %1 cannot be read").arg(i + 1));
        auto [day, isNew] = profile.m_days.try_emplace({month, type->second});
        if (isNew)
            day->second.fill(std::numeric_limits<double>::quiet_NaN());
        day->second[static_cast<std::size_t>(start.msecsSinceStartOfDay() / 900'000)] = energy * kQuartersPerHour;
    }
    if (profile.m_days.empty())
        return profileError(
            QStringLiteral("there is no load profile \"%1\"; use \"commerce\" or \"household\"").arg(name));
    for (const auto &[key, day] : profile.m_days)
        if (std::any_of(day.begin(), day.end(), [](double kw) { return std::isnan(kw); })
            || !profile.m_days.contains({key.first, DayType::Workday})
            || !profile.m_days.contains({key.first, DayType::Saturday})
            || !profile.m_days.contains({key.first, DayType::Sunday}))
            return profileError(QStringLiteral("load profile \"%1\", month %2 has gaps").arg(name).arg(key.first));
    for (int month = 1; month <= kMonths; ++month) {
        const auto nearest =
            std::min_element(profile.m_days.begin(), profile.m_days.end(), [month](const auto &a, const auto &b) {
                return monthsApart(month, a.first.first) < monthsApart(month, b.first.first);
            });
        profile.m_nearestMonth[static_cast<std::size_t>(month)] = nearest->first.first;
    }
    return profile;
}

const LoadProfile::Day &LoadProfile::day(QDate date) const
{
    DayType type = DayType::Workday;
    if (date.dayOfWeek() == Qt::Saturday)
        type = DayType::Saturday;
    else if (date.dayOfWeek() == Qt::Sunday)
        type = DayType::Sunday;
    return m_days.at({m_nearestMonth[static_cast<std::size_t>(date.month())], type});
}

double LoadProfile::kilowatts(QDate date, double secondsOfDay) const
{
    const double place = secondsOfDay / kSecondsPerQuarter - 0.5;
    const double left = std::floor(place);
    const auto meanOf = [&](int quarter) {
        if (quarter < 0)
            return day(date.addDays(-1))[kQuarters - 1];
        if (quarter >= kQuarters)
            return day(date.addDays(1))[0];
        return day(date)[static_cast<std::size_t>(quarter)];
    };
    const int quarter = static_cast<int>(left);
    const double before = meanOf(quarter);
    return before + (meanOf(quarter + 1) - before) * (place - left);
}

} // namespace gridloom
