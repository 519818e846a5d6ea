// SPDX-License-Identifier: Apache-2.0
// Scheduling: asks the kernel for real-time scheduling of the threads that the 100 ms class hangs on: the engine, which
// holds the timer, and the script worker reserved for that class.
#pragma once

#include <QString>

namespace gridloom {

/// Priorities under SCHED_FIFO, 1 to 99. Below 50, where the kernel's own threads of interrupts are. Both the same: an
/// engine above its worker would throw it off its core with each answer, and the scripts still due would start late.
inline constexpr int kEnginePriority = 40;
inline constexpr int kFastScriptsPriority = 40;

struct Scheduling {
    bool isRealTime = false;
    QString why; ///< not real-time: the refusal of the kernel
};

/// Puts the calling thread under SCHED_FIFO where RLIMIT_RTPRIO or CAP_SYS_NICE and the control group allow it; it stays
/// as it was otherwise. Threads and processes that it starts are plain.
Scheduling requestRealTime(int priority);

} // namespace gridloom
