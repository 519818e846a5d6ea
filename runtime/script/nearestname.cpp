// SPDX-License-Identifier: Apache-2.0
#include "script/nearestname.h"

#include <numeric>

namespace gridloom {

std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit)
{
    const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
    if (difference > limit)
        return limit + 1;
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
        if (*std::min_element(row.begin(), row.end()) > limit)
            return limit + 1;
    }
    return std::min(row.back(), limit + 1);
}

} // namespace gridloom
