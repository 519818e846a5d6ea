// SPDX-License-Identifier: Apache-2.0
// Arbiter: the one gate before every device write. It knows who owns each output (a claim with a priority and a time to
// live), checks limits, ramp, write-if-different and minimum interval, and leads each command to exactly one final
// state. Engine thread. Pure: it decides, the caller sends.
// One owner per output at a time: a request of lower priority than a living claim of another owner is Rejected; one of
// equal or higher priority takes the claim over. Latest value wins: a request for an output whose earlier
// command still waits to be sent supersedes it.
#pragma once

#include "core/design/design.h"
#include "core/sample.h"

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gridloom {

using CommandId = std::uint64_t;

enum class CommandState : std::uint8_t {
    Queued, Sent, Confirmed, Mismatch, TimedOut, Superseded, NotNeeded, Rejected
};
QString commandStateName(CommandState state);
inline bool isFinal(CommandState s) { return s > CommandState::Sent; }
QString priorityName(ControlPriority priority); ///< "safety", "gridLimit", "stateOfCharge", "demand", ...

struct ControlRequest {
    PointHandle point = kNoPoint;
    Value value;
    ControlPriority priority = ControlPriority::Schedule;
    QString owner;   ///< who claims the output: a trigger's id, "user:NAME"
    QString reason;  ///< "trigger-id#run"
    std::uint64_t run = 0; ///< trigger run, 0: none
    SteadyTime computedFrom{}; ///< freeze time of the image it was computed from
    std::chrono::nanoseconds claimTtl{std::chrono::seconds(3)}; ///< 3 x the trigger's period
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
    Arbiter(const Design &design, CommandId firstCommand);

    /// Takes a request. The answer is the command with its state: Queued (the caller sees it again in due()), or final
    /// at once: Rejected (no such output, not a finite number, image older than the claim's time to live, a higher
    /// owner; error "control.*"), NotNeeded (equals the last confirmed value and nothing is under way).
    /// Values outside min..max are clamped, changes beyond the ramp are cut to what the ramp allows now.
    /// `superseded` gets the waiting command that this one replaces, if any, in its final state.
    ControlCommand request(const ControlRequest &request, SteadyTime now, WallTime wall,
                           std::optional<ControlCommand> &superseded);
    /// Commands that may be sent now: at most one under way per output, not before its minimum interval. They are Sent
    /// from here on.
    std::vector<ControlCommand> due(SteadyTime now);
    /// When due() may have something next; nothing when no command waits.
    std::optional<SteadyTime> nextDue() const;
    /// The driver's answer for a Sent command; gives it back in its final state (nothing for an unknown id).
    std::optional<ControlCommand> finish(CommandId id, CommandState state, const Value &readBack, const Error &error,
                                         SteadyTime now);
    /// Commands whose deadline has passed without an answer, now TimedOut.
    std::vector<ControlCommand> expire(SteadyTime now);
    /// Ends every waiting command as Rejected ("control.stopping"): orderly stop.
    std::vector<ControlCommand> rejectWaiting();
    std::size_t inFlight() const;

    struct Claim {
        QString owner;
        ControlPriority priority = ControlPriority::Manual;
        SteadyTime until{};
    };
    /// The living claim on an output.
    std::optional<Claim> claim(PointHandle point, SteadyTime now) const;

private:
    struct Output {
        const WritePolicy *policy = nullptr;
        Claim claim;
        std::optional<ControlCommand> waiting;
        std::optional<ControlCommand> sent;
        Value lastConfirmed;
        std::optional<double> lastWritten; ///< for the ramp
        SteadyTime lastWrittenAt{};
        bool hasClaim = false;
        bool hasWritten = false;
    };
    std::unordered_map<PointHandle, Output> m_outputs;
    std::unordered_map<CommandId, PointHandle> m_sent;
    CommandId m_next;
};

} // namespace gridloom
