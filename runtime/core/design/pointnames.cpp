// SPDX-License-Identifier: Apache-2.0
#include "core/design/pointnames.h"

#include "core/design/design.h"

#include <algorithm>

namespace gridloom {

namespace {
// FNV-1a (Fowler, Noll, Vo), 32 bits.
std::uint32_t hashOf(QByteArrayView name)
{
    std::uint32_t hash = 2'166'136'261U;
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
    return hash;
}
} // namespace

void PointNames::build()
{
    m_entries.clear();
    m_entries.reserve(static_cast<std::size_t>(m_points.size()));
    for (const PointRef &point : m_points)
        m_entries.push_back({hashOf(point.name.toUtf8()), point.handle});
    std::sort(m_entries.begin(), m_entries.end(),
              [](const Entry &a, const Entry &b) { return a.hash != b.hash ? a.hash < b.hash : a.handle < b.handle; });
}

PointHandle PointNames::value(QByteArrayView name, PointHandle byDefault) const
{
    const std::uint32_t hash = hashOf(name);
    auto it = std::lower_bound(m_entries.begin(), m_entries.end(), hash,
                               [](const Entry &entry, std::uint32_t wanted) { return entry.hash < wanted; });
    for (; it != m_entries.end() && it->hash == hash; ++it)
        if (QAnyStringView(m_points[it->handle].name) == QUtf8StringView(name.data(), name.size()))
            return it->handle;
    return byDefault;
}

QList<QByteArray> PointNames::keys() const
{
    QList<QByteArray> keys;
    keys.reserve(m_points.size());
    for (const PointRef &point : m_points)
        keys.append(point.name.toUtf8());
    return keys;
}

} // namespace gridloom
