// SPDX-License-Identifier: Apache-2.0
// HistoryBucket: what the rows of one series in a span of time amount to. Pure; any thread.
#pragma once

#include "core/quality.h"
#include "core/value.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace gridloom {

/// The spans that a store keeps roll-ups of. Days are those of the site's zone, the others divide UTC.
enum class RollupStep : std::uint8_t { Minute, QuarterHour, Hour, Day };
inline constexpr std::size_t kRollupSteps = 4;

/// Times are milliseconds since 1970, UTC. Numbers are doubles: exact up to 2^53, nearest above; the rows hold them exactly.
/// Minimum, maximum, sum, first and last are of the good rows with a number; without one they are NaN, the sum 0.
struct HistoryBucket {
    std::int64_t startMs = 0;
    std::int64_t endMs = 0;    ///< exclusive
    std::uint64_t count = 0;   ///< rows
    std::uint64_t good = 0;    ///< rows of good quality
    std::uint64_t numbers = 0; ///< of these: with a number or a bool
    std::int64_t firstMs = 0;  ///< time of the first such row
    std::int64_t lastMs = 0;   ///< time of the last one
    double min = std::numeric_limits<double>::quiet_NaN();
    double max = std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    double first = std::numeric_limits<double>::quiet_NaN();
    double last = std::numeric_limits<double>::quiet_NaN();

    double mean() const
    {
        return numbers > 0 ? sum / static_cast<double>(numbers) : std::numeric_limits<double>::quiet_NaN();
    }
    /// Adds a row; rows may come in any order.
    void add(std::int64_t timeMs, Quality quality, const Value &value);
    /// Adds the rows of another bucket of the same span, or of a part of it.
    void merge(const HistoryBucket &other);
};

} // namespace gridloom
