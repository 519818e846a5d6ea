// SPDX-License-Identifier: Apache-2.0
// Brings rows of one series from several places into one order of time, each once. Any thread.
#pragma once

#include "core/history/segment.h"
#include "core/result.h"

#include <functional>

namespace gridloom {

/// A place that rows come from: a block, a segment, memory.
struct RowSource {
    std::int64_t firstMs = 0; ///< no row of it is earlier
    std::int64_t rank = 0;    ///< of two rows that are one by (time, run), that of the higher rank stands
    /// Appends its rows, in any order; SegmentRow::series must be what is passed.
    std::function<Result<void>(std::uint32_t series, std::vector<SegmentRow> &rows)> load;
};

/// Orders by (time, run) and leaves one row of each: that of the highest `series` number, the last of equal ones.
void sortRows(std::vector<SegmentRow> &rows);

/// Calls `visit` for each row with from <= time < to, oldest first, until it answers false. Sources are loaded when
/// their time comes, so that memory is needed for those that overlap. `series` of the rows has no meaning.
Result<void> mergeRows(std::vector<RowSource> sources, std::int64_t fromMs, std::int64_t toMs,
                       const std::function<bool(const SegmentRow &)> &visit);

} // namespace gridloom
