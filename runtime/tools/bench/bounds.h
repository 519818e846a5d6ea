// SPDX-License-Identifier: Apache-2.0
// Bounds: what --check holds a bench run to. Pure.
#pragma once

#include "tools/bench/runresult.h"

namespace gridloom {

struct Bound {
    enum class Kind { AtLeast, AtMost, Equal };
    QString text;
    double value = 0;
    Kind kind = Kind::Equal;
    double limit = 0;
    bool isMet() const;
};

/// Triggers and MQTT publications: offered >= 0.999 x target, all of them done; P95 from due to all four effects
/// confirmed <= 15 ms on a disk whose fdatasync P95 is <= 2 ms, longer by its excess on another; at S3.5 the runtime
/// within 64 MB and 15 % of one core. The result has a scenario.
std::vector<Bound> bounds(const RunResult &result);

} // namespace gridloom
