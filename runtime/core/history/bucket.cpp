// SPDX-License-Identifier: Apache-2.0
#include "core/history/bucket.h"

#include <algorithm>

namespace gridloom {

void HistoryBucket::add(std::int64_t timeMs, Quality quality, const Value &value)
{
    HistoryBucket row;
    row.count = 1;
    row.good = isGood(quality) ? 1 : 0;
    if (const auto number = value.toDouble(); row.good > 0 && number) {
        row.numbers = 1;
        row.firstMs = row.lastMs = timeMs;
        row.min = row.max = row.sum = row.first = row.last = *number;
    }
    merge(row);
}

void HistoryBucket::merge(const HistoryBucket &other)
{
    count += other.count;
    good += other.good;
    if (other.numbers == 0)
        return;
    if (numbers == 0 || other.firstMs < firstMs) {
        firstMs = other.firstMs;
        first = other.first;
    }
    if (numbers == 0 || other.lastMs >= lastMs) {
        lastMs = other.lastMs;
        last = other.last;
    }
    min = numbers == 0 ? other.min : std::min(min, other.min);
    max = numbers == 0 ? other.max : std::max(max, other.max);
    sum += other.sum;
    numbers += other.numbers;
}

} // namespace gridloom
