// SPDX-License-Identifier: Apache-2.0
// The load scenarios installed beside the program.
#pragma once

#include "tools/bench/scenario.h"

namespace gridloom {

/// The scenario of that id in ../share/gridloom/baselines/scenarios.json, from the program's folder on. Blocking.
/// Error "bench.scenario" when the file cannot be read, or those of parseScenario().
Result<Scenario> loadScenario(const QString &id);

} // namespace gridloom
