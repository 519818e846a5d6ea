// SPDX-License-Identifier: Apache-2.0
// Arbiter: the one gate before every device write. It knows who owns each output (a claim with a priority and a time to
// live), checks limits, ramp, write-if-different and minimum interval, and leads each command to exactly one final
// state. Engine thread. Pure: it decides, the caller sends.
// One owner per output at a time: a request of lower priority than a living claim of another owner is Rejected; one of
// equal or higher priority takes the claim over, but a lease only a higher one. Latest value wins: a request for an output whose earlier
// command still waits to be sent supersedes it.
// All times are of the injected clock. No call costs more than the number of commands that are in flight.
#pragma once

#include "core/design/design.h"
#include "core/sample.h"

#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gridloom {

using CommandId = std::uint64_t;

enum class CommandState : std::uint8_t { Queued, Sent, Confirmed, Mismatch, TimedOut, Superseded, NotNeeded, Rejected };
QString commandStateName(CommandState state);
inline bool isFinal(CommandState s)
{
    return s > CommandState::Sent;
}
QString priorityName(ControlPriority priority); ///< "safety", "gridLimit", "stateOfCharge", "demand", ...

struct ControlRequest {
    PointHandle point = kNoPoint;
    Value value;
    ControlPriority priority = ControlPriority::Schedule;
    QString owner;             ///< who claims the output: a trigger's id, "user:NAME"
    QString reason;            ///< said by whoever asks; empty: the owner's run
    std::uint64_t run = 0;     ///< of a trigger or a coordination task, 0: none
    SteadyTime computedFrom{}; ///< freeze time of the image it was computed from; {}: of none (a user's request)
    std::chrono::nanoseconds claimTtl{std::chrono::seconds(3)}; ///< 3 x the trigger's period
    std::optional<Nanoseconds> deadline;                        ///< from now, of the clock; else the output's own
    std::uint64_t ticket = 0;                                   ///< of a coordination task's step, 0: none
};

struct ControlCommand {
    CommandId id = 0;
    ControlRequest request;
    Value value; ///< after limits and ramp: what goes to the device
    CommandState state = CommandState::Queued;
    Error error;
    SteadyTime requestedAt{};
    WallTime requestedWall{};
    SteadyTime deadline{};
    Value readBack;
};

class Arbiter {
public:
    /// The design outlives the arbiter. Commands are numbered from `firstCommand`.
    /// `clockRate`: seconds of the caller's clock in a real second. Deadlines and the age of an image are real time, since
    /// neither a wire nor a processor runs faster with the clock.
    Arbiter(const Design &design, CommandId firstCommand, double clockRate = 1.0);

    /// Takes a request. The answer is the command with its state: Queued (the caller sees it again in due()), or final
    /// at once: Rejected ("control.noOutput": no such output; "control.notANumber": not a finite number;
    /// "control.imageTooOld": image older than the claim's time to live; "control.higherOwner": the output belongs to a
    /// higher priority), NotNeeded (the device holds this value already and nothing is under way).
    /// Values outside min..max are clamped, changes beyond the ramp are cut to what the ramp allows now. The ramp
    /// counts from the last value that went to the device; the first write after a start is not ramped.
    /// `superseded` gets the waiting command that this one replaces, if any, in its final state.
    ControlCommand request(const ControlRequest &request, SteadyTime now, WallTime wall,
                           std::optional<ControlCommand> &superseded);
    /// Commands that may be sent now, highest priority first, then in order of request: at most one under way per
    /// output, not before its minimum interval. They are Sent from here on. Call expire() before:
    /// a command whose deadline has passed is not sent. A value is cut once more when the write before it left the
    /// device elsewhere than expected. The list is good until the next call.
    const std::vector<ControlCommand> &due(SteadyTime now);
    /// The first command number that was not given out.
    CommandId nextCommand() const { return m_next; }
    /// When due() may have something next; nothing when no command waits for a time.
    std::optional<SteadyTime> nextDue() const;
    /// The driver's answer for a Sent command; gives it back in its final state (nothing for an unknown id, such as
    /// one that has expired). `state` is Confirmed, Mismatch, TimedOut or Rejected.
    std::optional<ControlCommand> finish(CommandId id, CommandState state, const Value &readBack, const Error &error,
                                         SteadyTime now);
    /// Commands that ended without an answer of their own: TimedOut when their deadline has passed, NotNeeded when the
    /// write before them was confirmed with the same value. The list is good until the next call.
    const std::vector<ControlCommand> &expire(SteadyTime now);
    /// When expire() has something next; nothing when nothing is in flight. In the past: at once.
    std::optional<SteadyTime> nextExpiry() const;
    /// Ends every waiting command as Rejected ("control.stopping"): orderly stop.
    std::vector<ControlCommand> rejectWaiting();
    /// What the device holds is not known any more (it was away, and may have restarted): the next request is written
    /// even when it equals the last confirmed value. The ramp goes on from that value.
    void forget(PointHandle point);
    /// Commands that are not final.
    std::size_t inFlight() const;

