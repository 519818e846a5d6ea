// SPDX-License-Identifier: Apache-2.0
#include "core/control/arbiter.h"

#include <algorithm>
#include <cmath>

namespace gridloom {

QString commandStateName(CommandState state)
{
    switch (state) {
    case CommandState::Queued: return QStringLiteral("Queued");
    case CommandState::Sent: return QStringLiteral("Sent");
    case CommandState::Confirmed: return QStringLiteral("Confirmed");
    case CommandState::Mismatch: return QStringLiteral("Mismatch");
    case CommandState::TimedOut: return QStringLiteral("TimedOut");
    case CommandState::Superseded: return QStringLiteral("Superseded");
    case CommandState::NotNeeded: return QStringLiteral("NotNeeded");
    case CommandState::Rejected: return QStringLiteral("Rejected");
    }
    return {};
}

QString priorityName(ControlPriority priority)
{
    switch (priority) {
    case ControlPriority::Safety: return QStringLiteral("safety");
    case ControlPriority::GridLimit: return QStringLiteral("gridLimit");
    case ControlPriority::StateOfChargeProtection: return QStringLiteral("stateOfCharge");
    case ControlPriority::Demand: return QStringLiteral("demand");
    case ControlPriority::Schedule: return QStringLiteral("schedule");
    case ControlPriority::SelfConsumption: return QStringLiteral("selfConsumption");
    case ControlPriority::Comfort: return QStringLiteral("comfort");
    case ControlPriority::Manual: return QStringLiteral("manual");
    }
    return {};
}

namespace {
Error noOutput()
{
    return {QStringLiteral("control.noOutput"),
            QStringLiteral("The point cannot be written: give it a \"write\" section in the design.")};
}
} // namespace

Arbiter::Arbiter(const Design &design, CommandId firstCommand, double clockRate)
    : m_next(firstCommand), m_clockRate(clockRate)
{
    for (const PointRef &ref : design.points) {
        if (!ref.point || !ref.point->write)
            continue;
        Output &output = m_outputs[ref.handle];
        output.policy = &*ref.point->write;
        output.name = ref.name;
    }
}

Arbiter::Output *Arbiter::outputOf(PointHandle point)
{
    const auto found = m_outputs.find(point);
    return found == m_outputs.end() ? nullptr : &found->second;
}

ControlCommand Arbiter::request(const ControlRequest &request, SteadyTime now, WallTime wall,
                                std::optional<ControlCommand> &superseded)
{
    superseded.reset();
    Output *output = outputOf(request.point);
    ControlCommand command;
    command.id = m_next++;
    command.request = request;
    command.value = request.value;
    command.requestedAt = now;
    command.requestedWall = wall;
    command.deadline = output ? now + request.deadline.value_or(onClock(output->policy->deadline)) : now;
    if (auto error = refusal(output, request, now)) {
        command.state = CommandState::Rejected;
        command.error = std::move(*error);
        return command;
    }
    claim(*output, {request.owner, request.priority, now + request.claimTtl}, now);
    command.value = limited(*output, request.value, now);
    if (output->waiting) {
        superseded = std::exchange(output->waiting, std::nullopt);
        superseded->state = CommandState::Superseded;
    }
    if (!output->sent && equalsConfirmed(*output, command.value)) {
        command.state = CommandState::NotNeeded;
        return command;
    }
    output->waiting = command;
    if (!std::exchange(output->isActive, true))
        m_active.push_back(output);
    return command;
}

Arbiter::Verdict Arbiter::refusal(const Output *output, const ControlRequest &request, SteadyTime now) const
{
    if (!output)
        return noOutput();
    const auto number = request.value.toDouble();
    if (!number || !std::isfinite(*number))
        return Error{QStringLiteral("control.notANumber"),
                     QStringLiteral("%1 was to be set to %2: only a finite number can be written.")
                         .arg(output->name, QString::fromUtf8(request.value.toText()))};
    if (request.computedFrom != SteadyTime{} && now - request.computedFrom > onClock(request.claimTtl))
        return Error{QStringLiteral("control.imageTooOld"),
                     QStringLiteral("%1: the value was computed from measurements older than %2 ms.")
                         .arg(output->name)
                         .arg(std::chrono::duration_cast<Milliseconds>(request.claimTtl).count()),
                     true};
    return claimRefusal(output, request.owner, request.priority, now);
}

Arbiter::Verdict Arbiter::claimRefusal(const Output *output, const QString &owner, ControlPriority priority,
                                       SteadyTime now)
{
    if (!output)
        return noOutput();
    const Claim &claim = output->claim;
    if (!output->hasClaim || now >= claim.until || claim.owner == owner || priority < claim.priority
        || (priority == claim.priority && !claim.isLease))
        return std::nullopt;
    return Error{QStringLiteral("control.higherOwner"),
                 claim.isLease ? QStringLiteral("%1 is leased by %2 with the priority %3.")
                                     .arg(output->name, claim.owner, priorityName(claim.priority))
                               : QStringLiteral("%1 is controlled by %2 with the higher priority %3.")
                                     .arg(output->name, claim.owner, priorityName(claim.priority)),
                 true};
}

// A request within one's own lease does not shorten it.
void Arbiter::claim(Output &output, Claim claim, SteadyTime now)
{
    const Claim &held = output.claim;
    if (output.hasClaim && held.isLease && now < held.until && held.owner == claim.owner)
        return;
    output.claim = std::move(claim);
    output.hasClaim = true;
}

Result<void> Arbiter::lease(const std::vector<PointHandle> &points, const QString &owner, ControlPriority priority,
                            SteadyTime now, SteadyTime until)
{
    for (const PointHandle point : points)
        if (auto error = claimRefusal(outputOf(point), owner, priority, now))
            return std::move(*error);
    for (const PointHandle point : points) {
        Output &output = *outputOf(point);
        output.claim = {owner, priority, until, true};
        output.hasClaim = true;
    }
    return {};
}

Result<void> Arbiter::holdsLease(const std::vector<PointHandle> &points, const QString &owner) const
{
    for (const PointHandle point : points) {
        const Output &output = m_outputs.at(point);
        const Claim &claim = output.claim;
        if (!output.hasClaim || !claim.isLease || claim.owner != owner)
            return Error{QStringLiteral("control.leaseLost"),
                         QStringLiteral("%1 was taken over by %2 with the priority %3.")
                             .arg(output.name, claim.owner, priorityName(claim.priority)),
                         true};
    }
    return {};
}

void Arbiter::release(const std::vector<PointHandle> &points, const QString &owner)
{
    for (const PointHandle point : points)
        if (Output *output = outputOf(point); output && output->claim.isLease && output->claim.owner == owner)
            output->hasClaim = false;
}

std::pair<Value, SteadyTime> Arbiter::lastWritten(PointHandle point) const
{
    const auto found = m_outputs.find(point);
    if (found == m_outputs.end())
        return {};
    const Output &output = found->second;
    if (output.sent)
        return {output.sent->value, SteadyTime::max()};
    return {output.lastConfirmed, output.lastEnded};
}

/// The value within min..max and, from what the device holds or is about to hold, within the ramp.
Value Arbiter::limited(const Output &output, const Value &value, SteadyTime now)
{
    const WritePolicy &policy = *output.policy;
    double low = policy.min.value_or(-std::numeric_limits<double>::infinity());
    double high = policy.max.value_or(std::numeric_limits<double>::infinity());
    const bool isUnderWay = output.sent.has_value();
    const auto from = isUnderWay ? output.sent->value.toDouble() : output.rampFrom;
    if (policy.rampPerS && from) {
        const SteadyTime since = isUnderWay ? *output.lastSent : output.rampSince;
        const double step = *policy.rampPerS * std::chrono::duration<double>(now - since).count();
        // A device outside its limits comes back at the ramp, not in one jump.
        const double lowest = *from - step;
        const double highest = *from + step;
        low = std::min(std::max(low, lowest), highest);
        high = std::max(std::min(high, highest), lowest);
    }
    // What fits stays the value it is: an integer keeps every digit.
    if (compareNumbers(value, Value(low)).value_or(0) < 0)
        return Value(low);
    if (compareNumbers(value, Value(high)).value_or(0) > 0)
        return Value(high);
    return value;
}

bool Arbiter::equalsConfirmed(const Output &output, const Value &value)
{
    return output.policy->ifDifferent && compareNumbers(value, output.lastConfirmed) == 0;
}

SteadyTime Arbiter::sendableAt(const Output &output)
{
    return output.lastSent ? *output.lastSent + output.policy->minInterval : output.waiting->requestedAt;
}

const std::vector<ControlCommand> &Arbiter::due(SteadyTime now)
{
    m_due.clear();
    for (Output *output : m_active) {
        if (output->waiting && !output->sent && sendableAt(*output) <= now && now < output->waiting->deadline)
            m_due.push_back(send(*output, now));
    }
    std::sort(m_due.begin(), m_due.end(), [](const ControlCommand &a, const ControlCommand &b) {
        return std::pair(a.request.priority, a.id) < std::pair(b.request.priority, b.id);
    });
    return m_due;
}

ControlCommand Arbiter::send(Output &output, SteadyTime now)
{
    ControlCommand command = *std::exchange(output.waiting, std::nullopt);
    command.value = limited(output, command.value, now);
    command.state = CommandState::Sent;
    output.sent = command;
    output.lastSent = now;
    m_sent.emplace(command.id, &output);
    return command;
}

std::optional<SteadyTime> Arbiter::nextDue() const
{
    std::optional<SteadyTime> next;
    for (const Output *output : m_active) {
        if (!output->waiting || output->sent || sendableAt(*output) >= output->waiting->deadline)
            continue;
        if (!next || sendableAt(*output) < *next)
            next = sendableAt(*output);
    }
    return next;
}

std::optional<ControlCommand> Arbiter::finish(CommandId id, CommandState state, const Value &readBack,
                                              const Error &error, SteadyTime now)
{
    Q_ASSERT(isFinal(state));
    const auto found = m_sent.find(id);
    if (found == m_sent.end())
        return std::nullopt;
    Output &output = *found->second;
    m_sent.erase(found);
    ControlCommand command = *std::exchange(output.sent, std::nullopt);
    command.state = state;
    command.error = error;
    command.readBack = readBack;
    output.lastConfirmed = Value();
    if (state != CommandState::Rejected)
        output.lastEnded = now; // a refusal has changed nothing
    if (state == CommandState::Confirmed) {
        output.lastConfirmed = command.value;
        output.rampFrom = command.value.toDouble();
        output.rampSince = *output.lastSent;
        if (output.waiting && equalsConfirmed(output, output.waiting->value))
            end(output.waiting, CommandState::NotNeeded, {}, m_notNeeded);
    } else if (const auto held = readBack.toDouble(); state == CommandState::Mismatch && held && std::isfinite(*held)) {
        output.rampFrom = held;
        output.rampSince = *output.lastSent;
    }
    tidy();
    return command;
}

void Arbiter::end(std::optional<ControlCommand> &command, CommandState state, Error error,
                  std::vector<ControlCommand> &ended)
{
    ControlCommand final = *std::exchange(command, std::nullopt);
    final.state = state;
    final.error = std::move(error);
    ended.push_back(std::move(final));
}

const std::vector<ControlCommand> &Arbiter::expire(SteadyTime now)
{
    m_ended.clear();
    m_ended.swap(m_notNeeded);
    const auto timedOut = [](const Output &output, bool wasSent) {
        return Error{QStringLiteral("control.timeout"),
                     wasSent ? QStringLiteral("%1: the device did not answer in time.").arg(output.name)
                             : QStringLiteral("%1: the write could not be sent in time: an earlier one or the minimum "
                                              "interval was in the way.")
                                   .arg(output.name),
                     true};
    };
    for (Output *output : m_active) {
        if (output->sent && output->sent->deadline <= now) {
            m_sent.erase(output->sent->id);
            output->lastConfirmed = Value(); // it may have been written or not
            output->lastEnded = now;
            end(output->sent, CommandState::TimedOut, timedOut(*output, true), m_ended);
        }
        if (output->waiting && output->waiting->deadline <= now)
            end(output->waiting, CommandState::TimedOut, timedOut(*output, false), m_ended);
    }
    tidy();
    return m_ended;
}

std::optional<SteadyTime> Arbiter::nextExpiry() const
{
    if (!m_notNeeded.empty())
        return m_notNeeded.front().requestedAt;
    std::optional<SteadyTime> next;
    const auto consider = [&next](const std::optional<ControlCommand> &command) {
        if (command && (!next || command->deadline < *next))
            next = command->deadline;
    };
    for (const Output *output : m_active) {
        consider(output->sent);
        consider(output->waiting);
    }
    return next;
}

std::vector<ControlCommand> Arbiter::rejectWaiting()
{
    std::vector<ControlCommand> ended;
    for (Output *output : m_active) {
        if (output->waiting)
            end(output->waiting, CommandState::Rejected,
                Error{QStringLiteral("control.stopping"),
                      QStringLiteral("%1: the gateway stops, the write was not sent.").arg(output->name), true},
                ended);
    }
    tidy();
    return ended;
}

void Arbiter::forget(PointHandle point)
{
    if (Output *output = outputOf(point))
        output->lastConfirmed = Value();
}

std::size_t Arbiter::inFlight() const
{
    std::size_t n = m_notNeeded.size();
    for (const Output *output : m_active)
        n += (output->sent ? 1U : 0U) + (output->waiting ? 1U : 0U);
    return n;
}

void Arbiter::tidy()
{
    std::erase_if(m_active, [](Output *output) {
        output->isActive = output->waiting || output->sent;
        return !output->isActive;
    });
}

std::optional<Arbiter::Claim> Arbiter::claim(PointHandle point, SteadyTime now) const
{
    const auto found = m_outputs.find(point);
    if (found == m_outputs.end() || !found->second.hasClaim || now >= found->second.claim.until)
        return std::nullopt;
    return found->second.claim;
}

} // namespace gridloom
