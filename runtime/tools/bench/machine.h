// SPDX-License-Identifier: Apache-2.0
// Says what a run was measured on. Reads /proc and the file system; blocking, any thread.
#pragma once

#include "tools/bench/runresult.h"

namespace gridloom {

/// `folder`: where the runtime keeps its state.
Machine describeMachine(const QString &folder);

} // namespace gridloom
