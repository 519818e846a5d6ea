// SPDX-License-Identifier: Apache-2.0
// EngineSnapshot: the engine's account at one moment, taken by the engine thread and handed over whole.
#pragma once

#include "core/histogram.h"
#include "engine/alarmboard.h"
#include "engine/history.h"
#include "engine/triggerpath.h"

#include <vector>

namespace gridloom {

struct EngineSnapshot {
    SteadyTime at{};
    WallTime wall{};
    bool isDraining = false;
    Ledger points, triggers, control, mqtt, alarms, publications, coordination, outsideCommands;
    Histogram trigger, triggerIssued, fastStart, publication, coordinationLatency;
    ControlCounts commands;
    StoreAccount store;
    std::uint64_t aggregationRuns = 0, runsKept = 0, runsDropped = 0;
    std::uint64_t cycles = 0;
    std::vector<SlowRun> slowRuns;
    std::vector<TriggerStatistics> triggerStatistics;           ///< by trigger index
    std::vector<CoordinationStatistics> coordinationStatistics; ///< by task index
    std::uint64_t coordinationWrites = 0;                       ///< of coordination runs, confirmed by a device

    struct ActiveAlarm {
        QString id, name, state, severity, text;
        WallTime since{};
        std::uint64_t occurrences = 0;
    };
    std::vector<ActiveAlarm> activeAlarms; ///< those that are not Normal
    struct Link {
        QString device;
        LinkHealth health = LinkHealth::Offline;
        QString why;
    };
    std::vector<Link> links;
    struct PointValue {
        QString name;
        ImageSlot slot;
    };
    std::vector<PointValue> values; ///< of the points asked for

    /// Nothing is in flight but messages for a broker.
    bool isIdle() const
    {
        return points.inFlight == 0 && triggers.inFlight == 0 && control.inFlight == 0 && alarms.inFlight == 0
            && coordination.inFlight == 0 && store.pending == 0;
    }
};

} // namespace gridloom
