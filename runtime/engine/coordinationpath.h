// SPDX-License-Identifier: Apache-2.0
// CoordinationPath: when coordination tasks fall due, the lease on their outputs, their way through ControlPath, and the
// account and record of each run. Engine thread.
// A run with a compensation is written down before its first step; one that a kill or power cut interrupts is taken back
// at the next start, and has its record then. Only a task that says "durable" waits for that to be on the disk.
#pragma once

#include "core/bytespool.h"
#include "core/coordination/coordinationrun.h"
#include "core/histogram.h"
#include "core/processimage.h"
#include "engine/alarmboard.h"
#include "engine/controlpath.h"
#include "engine/runnumbers.h"
#include "engine/schedule.h"
#include "sdk/records.h"

#include <set>

namespace gridloom {

struct CoordinationStatistics {
    std::uint64_t runs = 0; ///< begun: at least the lease was asked for
    std::uint64_t failed = 0, timedOut = 0, discarded = 0;
    std::uint64_t compensated = 0; ///< of these: begun and taken back
    QString lastError;
};

class CoordinationPath {
public:
    struct Surroundings {
        ControlPath &control;
        AlarmBoard &alarms;
        Records &records;
        RunNumbers &runs;
        const Clock &clock;
    };
    /// Everything outlives it. Takes the answers to its writes from `control`.
    CoordinationPath(const Design &design, Surroundings surroundings);

    /// Schedules the tasks, and takes back the runs that the last life left open (Records::states()).
    void start(const std::map<QString, QByteArray> &states, SteadyTime now, WallTime wall);
    /// A script asks for a run of the task: due now.
    void startTask(int task, SteadyTime now) { m_due.emplace_back(task, now); }
    /// Begins what is due with the values of this moment.
    void startDue(const PointStore &points, SteadyTime now, WallTime wall);
    /// Moves all runs on: answers in, next writes out, leases that ran out.
    void advance(SteadyTime now, WallTime wall);
    void committed(const Records::CommitReport &report, SteadyTime now);
    std::optional<SteadyTime> nextDue() const;

    /// Nothing becomes due any more; runs still open get until then, and what is left after that for their compensation.
    void drain(SteadyTime leasesEnd);
    /// The engine stops: a run that was written down ends at the next start, all others now.
    void abandon(SteadyTime now, WallTime wall);

    const Ledger &ledger() const { return m_ledger; }
    const Histogram &latency() const
    {
        return m_latency;
    } ///< from due to the last step confirmed, of runs that are Done
    const std::vector<CoordinationStatistics> &statistics() const { return m_statistics; } ///< by task
    std::uint64_t writes() const { return m_writes; } ///< confirmed by a device, steps and compensations

private:
    /// One task and its run, if one is open. Used again run after run, so that a run costs no allocation.
    struct Slot {
        Slot(const CoordinationTask *definition, const QString &id, double clockRate);
        const CoordinationTask *task; ///< none: of an earlier design
        QString taskId, owner, stateKey;
        CoordinationRun run;
        std::vector<PointHandle> outputs; ///< of its steps
        bool isOpen = false;
        SteadyTime due{};
        std::uint64_t ticket = 0;             ///< of its open write, 0: none
        std::optional<RecordNumber> waitsFor; ///< step 1 waits for this record's commit
        bool isWrittenDown = false;
        bool isLeaseRenewed = false; ///< for the compensation
    };
    struct Answer {
        std::uint64_t ticket;
        CommandState state;
        Value value;
        Error error;
        SteadyTime at;
    };
    void takeBack(Slot &slot, const QByteArray &state, SteadyTime now, WallTime wall);
    void periodicDue(int task, SteadyTime due, SteadyTime now);
    void begin(Slot &slot, SteadyTime due, const PointStore &points, SteadyTime now, WallTime wall);
    void open(Slot &slot, SteadyTime due);
    void refuse(const Slot &slot, CoordinationRecord &&record, Outcome outcome);
    void takeAnswers();
    void move(Slot &slot, SteadyTime now, WallTime wall);
    void checkLease(Slot &slot, SteadyTime now) const;
    void renewLeases(Slot &slot, SteadyTime now);
    void request(Slot &slot, const CoordinationRun::StepRequest &step, SteadyTime now, WallTime wall);
    void ended(Slot &slot, WallTime wall);
    void count(const Slot &slot, Outcome outcome, const QString &error, bool isCompensated);
    void reportLeftOver(const Slot &slot, WallTime wall);

    const Design &m_design;
    Surroundings m_with;
    double m_clockRate;
    Schedule<int> m_schedule;
    std::vector<std::pair<int, SteadyTime>> m_due;
    std::vector<Slot> m_slots;       ///< by task index, then those of interrupted runs of tasks that are gone
    std::vector<std::size_t> m_open; ///< slots with a run
    std::vector<Answer> m_answers, m_taken;
    BytesPool m_texts; ///< of states and records
    std::uint64_t m_nextTicket = 1;
    bool m_isDraining = false;
    Ledger m_ledger;
    Histogram m_latency;
    std::vector<CoordinationStatistics> m_statistics;
    std::uint64_t m_writes = 0;
    std::set<QString> m_leftOver; ///< tasks whose last run could not be taken back
};

} // namespace gridloom