    /// Claims all of these outputs until then, or none: the error names one that belongs to somebody whom this does not
    /// take it from ("control.noOutput", "control.higherOwner"). Taking one's own lease again moves its end.
    Result<void> lease(const std::vector<PointHandle> &points, const QString &owner, ControlPriority priority,
                       SteadyTime now, SteadyTime until);
    /// Error "control.leaseLost" when one of these is not leased by `owner` any more: a higher priority has taken it.
    Result<void> holdsLease(const std::vector<PointHandle> &points, const QString &owner) const;
    /// Ends what `owner` has leased of these.
    void release(const std::vector<PointHandle> &points, const QString &owner);
    /// What the last write left in an output (null: nothing was written, or it is not known what came of it) and when
    /// that was. One that is under way counts as done; a refused one has changed nothing.
    std::pair<Value, SteadyTime> lastWritten(PointHandle point) const;

    struct Claim {
        QString owner;
        ControlPriority priority = ControlPriority::Manual;
        SteadyTime until{};
        bool isLease = false; ///< a coordination task's
    };
    /// The living claim on an output.
    std::optional<Claim> claim(PointHandle point, SteadyTime now) const;

private:
    struct Output {
        const WritePolicy *policy = nullptr;
        QString name;
        Claim claim;
        std::optional<ControlCommand> waiting;
        std::optional<ControlCommand> sent;
        Value lastConfirmed;                ///< null: not known
        std::optional<double> rampFrom;     ///< what the device was last known to hold
        SteadyTime rampSince{};             ///< when that was sent
        std::optional<SteadyTime> lastSent; ///< for the minimum interval
        SteadyTime lastEnded{};             ///< when a write last may have changed it
        bool hasClaim = false;
        bool isActive = false; ///< in m_active
    };
    using Verdict = std::optional<Error>;
    Verdict refusal(const Output *output, const ControlRequest &request, SteadyTime now) const;
    static Verdict claimRefusal(const Output *output, const QString &owner, ControlPriority priority, SteadyTime now);
    static Value limited(const Output &output, const Value &value, SteadyTime now);
    static bool equalsConfirmed(const Output &output, const Value &value);
    static SteadyTime sendableAt(const Output &output);
    Output *outputOf(PointHandle point);
    static void claim(Output &output, Claim claim, SteadyTime now);
    ControlCommand send(Output &output, SteadyTime now);
    void end(std::optional<ControlCommand> &command, CommandState state, Error error,
             std::vector<ControlCommand> &ended);
    /// Forgets outputs from m_active that have nothing in flight.
    void tidy();

    std::unordered_map<PointHandle, Output> m_outputs;
    std::vector<Output *> m_active;                 ///< outputs with a command in flight
    std::pmr::unsynchronized_pool_resource m_nodes; ///< of m_sent: used again, so that a command costs no allocation
    std::pmr::unordered_map<CommandId, Output *> m_sent{&m_nodes};
    std::vector<ControlCommand> m_due, m_ended; ///< the lists handed out last
    std::vector<ControlCommand> m_notNeeded;    ///< final, not yet given out by expire()
    Nanoseconds onClock(Nanoseconds real) const
    {
        return Nanoseconds(static_cast<Nanoseconds::rep>(static_cast<double>(real.count()) * m_clockRate));
    }
    CommandId m_next;
    double m_clockRate;
};

} // namespace gridloom
