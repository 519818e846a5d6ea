// SPDX-License-Identifier: Apache-2.0
// Roll-ups: the buckets of a series over fixed spans, made from its rows and packed. Parts of one bucket may stand in
// several blocks; merging them gives the whole. Pure; any thread.
#pragma once

#include "core/history/bucket.h"
#include "core/history/segment.h"

#include <QTimeZone>

namespace gridloom {

/// Tells in which span a time lies. Keeps the last one: rows come nearly in order.
class RollupBorders {
public:
    RollupBorders(RollupStep step, QTimeZone zone) : m_step(step), m_zone(std::move(zone)) {}
    struct Span {
        std::int64_t startMs = 0, endMs = 0;
    };
    Span at(std::int64_t timeMs);

private:
    RollupStep m_step;
    QTimeZone m_zone;
    Span m_last;
};

/// Adds rows to the buckets, which are and stay ordered by start.
void addRows(std::span<const SegmentRow> rows, RollupBorders &borders, std::vector<HistoryBucket> &buckets);
/// Merges `other` into the buckets, which are and stay ordered by start.
void addBucket(const HistoryBucket &other, std::vector<HistoryBucket> &buckets);

QByteArray packBuckets(std::span<const HistoryBucket> buckets);
/// Appends the buckets of a block. False, with `buckets` as it was, when the block is damaged.
bool unpackBuckets(QByteArrayView block, std::vector<HistoryBucket> &buckets);

} // namespace gridloom
