// SPDX-License-Identifier: Apache-2.0
#include "core/design/pointindex.h"

#include "core/design/nearestname.h"

namespace gridloom {

namespace {
constexpr QLatin1Char kSeparator('.');
}

void PointIndex::compile(Design &design)
{
    m_design = &design;
    qsizetype total = 0;
    for (const auto &[id, device] : design.devices)
        total += device.points.size();
    for (const auto &[id, set] : design.aggregations)
        total += set.aggregations.size();
    design.points.reserve(total);
    PointHandle next = 0;
    for (auto &[deviceId, device] : design.devices) {
        const PointHandle first = next;
        const bool isNamedByIds = device.name == deviceId;
        for (Point &point : device.points) {
            point.handle = next++;
            const QString id = deviceId + kSeparator + point.id;
            const bool isSame = isNamedByIds && point.name == point.id;
            design.points.append({point.handle, id, isSame ? id : device.name + kSeparator + point.name, point.unit,
                                  &point, &device, nullptr, point.storage});
        }
        m_owners[deviceId].append({first, next});
    }
    for (auto &[setId, set] : design.aggregations) {
        const PointHandle first = next;
        for (Aggregation &result : set.aggregations) {
            result.handle = next++;
            design.points.append({result.handle, setId + kSeparator + result.id, set.name + kSeparator + result.name,
                                  result.unit, nullptr, nullptr, &result, result.storage});
        }
        m_owners[setId].append({first, next});
    }
    design.pointByName.build();
}

const QString &PointIndex::idOf(PointHandle handle) const
{
    const PointRef &ref = m_design->points[handle];
    return ref.point ? ref.point->id : ref.aggregation->id;
}

QStringList PointIndex::idsOf(const QString &owner) const
{
    QStringList ids;
    const QList<Range> ranges = m_owners.value(owner);
    for (const Range &range : ranges)
        for (PointHandle handle = range.first; handle < range.end; ++handle)
            ids.append(idOf(handle));
    return ids;
}

// Most designs refer to few of their points: an index is made of a device only when somebody asks for it.
PointHandle PointIndex::find(const QString &reference) const
{
    const QString ownerId = reference.section(kSeparator, 0, 0);
    const auto owner = m_owners.constFind(ownerId);
    if (owner == m_owners.constEnd())
        return kNoPoint;
    auto &handles = m_handles[ownerId];
    if (handles.isEmpty())
        for (const Range &range : *owner)
            for (PointHandle handle = range.first; handle < range.end; ++handle)
                if (!handles.contains(
                        idOf(handle))) // a duplicate is a fault already; the first one keeps the reference
                    handles.insert(idOf(handle), handle);
    return handles.value(reference.section(kSeparator, 1), kNoPoint);
}

QString PointIndex::guess(const QString &reference) const
{
    const QString owner = reference.section(kSeparator, 0, 0);
    const QString point = reference.section(kSeparator, 1);
    const QString nearOwner = m_owners.contains(owner) ? owner : nearestName(owner, m_owners.keys());
    if (nearOwner.isEmpty())
        return {};
    const QStringList points = idsOf(nearOwner);
    const QString nearPoint = points.contains(point) ? point : nearestName(point, points);
    if (!nearPoint.isEmpty())
        return QStringLiteral(" (did you mean \"%1.%2\"?)").arg(nearOwner, nearPoint);
    return nearOwner == owner ? QString() : QStringLiteral(" (did you mean device \"%1\"?)").arg(nearOwner);
}

PointHandle PointIndex::resolve(ObjectReader &reader, const PlacedText &reference) const
{
    const PointHandle handle = find(reference.text);
    if (handle != kNoPoint || m_unreadable.contains(reference.text.section(kSeparator, 0, 0)))
        return handle;
    reader.faultAt(
        reference.pointer, "design.unknownPoint",
        QStringLiteral("there is no point %1%2; write device-id.point-id or set-id.aggregation-id")
            .arg(describe(reference.text), reader.faults().mayStillSuggest() ? guess(reference.text) : QString()));
    return kNoPoint;
}

PointHandle PointIndex::resolve(ObjectReader &reader, QStringView key) const
{
    const QString reference = reader.text(key);
    return reference.isEmpty() ? kNoPoint : resolve(reader, {reference, reader.pointerOf(key)});
}

QList<PointHandle> PointIndex::resolveAll(ObjectReader &reader, const std::vector<PlacedText> &references) const
{
    QList<PointHandle> handles;
    for (const PlacedText &reference : references) {
        const PointHandle handle = resolve(reader, reference);
        if (handle != kNoPoint)
            handles.append(handle);
    }
    return handles;
}

} // namespace gridloom
