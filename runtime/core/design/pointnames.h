// SPDX-License-Identifier: Apache-2.0
// PointNames: from the name of a point ("device.point", "set.aggregation", UTF-8) to its handle, in 8 bytes a point: the
// names themselves stand in the list of points. Immutable once built, then for any thread.
#pragma once

#include "core/sample.h"

#include <QByteArrayView>
#include <QList>

#include <vector>

namespace gridloom {

struct PointRef;

class PointNames {
public:
    /// `points` outlive it.
    explicit PointNames(const QList<PointRef> &points) : m_points(points) {}

    /// Takes in the names of all points; of several with one name the first keeps it.
    void build();
    PointHandle value(QByteArrayView name, PointHandle byDefault = kNoPoint) const;
    bool contains(QByteArrayView name) const { return value(name) != kNoPoint; }
    qsizetype size() const { return m_points.size(); }
    /// All names, for messages that suggest one.
    QList<QByteArray> keys() const;

private:
    struct Entry {
        std::uint32_t hash;
        PointHandle handle;
    };
    const QList<PointRef> &m_points;
    std::vector<Entry> m_entries; ///< by hash, then by handle
};

} // namespace gridloom
