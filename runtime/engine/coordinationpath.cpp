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

CoordinationPath::Slot::Slot(const CoordinationTask *definition, const QString &id, double clockRate)
    : task(definition), taskId(id), owner(coordinationOwner(id)), stateKey(kStatePrefix + id), run(clockRate)
{
}

CoordinationPath::CoordinationPath(const Design &design, Surroundings surroundings)
    : m_design(design), m_with(surroundings),
      m_clockRate(std::chrono::duration<double>(m_with.clock.clockDuration(std::chrono::seconds(1))).count()),
      m_statistics(static_cast<std::size_t>(design.coordinationList.size()))
{
    for (const CoordinationTask *task : design.coordinationList)
        m_slots.emplace_back(task, task->id, m_clockRate);
    m_with.control.onTicketEnded([this](const ControlCommand &command, SteadyTime at) {
        m_answers.push_back({command.request.ticket, command.state, command.value, command.error, at});
    });
}

void CoordinationPath::start(const std::map<QString, QByteArray> &states, SteadyTime now, WallTime wall)
{
    for (const auto &[key, state] : states) {
        if (!key.startsWith(kStatePrefix))
            continue;
        const QString taskId = key.mid(kStatePrefix.size());
        const auto slot =
            std::find_if(m_slots.begin(), m_slots.end(), [&taskId](const Slot &s) { return s.taskId == taskId; });
        takeBack(slot != m_slots.end() ? *slot : m_slots.emplace_back(nullptr, taskId, m_clockRate), state, now, wall);
    }
    for (const CoordinationTask *task : m_design.coordinationList)
        if (task->when && task->isEnabled)
            m_schedule.add(nextOnGrid(now, task->when->period, task->when->phase), task->index);
}

void CoordinationPath::takeBack(Slot &slot, const QByteArray &state, SteadyTime now, WallTime wall)
{
    auto plan = readOpenRunState(slot.taskId, state, m_design);
    if (!plan) {
        m_with.records.append(StateRecord{slot.stateKey, {}});
        m_with.alarms.raiseSystem(SystemAlarm::StateDamaged, plan.error().message, wall);
        return;
    }
    m_ledger.offer();
    slot.run.nextPlan() = std::move(plan).value();
    slot.run.beginInterrupted(now);
    open(slot, now);
    slot.isWrittenDown = true;
}

void CoordinationPath::open(Slot &slot, SteadyTime due)
{
    slot.outputs.clear();
    for (const PlannedStep &step : slot.run.plan().steps)
        if (step.output != kNoPoint)
            slot.outputs.push_back(step.output);
    slot.due = due;
    slot.ticket = 0;
    slot.waitsFor.reset();
    slot.isWrittenDown = slot.isLeaseRenewed = false;
    slot.isOpen = true;
    m_open.push_back(static_cast<std::size_t>(&slot - m_slots.data()));
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
        Slot &slot = m_slots[static_cast<std::size_t>(index)];
        m_ledger.offer();
        if (slot.isOpen || m_isDraining || !slot.task->isEnabled) {
            m_ledger.finish(Outcome::Discarded);
            ++m_statistics[static_cast<std::size_t>(index)].discarded;
        } else {
            begin(slot, due, points, now, wall);
        }
    }
    m_due.clear();
}

void CoordinationPath::begin(Slot &slot, SteadyTime due, const PointStore &points, SteadyTime now, WallTime wall)
{
    const CoordinationTask &task = *slot.task;
    ++m_statistics[static_cast<std::size_t>(task.index)].runs;
    CoordinationRecord record;
    record.run = m_with.runs.take();
    record.taskId = task.id;
    record.due = wall - std::chrono::duration_cast<std::chrono::microseconds>(now - due);
    record.doneUs = usBetween(record.due, wall);
    record.isCompensated = true; // nothing was begun, so nothing is left
    record.steps = QByteArrayLiteral("[]");
    const auto heldBy = [this, &points](PointHandle output) {
        const auto &[written, at] = m_with.control.lastWritten(output);
        const ImageSlot &read = points.at(output);
        return isGood(read.quality) && read.gatewayTime > at ? read.value : written;
    };
    if (const auto planned = planRun(slot.run.nextPlan(), task, m_design, record.run, record.due, points, heldBy);
        !planned) {
        record.error = planned.error().message;
        return refuse(slot, std::move(record), Outcome::Failed);
    }
    slot.run.begin(due, now);
    open(slot, due);
    const auto leased = m_with.control.lease(slot.outputs, slot.owner, task.priority, now, slot.run.leaseUntil());
    if (!leased) {
        slot.isOpen = false;
        m_open.pop_back();
        record.error = QStringLiteral("lease: ") + leased.error().message;
        return refuse(slot, std::move(record), Outcome::Discarded);
    }
    if (!slot.run.plan().hasCompensation())
        return;
    StateRecord state{slot.stateKey, openRunState(slot.run.plan(), m_texts.take())};
    m_texts.remember(state.value);
    const RecordNumber number = m_with.records.append(std::move(state));
    slot.isWrittenDown = true;
    if (task.isDurable)
        slot.waitsFor = number;
}

