// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gridloom {

Summary summarize(std::vector<double> readings)
{
    if (readings.empty())
        return {};
    std::sort(readings.begin(), readings.end());
    const auto n = static_cast<double>(readings.size());
    const auto percentile = [&](double p) { return readings[static_cast<std::size_t>(std::ceil(p / 100.0 * n)) - 1]; };
    return {readings.size(), std::accumulate(readings.begin(), readings.end(), 0.0) / n, percentile(95), percentile(99),
            readings.back()};
}

} // namespace gridloom
