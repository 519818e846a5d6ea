// SPDX-License-Identifier: Apache-2.0
// Summary: average and percentiles of some hundred readings, exact (nearest rank on the sorted values). Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace gridloom {

class JsonWriter;

struct Summary {
    std::size_t n = 0;
    double avg = 0, p95 = 0, p99 = 0, peak = 0;
};

/// All zero when there are none.
Summary summarize(std::vector<double> readings);

} // namespace gridloom
