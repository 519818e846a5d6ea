// SPDX-License-Identifier: Apache-2.0
#include "engine/coordinationpath.h"

namespace gridloom {

namespace {
constexpr QLatin1String kStatePrefix("coordination/");

QString outcomeName(Outcome outcome)
{
    switch (outcome) {
    case Outcome::Done: return QStringLiteral("Ok");
    case Outcome::Failed: return QStringLiteral("Failed");
    case Outcome::TimedOut: return QStringLiteral("TimedOut");
    case Outcome::Discarded: break;
    }
    return QStringLiteral("Discarded");
}

std::int64_t usBetween(WallTime from, WallTime to)
{
    return (to - from).count();
}
} // namespace

CoordinationPath::CoordinationPath(const Design &design, Surroundings surroundings)
    : m_design(design), m_with(surroundings),
      m_clockRate(std::chrono::duration<double>(m_with.clock.clockDuration(std::chrono::seconds(1))).count()),
      m_statistics(static_cast<std::size_t>(design.coordinationList.size()))
{
    m_with.control.setTicketEnded([this](const ControlCommand &command, SteadyTime at) {
        m_answers.push_back({command.request.ticket, command.state, command.value, command.error, at});
    });
}

void CoordinationPath::start(SteadyTime now, WallTime wall)
{
    for (const auto &[key, state] : m_with.records.states())
        if (key.startsWith(kStatePrefix))
            takeBack(key.mid(kStatePrefix.size()), state, now, wall);
    for (const CoordinationTask *task : m_design.coordinationList)
        if (task->when && task->isEnabled)
            m_schedule.add(nextOnGrid(now, task->when->period, task->when->phase), task->index);
}

void CoordinationPath::takeBack(const QString &taskId, const QByteArray &state, SteadyTime now, WallTime wall)
{
    auto plan = readOpenRunState(taskId, state, m_design);
    if (!plan) {
        m_with.records.append(StateRecord{stateKey(taskId), {}});
        m_with.alarms.raiseSystem(SystemAlarm::StateDamaged, plan.error().message, wall);
        return;
    }
    m_ledger.offer();
    Active active(CoordinationRun::interrupted(std::move(plan).value(), m_clockRate, now));
    active.due = now;
    active.isWrittenDown = true;
    m_active.emplace(taskId, std::move(active));
}

void CoordinationPath::periodicDue(int task, SteadyTime due, SteadyTime now)
{
    const PeriodicTrigger &when = *m_design.coordinationList[task]->when;
    const SteadyTime next = nextOnGrid(now, when.period, when.phase);
    if (const auto missed = (next - due) / Nanoseconds(when.period) - 1; missed > 0) {
        m_ledger.offer(static_cast<std::uint64_t>(missed));
        m_ledger.finish(Outcome::Discarded, static_cast<std::uint64_t>(missed));
        m_statistics[static_cast<std::size_t>(task)].discarded += static_cast<std::uint64_t>(missed);
    }
    m_schedule.add(next, task);
    m_due.emplace_back(task, due);
}

void CoordinationPath::startDue(const PointStore &points, SteadyTime now, WallTime wall)
{
    while (const auto item = m_schedule.take(now))
        periodicDue(item->second, item->first, now);
    for (const auto &[index, due] : m_due) {
        const CoordinationTask &task = *m_design.coordinationList[index];
        m_ledger.offer();
        if (m_active.contains(task.id) || m_isDraining || !task.isEnabled) {
            m_ledger.finish(Outcome::Discarded);
            ++m_statistics[static_cast<std::size_t>(index)].discarded;
        } else {
            begin(task, due, points, now, wall);
        }
    }
    m_due.clear();
}

void CoordinationPath::begin(const CoordinationTask &task, SteadyTime due, const PointStore &points, SteadyTime now,
                             WallTime wall)
{
    ++m_statistics[static_cast<std::size_t>(task.index)].runs;
    CoordinationRecord record;
    record.run = m_with.runs.take();
    record.taskId = task.id;
    record.due = wall - std::chrono::duration_cast<std::chrono::microseconds>(now - due);
    record.doneUs = usBetween(record.due, wall);
    record.isCompensated = true; // nothing was begun, so nothing is left
    record.steps = "[]";
    const auto heldBy = [&](PointHandle output) {
        const auto &[written, at] = m_with.control.lastWritten(output);
        const ImageSlot &read = points.at(output);
        return isGood(read.quality) && read.gatewayTime > at ? read.value : written;
    };
    auto plan = planRun(task, m_design, record.run, record.due, points, heldBy);
    if (!plan) {
        record.error = plan.error().message;
        return refuse(task, record, Outcome::Failed);
    }
    Active active(CoordinationRun(std::move(plan).value(), m_clockRate, due, now));
    active.due = due;
    const auto leased = m_with.control.lease(outputsOf(active.run.plan()), coordinationOwner(task.id), task.priority,
                                             now, active.run.leaseUntil());
    if (!leased) {
        record.error = QStringLiteral("lease: ") + leased.error().message;
        return refuse(task, record, Outcome::Discarded);
    }
    if (active.run.plan().hasCompensation()) {
        const RecordNumber number =
            m_with.records.append(StateRecord{stateKey(task.id), openRunState(active.run.plan())});
        active.isWrittenDown = true;
        if (task.isDurable)
            active.waitsFor = number;
    }
    m_active.emplace(task.id, std::move(active));
}

void CoordinationPath::refuse(const CoordinationTask &task, const CoordinationRecord &record, Outcome outcome)
{
    CoordinationRecord ending = record;
    ending.outcome = outcomeName(outcome);
    count(task.id, outcome, ending.error, false);
    m_with.records.append(std::move(ending));
}

void CoordinationPath::committed(const Records::CommitReport &report, SteadyTime now)
{
    for (auto &[taskId, active] : m_active) {
        if (!active.waitsFor || report.last < *active.waitsFor)
            continue;
        active.waitsFor.reset();
        if (!report.result)
            active.run.turnAround(Outcome::Failed,
                                  QStringLiteral("the run could not be written down: ") + report.result.error().message,
                                  now);
    }
}

void CoordinationPath::takeAnswers()
{
    for (const Answer &answer : std::exchange(m_answers, {})) {
        if (answer.state == CommandState::Confirmed)
            ++m_writes;
        for (auto &[taskId, active] : m_active) {
            if (active.ticket != answer.ticket)
                continue;
            active.ticket = 0;
            active.run.answered(answer.ticket, answer.state, answer.value, answer.error, answer.at);
        }
    }
}

void CoordinationPath::advance(SteadyTime now, WallTime wall)
{
    // A refused write is answered at once, and the run goes on to its next one in the same cycle.
    do {
        takeAnswers();
        for (auto it = m_active.begin(); it != m_active.end();) {
            move(it->first, it->second, now, wall);
            it = it->second.run.hasEnded() ? m_active.erase(it) : std::next(it);
        }
    } while (!m_answers.empty());
}

void CoordinationPath::move(const QString &taskId, Active &active, SteadyTime now, WallTime wall)
{
    active.run.advance(now);
    if (active.ticket == 0)
        checkLease(taskId, active, now);
    if (active.run.isCompensating() && !std::exchange(active.isLeaseRenewed, true))
        renewLeases(taskId, active, now);
    if (!active.waitsFor || active.run.isCompensating()) {
        const std::uint64_t ticket = m_nextTicket;
        if (const auto request = active.run.nextRequest(ticket, now)) {
            ++m_nextTicket;
            active.ticket = ticket;
            ask(taskId, active, *request, now, wall);
        }
    }
    if (active.run.hasEnded())
        ended(taskId, active, wall);
}

// A higher priority may have taken an output over: then the steps that remain must not be done.
void CoordinationPath::checkLease(const QString &taskId, Active &active, SteadyTime now) const
{
    if (active.run.isCompensating() || active.run.hasEnded())
        return;
    const auto held = m_with.control.holdsLease(outputsOf(active.run.plan()), coordinationOwner(taskId));
    if (!held)
        active.run.turnAround(Outcome::Failed, QStringLiteral("the lease was lost: ") + held.error().message, now);
}

// Output by output: what somebody else has taken meanwhile does not keep the others from being taken back.
void CoordinationPath::renewLeases(const QString &taskId, Active &active, SteadyTime now)
{
    const CoordinationPlan &plan = active.run.plan();
    for (const PointHandle output : outputsOf(plan)) {
        const auto renewed = m_with.control.lease({output}, coordinationOwner(taskId), plan.priority, now,
                                                  now + active.run.compensationTime());
        Q_UNUSED(renewed) // the write itself will be refused, and say why
    }
}

void CoordinationPath::ask(const QString &taskId, Active &active, const CoordinationRun::StepRequest &request,
                           SteadyTime now, WallTime wall)
{
    const CoordinationPlan &plan = active.run.plan();
    ControlRequest control;
    control.point = request.output;
    control.value = request.value;
    control.priority = plan.priority;
    control.owner = coordinationOwner(taskId);
    control.run = plan.run;
    control.claimTtl = request.deadline;
    control.deadline = request.deadline;
    control.ticket = active.ticket;
    m_with.control.request(control, now, wall);
}

void CoordinationPath::ended(const QString &taskId, Active &active, WallTime wall)
{
    const CoordinationRun &run = active.run;
    m_with.control.release(outputsOf(run.plan()), coordinationOwner(taskId));
    CoordinationRecord record;
    record.run = run.plan().run;
    record.taskId = taskId;
    record.outcome = outcomeName(run.outcome());
    record.error = run.error();
    record.due = run.plan().due;
    record.doneUs = run.wasInterrupted()
        ? usBetween(record.due, wall)
        : std::chrono::duration_cast<std::chrono::microseconds>(run.endedAt() - active.due).count();
    record.isCompensated = run.isCompensated();
    record.steps = run.stepsJson();
    m_with.records.append(std::move(record));
    if (active.isWrittenDown)
        m_with.records.append(StateRecord{stateKey(taskId), {}});
    if (run.outcome() == Outcome::Done)
        m_latency.add(run.endedAt() - active.due);
    count(taskId, run.outcome(), run.error(), run.isCompensated());
    reportLeftOver(taskId, run, wall);
}

void CoordinationPath::count(const QString &taskId, Outcome outcome, const QString &error, bool isCompensated)
{
    m_ledger.finish(outcome);
    const auto task = m_design.coordination.find(taskId);
    if (task == m_design.coordination.end())
        return; // of an earlier design
    CoordinationStatistics &statistics = m_statistics[static_cast<std::size_t>(task->second.index)];
    if (outcome == Outcome::Done)
        return;
    statistics.lastError = error;
    ++(outcome == Outcome::Failed         ? statistics.failed
           : outcome == Outcome::TimedOut ? statistics.timedOut
                                          : statistics.discarded);
    if (isCompensated)
        ++statistics.compensated;
}

void CoordinationPath::reportLeftOver(const QString &taskId, const CoordinationRun &run, WallTime wall)
{
    if (run.outcome() == Outcome::Done || run.isCompensated()) {
        if (m_leftOver.erase(taskId) > 0 && m_leftOver.empty())
            m_with.alarms.clearSystem(SystemAlarm::NotCompensated, wall);
        return;
    }
    m_leftOver.insert(taskId);
    m_with.alarms.raiseSystem(
        SystemAlarm::NotCompensated,
        QStringLiteral(
            "Run %1 of the coordination task \"%2\" failed and what it did could not be taken back. Check its "
            "outputs. %3")
            .arg(run.plan().run)
            .arg(taskId, run.error()),
        wall);
}

std::optional<SteadyTime> CoordinationPath::nextDue() const
{
    if (!m_answers.empty() || !m_due.empty())
        return SteadyTime{};
    std::optional<SteadyTime> next = m_schedule.next();
    for (const auto &[taskId, active] : m_active) {
        // While step 1 waits for the disk only the lease's end is due.
        const auto due = active.waitsFor && !active.run.isCompensating() ? std::optional(active.run.leaseUntil())
                                                                         : active.run.nextDue();
        if (due && (!next || *due < *next))
            next = due;
    }
    return next;
}

void CoordinationPath::drain(SteadyTime leasesEnd)
{
    m_isDraining = true;
    m_schedule.clear();
    for (auto &[taskId, active] : m_active)
        active.run.endLeaseBy(leasesEnd, QStringLiteral("the gateway stops"));
}

void CoordinationPath::abandon(SteadyTime now, WallTime wall)
{
    advance(now, wall);
    for (auto &[taskId, active] : m_active) {
        const QString error = QStringLiteral("the gateway stopped in the middle of this run");
        count(taskId, Outcome::TimedOut, error, false);
        if (active.isWrittenDown)
            continue; // it ends at the next start, and has its record then
        CoordinationRecord record;
        record.run = active.run.plan().run;
        record.taskId = taskId;
        record.outcome = outcomeName(Outcome::TimedOut);
        record.error = error;
        record.due = active.run.plan().due;
        record.doneUs = usBetween(record.due, wall);
        record.steps = active.run.stepsJson();
        m_with.records.append(std::move(record));
    }
    m_active.clear();
}

std::vector<PointHandle> CoordinationPath::outputsOf(const CoordinationPlan &plan)
{
    std::vector<PointHandle> outputs;
    outputs.reserve(plan.steps.size());
    for (const PlannedStep &step : plan.steps)
        if (step.output != kNoPoint)
            outputs.push_back(step.output);
    return outputs;
}

} // namespace gridloom
