// SPDX-License-Identifier: Apache-2.0
// What a store keeps: rows of series.
#pragma once

#include "core/sample.h"

#include <QString>

namespace gridloom {

/// One row of history. Rows of aggregation results and of triggers' aggregation.write() are rows like any other.
struct HistoryRow {
    PointHandle point = kNoPoint;
    Quality quality = Quality::Good;
    Value value;
    WallTime time;             ///< start of the window for aggregation results
    std::int32_t trigger = -1; ///< index of the trigger that wrote it, else -1
    std::uint64_t run = 0;     ///< its run number
};

/// A series outlives deployments by its id.
struct Series {
    QString id;   ///< "device-id.point-id"
    QString name; ///< for people
    QString unit;
};

} // namespace gridloom
