// SPDX-License-Identifier: Apache-2.0
#include "storestate.h"

namespace gridloom {

std::uint32_t StoreNames::series(const SegmentSeries &series)
{
    const auto known = m_seriesNumbers.constFind(series.id);
    if (known != m_seriesNumbers.constEnd())
        return known.value();
    const auto number = static_cast<std::uint32_t>(m_series.size());
    m_series.push_back(series);
    m_seriesNumbers.insert(series.id, number);
    return number;
}

std::uint32_t StoreNames::trigger(const QByteArray &id)
{
    const auto known = m_triggerNumbers.constFind(id);
    if (known != m_triggerNumbers.constEnd())
        return known.value();
    const auto number = static_cast<std::uint32_t>(m_triggers.size());
    m_triggers.push_back(id);
    m_triggerNumbers.insert(id, number);
    return number;
}

std::optional<std::uint32_t> StoreNames::findSeries(const QByteArray &id) const
{
    const auto known = m_seriesNumbers.constFind(id);
    return known == m_seriesNumbers.constEnd() ? std::nullopt : std::optional(known.value());
}

QString StoreState::segmentPath(std::uint64_t number) const
{
    return QStringLiteral("%1/%2.gls").arg(folder).arg(number, 8, 10, QLatin1Char('0'));
}

qint64 StoreState::segmentBytes() const
{
    qint64 sum = 0;
    for (const auto &[number, segment] : segments)
        sum += segment.bytes;
    return sum;
}

} // namespace gridloom
