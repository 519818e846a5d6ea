// SPDX-License-Identifier: Apache-2.0
// TriggerPath: when triggers fall due, what happens when one is still running, and the carrying out of what their
// scripts ask for. Engine thread.
#pragma once

#include "core/bytespool.h"
#include "core/histogram.h"
#include "core/ledger.h"
#include "core/processimage.h"
#include "engine/alarmboard.h"
#include "engine/controlpath.h"
#include "engine/coordinationpath.h"
#include "engine/history.h"
#include "engine/listsbypoint.h"
#include "engine/outbound.h"
#include "engine/schedule.h"
#include "engine/triggerruns.h"

#include <deque>
#include <vector>

namespace gridloom {

struct TriggerStatistics {
    std::uint64_t runs = 0, failed = 0, timedOut = 0, skipped = 0;
    bool isDisabled = false;
    QString lastError;
};

struct SlowRun {
    std::uint64_t run = 0;
    QString trigger;
    QString cause;
    double ms = 0;
};

class TriggerPath {
public:
    struct Effects {
        ControlPath &control;
        AlarmBoard &alarms;
        Outbound &outbound;
        History &history;
        CoordinationPath &coordination;
        /// The row is a point as well: its new value, for the image and for whoever watches it.
        std::function<void(PointHandle, const Value &)> rowWritten;
    };
    struct StateKeeping {
        StateJournal &journal;
        Nanoseconds period; ///< how often a script's `state` is written down
    };
    TriggerPath(const Design &design, const Outlets &outlets, Records &records, TriggerRuns &runs, RunNumbers &numbers,
                Effects effects, Nanoseconds slowAfter, StateKeeping keeping);

    void start(SteadyTime now);
    void stop() { m_schedule.clear(); }
    /// Dues that were held back end as Discarded: the engine stops.
    void abandonWaiting();
    std::optional<SteadyTime> nextDue() const;

    /// A point got a sample that differs from the last one. `slot` is the new state.
    void pointChanged(PointHandle point, const ImageSlot &slot, SteadyTime now);
    /// Starts what is due; `image` freezes the process image when the first run needs it.
    /// `idleSince`: what fell due later found the engine idle.
    void startDue(const std::function<std::shared_ptr<const ProcessImage>()> &image, SteadyTime now, WallTime wall,
                  SteadyTime idleSince);
    /// Carries out the actions of a script that has ended.
    void scriptFinished(ScriptFinished &event, SteadyTime now, WallTime wall);
    /// The `state` of a script at an orderly stop.
    void stateSaved(const ScriptStateSaved &event);
    /// For TriggerRuns: a run ended.
    void runEnded(const TriggerRun &run, Outcome outcome);

    const Ledger &ledger() const { return m_ledger; }
    const std::vector<TriggerStatistics> &statistics() const { return m_statistics; }
    const Histogram &latency() const { return m_latency; }
    const Histogram &issuedLatency() const { return m_issuedLatency; }
    /// Due time to the start of the script, of triggers of the fast class.
    const Histogram &fastStart() const { return m_fastStart; }
    const std::deque<SlowRun> &slowRuns() const { return m_slowRuns; }
    std::uint64_t aggregationRuns() const { return m_aggregationRuns; }
    std::uint64_t runsKept() const { return m_runsKept; }
    std::uint64_t runsDropped() const { return m_runsDropped; }

private:
    struct Watch {
        Value fired;
        Quality firedQuality = Quality::BadWaitingForInitialData;
        std::optional<SteadyTime> changedAt; ///< for-duration: since when it differs
    };
    struct State {
        bool isBusy = false;
        int overruns = 0;               ///< in a row
        std::vector<Watch> watches;     ///< by position in OnChange::points
        SteadyTime nextState{};         ///< when its script's `state` is asked for again
        bool isStateRefused = false;    ///< it cannot be kept, and that was told
        std::deque<SteadyTime> waiting; ///< due times held back by OverlapMode Queue and Latest
    };
    struct Watcher {
        int trigger;
        std::size_t position;
    };
    bool differs(const Trigger::OnChange &when, const Watch &watch, const ImageSlot &slot) const;
    void due(int trigger, SteadyTime at);
    void begin(int trigger, SteadyTime due, const std::shared_ptr<const ProcessImage> &image, SteadyTime now,
               WallTime wall, SteadyTime begun, bool wasEngineIdle);
    void periodicDue(int trigger, SteadyTime due, SteadyTime now);
    void carryOut(const Action &action, int trigger, const ScriptFinished &event, SteadyTime now, WallTime wall);
    void keepState(int trigger, const ScriptResult &result);
    void discardWaiting(int trigger);
    void countOverrun(int trigger, const ScriptResult &result, WallTime wall);

    const Design &m_design;
    const Outlets &m_outlets;
    Records &m_records;
    TriggerRuns &m_runs;
    Effects m_effects;
    Nanoseconds m_slowAfter;
    StateKeeping m_keeping;
    ListsByPoint<Watcher> m_watchersOf;
    std::vector<State> m_states; ///< by trigger
    std::vector<TriggerStatistics> m_statistics;
    Schedule<int> m_schedule; ///< periodic triggers; ~index: the for-duration of an OnChange trigger ends
    std::vector<std::pair<int, SteadyTime>> m_due;     ///< in this cycle
    std::vector<std::pair<int, SteadyTime>> m_resumed; ///< held back before, offered already
    RunNumbers &m_numbers;
    BytesPool m_details; ///< of run records
    Ledger m_ledger;
    Histogram m_latency;
    Histogram m_issuedLatency;
    Histogram m_fastStart;
    std::deque<SlowRun> m_slowRuns;
    std::uint64_t m_aggregationRuns = 0;
    std::uint64_t m_runsKept = 0, m_runsDropped = 0;
};

} // namespace gridloom
