// SPDX-License-Identifier: Apache-2.0
// Store: keeps history. Used on the store thread alone (no event loop); calls block that thread and no other.
#pragma once

#include "core/sample.h"
#include "sdk/plugin.h"

#include <QJsonObject>
#include <QList>
#include <QString>
#include <QStringList>

#include <functional>
#include <span>

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

struct StoreStatistics {
    std::uint64_t rows = 0;  ///< appended since start
    std::uint64_t lost = 0;  ///< refused by the disk since start
    std::uint64_t bytes = 0; ///< on disk now
};

class Store {
public:
    virtual ~Store() = default;
    /// Opens or creates the store in `folder`, repairs a torn end. `series[h]` is what point handle h means, and
    /// `triggers[i]` the id of trigger i. May be called again after a deployment with other lists.
    virtual Result<void> open(const QJsonObject &params, const QString &folder, const QList<Series> &series,
                              const QList<QString> &triggers) = 0;
    /// Hands the rows to the operating system by write(2); when it returns they survive a crash of the process.
    /// All or nothing: on an error none of them counts as stored.
    virtual Result<void> append(std::span<const HistoryRow> rows) = 0;
    /// Makes what was appended survive a power cut. Called about once a second.
    virtual Result<void> sync() = 0;
    /// Calls `visit` for each row of the series with from <= time < to, oldest first, until it answers false.
    virtual Result<void> query(const QString &seriesId, WallTime from, WallTime to,
                               const std::function<bool(const HistoryRow &)> &visit) = 0;
    virtual StoreStatistics statistics() const = 0;
    /// What damage was found since the last call, one text a damaged file, for an alarm to name. Such damage makes
    /// no call fail: the store goes on with what can be read.
    virtual QStringList takeFaults() { return {}; }
    virtual void close() = 0;
};

} // namespace gridloom
