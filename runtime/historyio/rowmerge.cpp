// SPDX-License-Identifier: Apache-2.0
#include "historyio/rowmerge.h"

#include <algorithm>
#include <tuple>

namespace gridloom {

namespace {
bool isEarlier(const SegmentRow &a, const SegmentRow &b)
{
    return std::tie(a.timeMs, a.run, a.series) < std::tie(b.timeMs, b.run, b.series);
}
} // namespace

void sortRows(std::vector<SegmentRow> &rows)
{
    // Nearly always in order already, each once.
    const auto isNotBefore = [](const SegmentRow &a, const SegmentRow &b) {
        return a.timeMs > b.timeMs || (a.timeMs == b.timeMs && a.run >= b.run);
    };
    if (std::adjacent_find(rows.begin(), rows.end(), isNotBefore) == rows.end())
        return;
    if (!std::is_sorted(rows.begin(), rows.end(), isEarlier))
        std::stable_sort(rows.begin(), rows.end(), isEarlier);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (kept > 0 && rows[kept - 1].timeMs == rows[i].timeMs && rows[kept - 1].run == rows[i].run)
            --kept; // the later one stands
        if (kept != i)
            rows[kept] = std::move(rows[i]);
        ++kept;
    }
    rows.resize(kept);
}

Result<void> mergeRows(std::vector<RowSource> sources, std::int64_t fromMs, std::int64_t toMs,
                       const std::function<bool(const SegmentRow &)> &visit)
{
    // The place in the order of ranks travels with the rows, in their series number.
    std::stable_sort(sources.begin(), sources.end(), [](const auto &a, const auto &b) { return a.rank < b.rank; });
    std::vector<std::uint32_t> order(sources.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return sources[a].firstMs < sources[b].firstMs; });

    std::vector<SegmentRow> waiting;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (const auto loaded = sources[order[i]].load(order[i], waiting); !loaded)
            return loaded;
        sources[order[i]].load = nullptr;
        const bool isLast = i + 1 == order.size();
        const std::int64_t nextMs = isLast ? 0 : sources[order[i + 1]].firstMs;
        if (!isLast && nextMs == sources[order[i]].firstMs)
            continue;
        sortRows(waiting);
        auto end = waiting.end();
        if (!isLast)
            end = std::lower_bound(waiting.begin(), end, nextMs,
                                   [](const SegmentRow &row, std::int64_t next) { return row.timeMs < next; });
        for (auto row = waiting.begin(); row != end; ++row) {
            if (row->timeMs >= fromMs && row->timeMs < toMs && !visit(*row))
                return {};
        }
        waiting.erase(waiting.begin(), end);
    }
    return {};
}

} // namespace gridloom
