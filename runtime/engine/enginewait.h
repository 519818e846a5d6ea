// SPDX-License-Identifier: Apache-2.0
// EngineWait: how the engine thread sleeps: until its inbox fills or the next due time comes. The due time is an
// absolute one on a timerfd, so that a grid of 100 ms neither drifts nor rounds; a producer that finds the inbox empty
// writes to an eventfd.
#pragma once

#include "core/clock.h"

namespace gridloom {

class EngineWait {
public:
    EngineWait();
    ~EngineWait();
    EngineWait(const EngineWait &) = delete;
    EngineWait &operator=(const EngineWait &) = delete;

    /// Ends the current wait, or the next one when none is under way. Any thread, as long as this lives.
    void notify() const;
    /// Waits until `until` (real steady time; one that has passed: not at all) or for notify(). One thread.
    void until(SteadyTime until);

private:
    int m_event;
    int m_timer;
    SteadyTime m_armedFor{};
};

} // namespace gridloom