void CoordinationPath::refuse(const Slot &slot, CoordinationRecord &&record, Outcome outcome)
{
    record.outcome = outcomeName(outcome);
    count(slot, outcome, record.error, false);
    m_with.records.append(std::move(record));
}

void CoordinationPath::committed(const Records::CommitReport &report, SteadyTime now)
{
    for (const std::size_t index : m_open) {
        Slot &slot = m_slots[index];
        if (!slot.waitsFor || report.last < *slot.waitsFor)
            continue;
        slot.waitsFor.reset();
        if (!report.result)
            slot.run.turnAround(Outcome::Failed,
                                QStringLiteral("the run could not be written down: ") + report.result.error().message,
                                now);
    }
}

void CoordinationPath::takeAnswers()
{
    m_taken.swap(m_answers);
    for (const Answer &answer : m_taken) {
        if (answer.state == CommandState::Confirmed)
            ++m_writes;
        for (const std::size_t index : m_open) {
            Slot &slot = m_slots[index];
            if (slot.ticket != answer.ticket)
                continue;
            slot.ticket = 0;
            slot.run.answered(answer.ticket, answer.state, answer.value, answer.error, answer.at);
        }
    }
    m_taken.clear();
}

void CoordinationPath::advance(SteadyTime now, WallTime wall)
{
    // A refused write is answered at once, and the run goes on to its next one in the same cycle.
    do {
        takeAnswers();
        for (const std::size_t index : m_open)
            move(m_slots[index], now, wall);
        std::erase_if(m_open, [this](std::size_t index) { return !m_slots[index].isOpen; });
    } while (!m_answers.empty());
}

void CoordinationPath::move(Slot &slot, SteadyTime now, WallTime wall)
{
    slot.run.advance(now);
    if (slot.ticket == 0)
        checkLease(slot, now);
    if (slot.run.isCompensating() && !std::exchange(slot.isLeaseRenewed, true))
        renewLeases(slot, now);
    if (!slot.waitsFor || slot.run.isCompensating()) {
        if (const auto step = slot.run.nextRequest(m_nextTicket, now)) {
            slot.ticket = m_nextTicket++;
            request(slot, *step, now, wall);
        }
    }
    if (slot.run.hasEnded())
        ended(slot, wall);
}

// A higher priority may have taken an output over: then the steps that remain must not be done.
void CoordinationPath::checkLease(Slot &slot, SteadyTime now) const
{
    if (slot.run.isCompensating() || slot.run.hasEnded())
        return;
    if (const auto held = m_with.control.holdsLease(slot.outputs, slot.owner); !held)
        slot.run.turnAround(Outcome::Failed, QStringLiteral("the lease was lost: ") + held.error().message, now);
}

// Output by output: what somebody else has taken meanwhile does not keep the others from being taken back.
void CoordinationPath::renewLeases(Slot &slot, SteadyTime now)
{
    for (const PointHandle output : slot.outputs) {
        const auto renewed = m_with.control.lease({output}, slot.owner, slot.run.plan().priority, now,
                                                  now + slot.run.compensationTime());
        Q_UNUSED(renewed) // the write itself will be refused, and say why
    }
}

void CoordinationPath::request(Slot &slot, const CoordinationRun::StepRequest &step, SteadyTime now, WallTime wall)
{
    ControlRequest control;
    control.point = step.output;
    control.value = step.value;
    control.priority = slot.run.plan().priority;
    control.owner = slot.owner;
    control.run = slot.run.plan().run;
    control.claimTtl = step.deadline;
    control.deadline = step.deadline;
    control.ticket = slot.ticket;
    m_with.control.request(control, now, wall);
}

