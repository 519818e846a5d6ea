// SPDX-License-Identifier: Apache-2.0
// HistoryReader: answers questions about history while the store goes on appending. One is used by one thread at a
// time, any thread; calls block that thread on the disk. It may outlive the store it came from.
// Ranges are from <= time < to everywhere. Times have the stored resolution of 1 ms.
#pragma once

#include "core/history/bucket.h"
#include "core/result.h"
#include "sdk/historyrow.h"

#include <functional>
#include <vector>

namespace gridloom {

class HistoryReader {
public:
    virtual ~HistoryReader() = default;

    /// Calls `visit` for each row of the series in the range, oldest first, until it answers false. A batch that was
    /// stored twice reads as one: rows of a series are one by (time, run), and the row stored last stands.
    /// Errors "store.closed" (not open yet), "store.readFailed".
    virtual Result<void> query(const QString &seriesId, WallTime from, WallTime to,
                               const std::function<bool(const HistoryRow &)> &visit) = 0;
    /// The newest `count` rows before `to`, oldest first.
    virtual Result<std::vector<HistoryRow>> last(const QString &seriesId, std::size_t count, WallTime to) = 0;
    /// The range cut into `count` (1 to 100'000) equal buckets, of which those with rows are answered: what a chart needs.
    /// Long ranges are answered from roll-ups; a bucket then begins at the first of its roll-ups.
    virtual Result<std::vector<HistoryBucket>> buckets(const QString &seriesId, WallTime from, WallTime to,
                                                       std::size_t count) = 0;
    /// Roll-ups whose start is in the range; those without rows are left out. Days are days of the site's zone.
    virtual Result<std::vector<HistoryBucket>> rollups(const QString &seriesId, WallTime from, WallTime to,
                                                       RollupStep step) = 0;
};

} // namespace gridloom
