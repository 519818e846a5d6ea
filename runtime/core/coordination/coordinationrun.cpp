// SPDX-License-Identifier: Apache-2.0
#include "core/coordination/coordinationrun.h"

#include "core/json.h"

namespace gridloom {

namespace {
// An output on its ramp is asked for the rest of its way so often.
constexpr std::chrono::milliseconds kRampPause{100};
// Real time between two tries of a compensation.
constexpr std::chrono::seconds kRetryPause{1};

std::int64_t usSince(SteadyTime from, SteadyTime to)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

bool isAccepted(CommandState state)
{
    return state == CommandState::Confirmed || state == CommandState::NotNeeded;
}

QString textOf(CommandState state, const Error &error)
{
    return error.message.isEmpty() ? commandStateName(state) : error.message;
}
} // namespace

void CoordinationRun::begin(SteadyTime due, SteadyTime now)
{
    m_due = due;
    m_leaseUntil = now + onClock(m_plan.lease);
    m_leaseEnd.clear();
    m_wasInterrupted = false;
    m_phase = Phase::Steps;
    m_step = 0;
    m_ticket.reset();
    m_traces.assign(m_plan.steps.size(), {});
    m_outcome = Outcome::Done;
    m_error.clear();
    beginStep(now);
}

void CoordinationRun::beginInterrupted(SteadyTime now)
{
    begin(now, now);
    m_wasInterrupted = true;
    m_outcome = Outcome::Failed;
    m_error = QStringLiteral("the gateway was interrupted in the middle of this run");
    m_phase = Phase::Compensating;
    for (Trace &trace : m_traces)
        trace.mayHaveChanged = true;
    compensateBelow(m_traces.size(), now);
}

Nanoseconds CoordinationRun::patience(const PlannedStep &step) const
{
    return onClock(m_wasInterrupted ? Nanoseconds(kPatienceAfterRestart)
                                    : kTries * (Nanoseconds(step.deadline) + Nanoseconds(kRetryPause)));
}

const Value &CoordinationRun::wanted() const
{
    const PlannedStep &step = m_plan.steps[m_step];
    return m_phase == Phase::Compensating ? *step.compensation : step.value;
}

void CoordinationRun::beginStep(SteadyTime now)
{
    m_stepUntil = now + onClock(m_plan.steps[m_step].deadline);
    m_notBefore.reset();
}

std::optional<CoordinationRun::StepRequest> CoordinationRun::nextRequest(std::uint64_t ticket, SteadyTime now)
{
    if (m_phase == Phase::Ended || m_ticket || (m_notBefore && *m_notBefore > now))
        return std::nullopt;
    m_notBefore.reset();
    m_ticket = ticket;
    const PlannedStep &step = m_plan.steps[m_step];
    Trace &trace = m_traces[m_step];
    if (m_phase == Phase::Compensating) {
        ++trace.tries;
        return StepRequest{step.output, wanted(), std::min(onClock(step.deadline), m_stepUntil - now)};
    }
    if (!trace.begun)
        trace.begun = now;
    return StepRequest{step.output, wanted(), m_stepUntil - now};
}

void CoordinationRun::answered(std::uint64_t ticket, CommandState state, const Value &value, const Error &error,
                               SteadyTime at)
{
    if (m_ticket != ticket || m_phase == Phase::Ended)
        return;
    m_ticket.reset();
    // Confirmed short of what is wanted: the output's ramp allows no more now.
    const bool isReached = isAccepted(state) && compareNumbers(value, wanted()) == 0;
    if (m_phase == Phase::Steps)
        stepAnswered(state, isReached, error, at);
    else
        compensationAnswered(state, isReached, error, at);
}

void CoordinationRun::stepAnswered(CommandState state, bool isReached, const Error &error, SteadyTime at)
{
    Trace &trace = m_traces[m_step];
    trace.mayHaveChanged =
        trace.mayHaveChanged || isAccepted(state) || state == CommandState::Mismatch || state == CommandState::TimedOut;
    if (isReached) {
        trace.state = state;
        trace.done = at;
        if (++m_step < m_plan.steps.size())
            return beginStep(at);
        m_phase = Phase::Ended;
        m_endedAt = at;
        return;
    }
    if (isAccepted(state)) {
        m_notBefore = at + kRampPause;
        if (*m_notBefore >= m_stepUntil)
            failStep(CommandState::TimedOut, Outcome::TimedOut,
                     QStringLiteral("the output's ramp did not let it reach its value in time"), at);
        return;
    }
    failStep(state, state == CommandState::TimedOut ? Outcome::TimedOut : Outcome::Failed, textOf(state, error), at);
}

void CoordinationRun::compensationAnswered(CommandState state, bool isReached, const Error &error, SteadyTime at)
{
    Trace &trace = m_traces[m_step];
    trace.compensation = state;
    if (isReached) {
        trace.compensated = at;
        return compensateBelow(m_step, at);
    }
    if (isAccepted(state) && at + kRampPause < m_stepUntil) {
        --trace.tries; // it moves: the same try goes on
        m_notBefore = at + kRampPause;
        return;
    }
    if (isAccepted(state))
        trace.compensation = CommandState::TimedOut;
    const bool isFinal =
        (state == CommandState::Rejected && !error.isRetryable) || (!m_wasInterrupted && trace.tries >= kTries);
    const SteadyTime retry = at + onClock(kRetryPause);
    if (!isFinal && retry < m_stepUntil) {
        m_notBefore = retry;
        return;
    }
    m_error += QStringLiteral("; step \"%1\" could not be taken back: %2")
                   .arg(m_plan.steps[m_step].id, textOf(*trace.compensation, error));
    compensateBelow(m_step, at);
}

void CoordinationRun::failStep(CommandState state, Outcome outcome, const QString &why, SteadyTime now)
{
    Trace &trace = m_traces[m_step];
    trace.state = state;
    trace.error = why;
    m_outcome = outcome;
    m_error = QStringLiteral("step \"%1\": %2").arg(m_plan.steps[m_step].id, why);
    m_ticket.reset(); // whatever the open write comes to, it is taken back after it
    m_phase = Phase::Compensating;
    compensateBelow(m_step + 1, now);
}

void CoordinationRun::turnAround(Outcome outcome, const QString &why, SteadyTime now)
{
    if (m_phase != Phase::Steps)
        return;
    m_traces[m_step].mayHaveChanged = m_traces[m_step].mayHaveChanged || m_ticket;
    failStep(outcome == Outcome::TimedOut ? CommandState::TimedOut : CommandState::Rejected, outcome, why, now);
}

void CoordinationRun::compensateBelow(std::size_t below, SteadyTime now)
{
    while (below-- > 0) {
        if (!m_traces[below].mayHaveChanged || !m_plan.steps[below].compensation)
            continue;
        m_step = below;
        m_stepUntil = now + patience(m_plan.steps[below]);
        m_notBefore.reset();
        return;
    }
    m_phase = Phase::Ended;
    m_endedAt = now;
}

void CoordinationRun::advance(SteadyTime now)
{
    if (m_phase == Phase::Steps && now >= m_leaseUntil)
        turnAround(Outcome::TimedOut,
                   m_leaseEnd.isEmpty() ? QStringLiteral("the lease of %1 ms ran out").arg(m_plan.lease.count())
                                        : m_leaseEnd,
                   now);
}

std::optional<SteadyTime> CoordinationRun::nextDue() const
{
    if (m_phase == Phase::Ended)
        return std::nullopt;
    const std::optional<SteadyTime> request =
        m_ticket ? std::nullopt : std::optional(m_notBefore.value_or(SteadyTime{}));
    if (m_phase == Phase::Compensating)
        return request;
    return request ? std::min(*request, m_leaseUntil) : m_leaseUntil;
}

void CoordinationRun::endLeaseBy(SteadyTime until, const QString &why)
{
    if (until >= m_leaseUntil)
        return;
    m_leaseUntil = until;
    m_leaseEnd = why;
}

Nanoseconds CoordinationRun::compensationTime() const
{
    Nanoseconds sum{};
    for (const PlannedStep &step : m_plan.steps)
        if (step.compensation)
            sum += patience(step);
    return sum;
}

bool CoordinationRun::isCompensated() const
{
    return m_outcome != Outcome::Done && std::all_of(m_traces.begin(), m_traces.end(), [](const Trace &trace) {
               return !trace.mayHaveChanged || trace.compensated;
           });
}

void CoordinationRun::writeTrace(JsonWriter &w, std::size_t index) const
{
    const PlannedStep &step = m_plan.steps[index];
    const Trace &trace = m_traces[index];
    w.beginObject().key("id").string(QStringView(step.id)).key("state");
    if (trace.state)
        w.string(QStringView(commandStateName(*trace.state)));
    else
        w.string(m_wasInterrupted ? "Unknown" : "NotBegun");
    if (!step.value.isNull())
        w.key("value").value(step.value);
    if (trace.begun)
        w.key("startUs").integer(usSince(m_due, *trace.begun));
    if (trace.done)
        w.key("us").integer(usSince(m_due, *trace.done));
    if (!trace.error.isEmpty())
        w.key("error").string(QStringView(trace.error));
    if (trace.compensation) {
        w.key("compensation").beginObject().key("state").string(QStringView(commandStateName(*trace.compensation)));
        w.key("value").value(*step.compensation).key("tries").integer(trace.tries);
        if (trace.compensated)
            w.key("us").integer(usSince(m_due, *trace.compensated));
        w.endObject();
    }
    w.endObject();
}

QByteArray CoordinationRun::stepsJson(QByteArray buffer) const
{
    JsonWriter w(std::move(buffer));
    w.beginArray();
    for (std::size_t i = 0; i < m_traces.size(); ++i)
        writeTrace(w, i);
    w.endArray();
    return w.take();
}

} // namespace gridloom
