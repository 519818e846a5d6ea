// SPDX-License-Identifier: Apache-2.0
// What every micro bench is: a function from options to figures. main() prints them, writes the JSON and checks the
// bounds. Main thread, with a QCoreApplication; a bench blocks until it is done.
#pragma once

#include "core/result.h"
#include "tools/bench/bounds.h"
#include "tools/bench/interrupt.h"
#include "tools/bench/reconcile.h"

#include <QByteArray>
#include <QJsonObject>

#include <vector>

namespace gridloom {

struct MicroBenchOptions {
    int seconds = 0; ///< length of what is timed; 0: as the bench sees fit
    const Interrupt &interrupt;
};

struct MicroBenchResult {
    QByteArray text;                    ///< for people; ends with a line feed
    QJsonObject json;                   ///< the figures, under the bench's name in the file
    std::vector<Bound> bounds;          ///< what --check holds them to
    std::vector<Identity> identities{}; ///< accounts that must add up, whether checking or not
};

Result<MicroBenchResult> benchAcquire(const MicroBenchOptions &options);
Result<MicroBenchResult> benchAllocations(const MicroBenchOptions &options);
Result<MicroBenchResult> benchPoints(const MicroBenchOptions &options);
Result<MicroBenchResult> benchStore(const MicroBenchOptions &options);
Result<MicroBenchResult> benchTriggers(const MicroBenchOptions &options);

} // namespace gridloom
