// SPDX-License-Identifier: Apache-2.0
#include "core/design/pointindex.h"

#include "core/design/nearestname.h"

namespace gridloom {

namespace {
constexpr QLatin1Char kSeparator('.');
}

void PointIndex::add(Design &design, PointRef ref)
{
    // A duplicate is a fault already; the first one keeps the reference.
    if (!m_byId.contains(ref.id))
        m_byId.insert(ref.id, ref.handle);
    if (!design.pointByName.contains(ref.name.toUtf8()))
        design.pointByName.insert(ref.name.toUtf8(), ref.handle);
    design.points.append(std::move(ref));
}

void PointIndex::compile(Design &design)
{
    PointHandle next = 0;
    for (auto &[deviceId, device] : design.devices) {
        QStringList &ids = m_pointIds[deviceId];
        for (Point &point : device.points) {
            point.handle = next++;
            ids.append(point.id);
            add(design,
                {point.handle, deviceId + kSeparator + point.id, device.name + kSeparator + point.name, point.unit,
                 &point, &device, nullptr, point.storage});
        }
    }
    for (auto &[setId, set] : design.aggregations) {
        QStringList &ids = m_pointIds[setId];
        for (Aggregation &result : set.aggregations) {
            result.handle = next++;
            ids.append(result.id);
            add(design,
                {result.handle, setId + kSeparator + result.id, set.name + kSeparator + result.name, result.unit,
                 nullptr, nullptr, &result, result.storage});
        }
    }
}

QString PointIndex::guess(const QString &reference) const
{
    const QString owner = reference.section(kSeparator, 0, 0);
    const QString point = reference.section(kSeparator, 1);
    const QString nearOwner = m_pointIds.contains(owner) ? owner : nearestName(owner, m_pointIds.keys());
    if (nearOwner.isEmpty())
        return {};
    const QStringList points = m_pointIds.value(nearOwner);
    const QString nearPoint = points.contains(point) ? point : nearestName(point, points);
    if (!nearPoint.isEmpty())
        return QStringLiteral(" (did you mean \"%1.%2\"?)").arg(nearOwner, nearPoint);
    return nearOwner == owner ? QString() : QStringLiteral(" (did you mean device \"%1\"?)").arg(nearOwner);
}

PointHandle PointIndex::resolve(ObjectReader &reader, const PlacedText &reference) const
{
    const PointHandle handle = m_byId.value(reference.text, kNoPoint);
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
