// SPDX-License-Identifier: Apache-2.0
// Cycle: the engine thread's work. A cycle runs when something reached the inbox or something falls due: drain, take the
// samples in, freeze the process image, aggregate, evaluate alarms, start triggers, move control on, hand rows over.
// Without a thread of its own: Engine runs it, tests step it with a fake clock.
#pragma once

#include "engine/checkpoint.h"
#include "engine/commandpath.h"
#include "engine/listsbypoint.h"
#include "engine/snapshot.h"
#include "script/expression.h"

#include <functional>
#include <memory>
#include <vector>

namespace gridloom {

class Cycle {
public:
    struct Parts {
        const Design &design;
        const Clock &clock;
        EngineInbox &inbox;
        Records &records;
        Expressions &expressions;
        Outlets outlets;
        std::vector<PointHandle> watched; ///< points whose values each snapshot carries
        /// Called on the engine thread once a (real) second, at 550 ms past the full second of the clock's grid.
        std::function<void(EngineSnapshot)> publish;
        /// How often the state of windows, alarms and scripts is written down; real time.
        std::chrono::milliseconds checkpointPeriod{10'000};
    };
    explicit Cycle(Parts parts);

    /// Schedules everything from now on.
    void start();
    /// One cycle over everything that waits. When to come back, at the latest.
    SteadyTime step();
    /// Orderly stop, after drivers and workers have ended: nothing that waits is begun, the last rows are handed over.
    void finish();
    /// After store and sinks have ended: takes their answers in, ends what is still open, and writes the last state
    /// down: nothing is appended to the records after it.
    void abandonRuns();
    /// After the records were closed: takes their last reports in.
    void takeLastCommits();
    EngineSnapshot snapshot();
    void adoptOutbox(const std::vector<OutboxEntry> &pending) { m_outbound.adopt(pending); }

private:
    enum class Due : std::uint8_t { Alarm, Status, Housekeeping, Checkpoint };
    struct DueKey {
        Due kind;
        int index;
    };
    void takeEvents();
    void handle(EngineEvent &event);
    void takeSample(const Sample &sample);
    /// As takeSample(), for what history has already: results of windows and rows of triggers.
    void takeResult(const Sample &sample);
    void evaluateExpressions();
    void evaluateDirty();
    void reportLostRows();
    void scheduleStatus();
    void checkpoint();
    void runDues();
    void beginDraining();
    void countPolls();
    void healthChanged(const HealthChanged &event);
    void recordsCommitted(const RecordsCommitted &event);
    void outboxLevelChanged(const OutboxLevelChanged &event);
    std::shared_ptr<const ProcessImage> image();
    SteadyTime nextDue() const;

    const Parts m_parts;
    const Design &m_design;
    PointStore m_points;
    std::map<QString, QByteArray> m_statesLeft; ///< by earlier runs, until start()
    const Nanoseconds m_checkpointPeriod;       ///< of the clock
    StateJournal m_journal;
    TriggerRuns m_runs;
    RunNumbers m_runNumbers;
    ControlPath m_control;
    History m_history;
    Outbound m_outbound;
    AlarmBoard m_alarms;
    CoordinationPath m_coordination;
    CommandPath m_commands;
    TriggerPath m_triggers;
    WindowPath m_windows;
    Checkpoint m_checkpoint;

    ListsByPoint<PointHandle> m_expressionsOf; ///< by input point
    std::vector<char> m_isDirty;               ///< by point: a Computed one to evaluate
    bool m_hasDirty = false;

    Schedule<DueKey> m_schedule;
    std::vector<EngineEvent> m_events;
    std::shared_ptr<const ProcessImage> m_image; ///< of this cycle, once somebody needs it
    bool m_isImageStale = true;
    SteadyTime m_now{};
    SteadyTime m_idleSince{}; ///< the end of the last cycle
    WallTime m_wall{};
    bool m_isDraining = false;
    Ledger m_pointLedger;
    Outlets::PollCounts m_counted;
    std::uint64_t m_cycles = 0;
    std::uint64_t m_lostRows = 0; ///< as last reported
    QString m_storeError;
    std::map<QString, EngineSnapshot::Link> m_links;
};

} // namespace gridloom
