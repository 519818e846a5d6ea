// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/solarday.h"

#include <QList>
#include <QTime>

#include <cmath>

namespace gridloom {

namespace {

constexpr int kSamples = 288;
constexpr int kSecondsPerSample = 300;

} // namespace

Result<SolarDay> SolarDay::parse(const QByteArray &csv)
{
    SolarDay solar;
    const QList<QByteArray> lines = csv.trimmed().split('\n');
    for (qsizetype i = 1; i < lines.size(); ++i) {
        const QList<QByteArray> fields = lines[i].trimmed().split(',');
        bool isNumber = false;
        const double irradiance = fields.value(1).toDouble(&isNumber);
        const QTime expected = QTime(0, 0).addSecs(static_cast<int>(i - 1) * kSecondsPerSample);
        if (!isNumber || irradiance < 0
            || QTime::fromString(QString::fromLatin1(fields.first()), QStringLiteral("HH:mm")) != expected)
            return Error{QStringLiteral("sim.profile"),
                         QStringLiteral("solar day, line %1: expected the time %2 and W/m2")
                             .arg(i + 1)
                             .arg(expected.toString(QStringLiteral("HH:mm")))};
        solar.m_samples.push_back(irradiance);
    }
    if (solar.m_samples.size() != kSamples)
        return Error{QStringLiteral("sim.profile"),
                     QStringLiteral("solar day: %1 samples instead of %2").arg(solar.m_samples.size()).arg(kSamples)};
    return solar;
}

double SolarDay::irradiance(double secondsOfDay) const
{
    const double place = secondsOfDay / kSecondsPerSample;
    const auto left = static_cast<std::size_t>(std::floor(place));
    const double before = m_samples[left % kSamples];
    const double after = m_samples[(left + 1) % kSamples];
    return before + (after - before) * (place - std::floor(place));
}

} // namespace gridloom
