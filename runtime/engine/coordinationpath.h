// SPDX-License-Identifier: Apache-2.0
// CoordinationPath: when coordination tasks fall due, the lease on their outputs, their way through ControlPath, and the
// account and record of each run. Engine thread.
// A run with a compensation is written down before its first step; one that a kill or power cut interrupts is taken back
// at the next start, and has its record then. Only a task that says "durable" waits for that to be on the disk.
#pragma once

#include "core/coordination/coordinationrun.h"
#include "core/histogram.h"
#include "core/processimage.h"
#include "engine/alarmboard.h"
#include "engine/controlpath.h"
#include "engine/runnumbers.h"
#include "engine/schedule.h"
#include "sdk/records.h"

#include <map>
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
    void start(SteadyTime now, WallTime wall);
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
    struct Active {
        explicit Active(CoordinationRun r) : run(std::move(r)) {}
        CoordinationRun run;
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
    void takeBack(const QString &taskId, const QByteArray &state, SteadyTime now, WallTime wall);
    void periodicDue(int task, SteadyTime due, SteadyTime now);
    void begin(const CoordinationTask &task, SteadyTime due, const PointStore &points, SteadyTime now, WallTime wall);
    void refuse(const CoordinationTask &task, const CoordinationRecord &record, Outcome outcome);
    void takeAnswers();
    void move(const QString &taskId, Active &active, SteadyTime now, WallTime wall);
    void checkLease(const QString &taskId, Active &active, SteadyTime now) const;
    void renewLeases(const QString &taskId, Active &active, SteadyTime now);
    void ask(const QString &taskId, Active &active, const CoordinationRun::StepRequest &request, SteadyTime now,
             WallTime wall);
    void ended(const QString &taskId, Active &active, WallTime wall);
    void count(const QString &taskId, Outcome outcome, const QString &error, bool isCompensated);
    void reportLeftOver(const QString &taskId, const CoordinationRun &run, WallTime wall);
    static QString stateKey(const QString &taskId) { return QStringLiteral("coordination/") + taskId; }
    static std::vector<PointHandle> outputsOf(const CoordinationPlan &plan);

    const Design &m_design;
    Surroundings m_with;
    double m_clockRate;
    Schedule<int> m_schedule;
    std::vector<std::pair<int, SteadyTime>> m_due;
    std::map<QString, Active> m_active; ///< by task id
    std::vector<Answer> m_answers;
    std::uint64_t m_nextTicket = 1;
    bool m_isDraining = false;
    Ledger m_ledger;
    Histogram m_latency;
    std::vector<CoordinationStatistics> m_statistics;
    std::uint64_t m_writes = 0;
    std::set<QString> m_leftOver; ///< tasks whose last run could not be taken back
};

} // namespace gridloom
