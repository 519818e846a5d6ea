// SPDX-License-Identifier: Apache-2.0
// Evaluations of triggers without effects, by the script workers as the engine uses them.
#pragma once

#include "core/result.h"

#include <chrono>

namespace gridloom {

/// 100 triggers, half of them of the fast class, each with three reads of the frozen image, a sum and a comparison. A
/// thread stands for the engine, scheduled as it is: it hands the jobs over by ScriptWorkers::run() and takes the
/// answers from an inbox, every millisecond and not one by one, since thousands are under way. Evaluations per second
/// over `time`, each with its answer. Blocks.
Result<double> measureEvaluations(std::chrono::nanoseconds time);

} // namespace gridloom
