// SPDX-License-Identifier: Apache-2.0
#include "engine/controlpath.h"

#include "engine/triggerruns.h"

namespace gridloom {

namespace {
CommandState stateOf(WriteResult::State state)
{
    switch (state) {
    case WriteResult::State::Confirmed: return CommandState::Confirmed;
    case WriteResult::State::Mismatch: return CommandState::Mismatch;
    case WriteResult::State::TimedOut: return CommandState::TimedOut;
    case WriteResult::State::Rejected: break;
    }
    return CommandState::Rejected;
}

Outcome outcomeOf(CommandState state)
{
    switch (state) {
    case CommandState::Confirmed: return Outcome::Done;
    case CommandState::TimedOut: return Outcome::TimedOut;
    case CommandState::Superseded:
    case CommandState::NotNeeded: return Outcome::Discarded;
    default: return Outcome::Failed;
    }
}

void count(ControlCounts &counts, CommandState state)
{
    switch (state) {
    case CommandState::Confirmed: ++counts.confirmed; break;
    case CommandState::Mismatch: ++counts.mismatch; break;
    case CommandState::Rejected: ++counts.rejected; break;
    case CommandState::TimedOut: ++counts.timedOut; break;
    case CommandState::Superseded: ++counts.superseded; break;
    case CommandState::NotNeeded: ++counts.notNeeded; break;
    case CommandState::Queued:
    case CommandState::Sent: break;
    }
}
} // namespace

ControlPath::ControlPath(const Design &design, const Outlets &outlets, Records &records, TriggerRuns &runs,
                         const Clock &clock)
    : m_design(design), m_outlets(outlets), m_records(records), m_runs(runs), m_clock(clock),
      m_arbiter(design, records.nextCommand(),
                std::chrono::duration<double>(clock.clockDuration(std::chrono::seconds(1))).count())
{
}

void ControlPath::request(const ControlRequest &request, SteadyTime now, WallTime wall)
{
    m_ledger.offer();
    std::optional<ControlCommand> superseded;
    const ControlCommand command = m_arbiter.request(request, now, wall, superseded);
    if (superseded)
        finished(*superseded, now);
    if (isFinal(command.state))
        finished(command, now);
}

void ControlPath::advance(SteadyTime now)
{
    for (const ControlCommand &command : m_arbiter.expire(now))
        finished(command, now);
    for (const ControlCommand &command : m_arbiter.due(now)) {
        WriteRequest write;
        write.id = command.id;
        write.point = command.request.point;
        write.value = command.value;
        write.verify = m_design.points[command.request.point].point->write->verify;
        write.deadline = std::chrono::steady_clock::now() + m_clock.realDuration(command.deadline - now);
        m_outlets.write(write);
    }
}

std::optional<SteadyTime> ControlPath::nextDue() const
{
    const auto due = m_arbiter.nextDue();
    const auto expiry = m_arbiter.nextExpiry();
    return due && expiry ? std::min(*due, *expiry) : due ? due : expiry;
}

void ControlPath::deviceReturned(const Device &device)
{
    for (const Point &point : device.points)
        if (point.write)
            m_arbiter.forget(point.handle);
}

void ControlPath::writeFinished(const WriteFinished &event)
{
    const auto command =
        m_arbiter.finish(event.id, stateOf(event.result.state), event.result.readBack, event.result.error, event.at);
    if (command)
        finished(*command, event.at);
}

void ControlPath::rejectWaiting(SteadyTime now)
{
    for (const ControlCommand &command : m_arbiter.rejectWaiting())
        finished(command, now);
}

void ControlPath::finished(const ControlCommand &command, SteadyTime now)
{
    m_ledger.finish(outcomeOf(command.state));
    count(m_counts, command.state);
    ControlRecord record;
    record.command = command.id;
    record.pointId = command.request.point < static_cast<PointHandle>(m_design.points.size())
        ? m_design.points[command.request.point].id
        : QString();
    record.value = command.value;
    record.readBack = command.readBack;
    record.reason = command.request.reason.isEmpty() ? command.request.owner : command.request.reason;
    record.run = command.request.run;
    record.priority = priorityName(command.request.priority);
    record.state = commandStateName(command.state);
    record.error = command.error.message;
    record.requested = command.requestedWall;
    record.durationUs = std::chrono::duration_cast<std::chrono::microseconds>(now - command.requestedAt).count();
    m_records.append(std::move(record));
    if (command.request.ticket != 0)
        for (const auto &ended : m_ticketEnded)
            ended(command, now);
    if (command.request.ticket != 0 || command.request.run == 0)
        return;
    const bool isDone = command.state == CommandState::Confirmed || command.state == CommandState::NotNeeded;
    QString failure;
    if (!isDone)
        failure = command.error.message.isEmpty() ? commandStateName(command.state) : command.error.message;
    m_runs.effectEnded(command.request.run, Effect::Control, now, failure);
}

} // namespace gridloom
