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
    void add(Design &design, PointRef ref);
    QString guess(const QString &reference) const;

    QHash<QString, PointHandle> m_byId;
    QHash<QString, QStringList> m_pointIds; ///< by device or set
    QSet<QString> m_unreadable;
};

} // namespace gridloom
