// SPDX-License-Identifier: Apache-2.0
// Checkpoint: writes down, a little at a time, what of windows and alarms outlives a restart, so that no cycle waits
// for it. Scripts answer with their state by themselves (TriggerPath). Engine thread.
#pragma once

#include "engine/alarmboard.h"
#include "engine/windowpath.h"

namespace gridloom {

class Checkpoint {
public:
    /// Both outlive it.
    Checkpoint(WindowPath &windows, AlarmBoard &alarms) : m_windows(windows), m_alarms(alarms) {}

    /// One slice of a round, well below a millisecond. True: the round is over, the next call begins another.
    bool slice(SteadyTime now);
    /// Everything at once, at an orderly stop.
    void last(SteadyTime now);

private:
    WindowPath &m_windows;
    AlarmBoard &m_alarms;
    std::size_t m_next = 0; ///< window, or alarm after the windows
};

} // namespace gridloom
