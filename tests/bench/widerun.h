// SPDX-License-Identifier: Apache-2.0
// WideRun: one run of gridloomd under a wide load, measured from outside of it. Main thread; blocks.
#pragma once

#include "bench/wideload.h"
#include "tools/bench/measurement.h"
#include "tools/bench/reconcile.h"

#include <vector>

namespace gridloom {

struct WideRun {
    double seconds = 0;          ///< of the window
    double pointsPerS = 0;       ///< answered in the window
    double rowsPerS = 0;         ///< stored in the window
    double cpuUsPerPoint = 0;    ///< of all threads of gridloomd, in the window
    double cpuPercent = 0;       ///< of one core, in the window
    double rssMb = 0;            ///< the highest status line of the window
    double startMs = 0;          ///< from the start of the process to the first read at a simulated device
    std::vector<double> writeMs; ///< from the due time of the trigger to the register, of each write
    double writeP95Ms = 0;
    RuntimeStatus final;
    std::vector<Identity> identities;
};

/// Warm-up 6 s, a window of `seconds`, then everything is stopped and counted. Errors as Measurement's, and
/// "bench.interrupted".
Result<WideRun> runWide(const WideLoad &load, int seconds, const Interrupt &interrupt);

/// Delays of writes that were due on the grid of `period`: the moments are in order and of one output. A write so late that
/// the next one falls into the same period counts as a period later.
std::vector<double> delaysOnGrid(const std::vector<std::int64_t> &momentsNs, std::int64_t periodNs);

} // namespace gridloom
