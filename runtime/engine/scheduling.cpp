// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduling.h"

#include <sched.h>

#include <cerrno>
#include <cstring>

namespace gridloom {

Scheduling requestRealTime(int priority)
{
    sched_param parameters{};
    parameters.sched_priority = priority;
    // pid 0: the calling thread.
    if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0)
        return {true, {}};
    return {false, QString::fromLocal8Bit(std::strerror(errno))};
}

} // namespace gridloom