void CoordinationPath::ended(Slot &slot, WallTime wall)
{
    const CoordinationRun &run = slot.run;
    slot.isOpen = false;
    m_with.control.release(slot.outputs, slot.owner);
    CoordinationRecord record;
    record.run = run.plan().run;
    record.taskId = slot.taskId;
    record.outcome = outcomeName(run.outcome());
    record.error = run.error();
    record.due = run.plan().due;
    record.doneUs = run.wasInterrupted()
        ? usBetween(record.due, wall)
        : std::chrono::duration_cast<std::chrono::microseconds>(run.endedAt() - slot.due).count();
    record.isCompensated = run.isCompensated();
    record.steps = run.stepsJson(m_texts.take());
    m_texts.remember(record.steps);
    m_with.records.append(std::move(record));
    if (slot.isWrittenDown)
        m_with.records.append(StateRecord{slot.stateKey, {}});
    if (run.outcome() == Outcome::Done)
        m_latency.add(run.endedAt() - slot.due);
    count(slot, run.outcome(), run.error(), run.isCompensated());
    reportLeftOver(slot, wall);
}

void CoordinationPath::count(const Slot &slot, Outcome outcome, const QString &error, bool isCompensated)
{
    m_ledger.finish(outcome);
    if (!slot.task || outcome == Outcome::Done)
        return;
    CoordinationStatistics &statistics = m_statistics[static_cast<std::size_t>(slot.task->index)];
    statistics.lastError = error;
    ++(outcome == Outcome::Failed         ? statistics.failed
           : outcome == Outcome::TimedOut ? statistics.timedOut
                                          : statistics.discarded);
    if (isCompensated)
        ++statistics.compensated;
}

void CoordinationPath::reportLeftOver(const Slot &slot, WallTime wall)
{
    const CoordinationRun &run = slot.run;
    if (run.outcome() == Outcome::Done || run.isCompensated()) {
        if (m_leftOver.erase(slot.taskId) > 0 && m_leftOver.empty())
            m_with.alarms.clearSystem(SystemAlarm::NotCompensated, wall);
        return;
    }
    m_leftOver.insert(slot.taskId);
    m_with.alarms.raiseSystem(
        SystemAlarm::NotCompensated,
        QStringLiteral(
            "Run %1 of the coordination task \"%2\" failed and what it did could not be taken back. Check its "
            "outputs. %3")
            .arg(run.plan().run)
            .arg(slot.taskId, run.error()),
        wall);
}

std::optional<SteadyTime> CoordinationPath::nextDue() const
{
    if (!m_answers.empty() || !m_due.empty())
        return SteadyTime{};
    std::optional<SteadyTime> next = m_schedule.next();
    for (const std::size_t index : m_open) {
        const Slot &slot = m_slots[index];
        // While step 1 waits for the disk only the lease's end is due.
        const auto due =
            slot.waitsFor && !slot.run.isCompensating() ? std::optional(slot.run.leaseUntil()) : slot.run.nextDue();
        if (due && (!next || *due < *next))
            next = due;
    }
    return next;
}

void CoordinationPath::drain(SteadyTime leasesEnd)
{
    m_isDraining = true;
    m_schedule.clear();
    for (const std::size_t index : m_open)
        m_slots[index].run.endLeaseBy(leasesEnd, QStringLiteral("the gateway stops"));
}

void CoordinationPath::abandon(SteadyTime now, WallTime wall)
{
    advance(now, wall);
    for (const std::size_t index : m_open) {
        Slot &slot = m_slots[index];
        slot.isOpen = false;
        const QString error = QStringLiteral("the gateway stopped in the middle of this run");
        count(slot, Outcome::TimedOut, error, false);
        if (slot.isWrittenDown)
            continue; // it ends at the next start, and has its record then
        CoordinationRecord record;
        record.run = slot.run.plan().run;
        record.taskId = slot.taskId;
        record.outcome = outcomeName(Outcome::TimedOut);
        record.error = error;
        record.due = slot.run.plan().due;
        record.doneUs = usBetween(record.due, wall);
        record.steps = slot.run.stepsJson();
        m_with.records.append(std::move(record));
    }
    m_open.clear();
}

} // namespace gridloom
