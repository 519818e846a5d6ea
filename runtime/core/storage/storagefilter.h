// SPDX-License-Identifier: Apache-2.0
// StorageFilter: decides for each sample of one point whether history keeps it. Engine thread. Pure.
#pragma once

#include "core/design/design.h"
#include "core/sample.h"

namespace gridloom {

class StorageFilter {
public:
    explicit StorageFilter(const StoragePolicy &policy) : m_policy(policy) {}

    /// RealTime: always. OnChange: the first sample, a change beyond the deadband since the last row, a change of
    /// quality, or maxInterval since the last row on the monotonic clock (gatewayTime). None: never.
    /// Remembers the row when it answers true.
    bool accept(const Sample &sample);
    /// When the heartbeat row of an OnChange point falls due although no sample came; nothing before the first row.
    std::optional<SteadyTime> heartbeatDue() const;

private:
    StoragePolicy m_policy;
    Value m_lastValue;
    Quality m_lastQuality = Quality::Good;
    SteadyTime m_lastRow{};
    bool m_hasRow = false;
};

} // namespace gridloom
