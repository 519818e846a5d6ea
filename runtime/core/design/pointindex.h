// SPDX-License-Identifier: Apache-2.0
// PointIndex: from the references in a design's files ("device-id.point-id", "set-id.aggregation-id") to handles. Pure.
#pragma once

#include "core/design/objectreader.h"

#include <QHash>
#include <QSet>

namespace gridloom {

class PointIndex {
public:
    /// Gives every point its handle, in a stable order (devices by id with their points as listed, then aggregation
    /// sets likewise), and fills the compiled lists of points of the design.
    void compile(Design &design);
    /// A part whose file could not be read: a reference into it is not a fault of its own.
    void addUnreadable(const QString &partId) { m_unreadable.insert(partId); }

    /// The handle of a reference; kNoPoint with a fault "design.unknownPoint" that names the nearest.
    PointHandle resolve(ObjectReader &reader, const PlacedText &reference) const;
    PointHandle resolve(ObjectReader &reader, QStringView key) const;
    /// The references of a list, unknown ones left out.
    QList<PointHandle> resolveAll(ObjectReader &reader, const std::vector<PlacedText> &references) const;

private:
    /// The points of a device or of a set of aggregations have consecutive handles.
    struct Range {
        PointHandle first = 0;
        PointHandle end = 0;
    };
    const QString &idOf(PointHandle handle) const;
    QStringList idsOf(const QString &owner) const;
    PointHandle find(const QString &reference) const;
    QString guess(const QString &reference) const;

    const Design *m_design = nullptr;
    QHash<QString, QList<Range>> m_owners; ///< by id; two ranges when device and set have one id, which is a fault
    mutable QHash<QString, QHash<QString, PointHandle>>
        m_handles; ///< by owner and point id; of owners that were asked for
    QSet<QString> m_unreadable;
};

} // namespace gridloom
