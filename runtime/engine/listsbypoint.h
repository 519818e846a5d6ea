// SPDX-License-Identifier: Apache-2.0
// ListsByPoint<T>: a short list for each point, most of them empty, in 4 bytes a point and the items. Filled once, then
// read only.
#pragma once

#include "core/sample.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace gridloom {

template<typename T>
class ListsByPoint {
public:
    /// `items` in the order in which each point's list shall have them; every point below `points`.
    ListsByPoint(std::size_t points, std::vector<std::pair<PointHandle, T>> items) : m_begins(points + 1)
    {
        std::stable_sort(items.begin(), items.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        for (const auto &[point, item] : items) {
            ++m_begins[point + 1];
            m_items.push_back(item);
        }
        for (std::size_t i = 1; i < m_begins.size(); ++i)
            m_begins[i] += m_begins[i - 1];
    }
    ListsByPoint() = default;

    std::span<const T> operator[](PointHandle point) const
    {
        return std::span<const T>(m_items).subspan(m_begins[point], m_begins[point + 1] - m_begins[point]);
    }

private:
    std::vector<std::uint32_t> m_begins; ///< by point, and one more
    std::vector<T> m_items;
};

} // namespace gridloom
