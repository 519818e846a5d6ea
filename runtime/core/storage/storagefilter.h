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
    /// quality, or maxInterval since the last row on the monotonic clock (gatewayTime; 0: no such rows). None: never.
    /// The deadband is for numbers; a bool, a text and a change to or from null count whenever they differ.
    /// Remembers the row when it answers true.
    bool accept(const Sample &sample);
    /// For the newest sample of an OnChange point before an orderly stop: true when it is newer than the last row.
    bool acceptLast(const Sample &sample);
    /// When the heartbeat row of an OnChange point falls due although no sample came; nothing before the first row.
    /// The caller then offers the point's present state, with that gatewayTime, to accept().
    std::optional<SteadyTime> heartbeatDue() const;

private:
    bool hasHeartbeat() const
    {
        return m_policy.mode == StoragePolicy::Mode::OnChange && m_policy.maxInterval.count() > 0;
    }
    bool isWorthARow(const Sample &sample) const;

    StoragePolicy m_policy;
    Value m_lastValue;
    Quality m_lastQuality = Quality::Good;
    SteadyTime m_lastRow{};
    bool m_hasRow = false;
};

} // namespace gridloom
