// SPDX-License-Identifier: Apache-2.0
// The two runs of gridloom-bench, from start to exit code. Main thread, needs a QCoreApplication; blocks.
#pragma once

#include "tools/bench/interrupt.h"

#include <QString>

namespace gridloom {

struct DemoOptions {
    int seconds = 60;        ///< of real time; 0: until Ctrl+C
    double speed = 1;        ///< of runtime and simulator, 1 to 100
    bool isHeadless = false; ///< one line a second instead of a screen
    QString jsonFile;        ///< "" none, "-" stdout
};
struct BenchOptions {
    QString scenario;
    int seconds = 60;  ///< length of the window
    int busyLoops = 0; ///< processes that never rest, at our own nice, beside the run
    bool isLowWear = false;
    bool isChecking = false;
    QString jsonFile;
};

/// 0: every account adds up; 1: one does not, or something could not run; 130: interrupted twice or before its end.
int runDemo(const DemoOptions &options, const Interrupt &interrupt);
/// As runDemo(); with isChecking also 1 when a bound is missed.
int runBench(const BenchOptions &options, const Interrupt &interrupt);

} // namespace gridloom
