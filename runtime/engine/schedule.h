// SPDX-License-Identifier: Apache-2.0
// Schedule: what falls due when, earliest first. Engine and io thread, each its own. An item that was given a new time
// stays in the heap under its old one as well: the owner compares before it acts.
#pragma once

#include "core/clock.h"

#include <optional>
#include <queue>
#include <vector>

namespace gridloom {

template<typename Key>
class Schedule {
public:
    void add(SteadyTime due, Key key) { m_heap.push({due, key}); }
    std::optional<SteadyTime> next() const { return m_heap.empty() ? std::nullopt : std::optional(m_heap.top().due); }
    /// The earliest item with a due time up to `now`, taken out.
    std::optional<std::pair<SteadyTime, Key>> take(SteadyTime now)
    {
        if (m_heap.empty() || m_heap.top().due > now)
            return std::nullopt;
        const Item item = m_heap.top();
        m_heap.pop();
        return std::pair(item.due, item.key);
    }
    void clear() { m_heap = {}; }

private:
    struct Item {
        SteadyTime due;
        Key key;
        friend bool operator<(const Item &a, const Item &b) { return a.due > b.due; } // earliest on top
    };
    std::priority_queue<Item> m_heap;
};

/// The first point of the grid {k * period + phase} after `t`; `period` above 0.
constexpr SteadyTime nextOnGrid(SteadyTime t, Nanoseconds period, Nanoseconds phase)
{
    const Nanoseconds offset = t.time_since_epoch() - phase;
    Nanoseconds::rep k = offset / period;
    if (offset < Nanoseconds(0) && offset % period != Nanoseconds(0))
        --k;
    return SteadyTime(phase + (k + 1) * period);
}

} // namespace gridloom
