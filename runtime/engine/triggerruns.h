// SPDX-License-Identifier: Apache-2.0
// TriggerRuns: every trigger run between its due time and its end, with the stages it has reached. Engine thread. Pure.
// A run has four kinds of effects; each may occur any number of times. It ends when the script has ended and every
// effect has; a run whose effects take longer than the deadline ends as TimedOut, naming the stage that is open.
#pragma once

#include "core/clock.h"
#include "core/ledger.h"
#include "engine/schedule.h"
#include "script/scripttypes.h"
#include "sdk/records.h"

#include <array>
#include <functional>
#include <memory_resource>
#include <optional>
#include <unordered_map>

namespace gridloom {

enum class Effect : std::uint8_t { Control, Alarm, Mqtt, Aggregation };
inline constexpr std::size_t kEffects = 4;

struct TriggerRun {
    std::uint64_t run = 0;
    int trigger = -1;
    SteadyTime due{};
    WallTime dueWall{};
    SteadyTime begun{};        ///< the engine took it up
    bool wasEngineIdle = true; ///< when it fell due: what passed until it was begun is the machine's, not ours
    std::optional<SteadyTime> started, evaluated;
    struct EffectState {
        int asked = 0;
        int open = 0;
        std::optional<SteadyTime> done; ///< the last of this kind was confirmed
        QString failure;                ///< of the first that failed
    };
    std::array<EffectState, kEffects> effects;
    int coordinationAsked = 0; ///< tasks it started; they have runs and records of their own
    ScriptOutcome script = ScriptOutcome::Ok;
    QString error;
    std::vector<QByteArray> log;
    std::uint64_t logCut = 0;
    bool isIssued = false;
    SteadyTime ended{};

    bool hasActed() const;
    int openEffects() const;
};

class TriggerRuns {
public:
    /// `ended` is called once for each run, with its outcome: Done, Failed, TimedOut or Discarded.
    using Ended = std::function<void(const TriggerRun &, Outcome)>;
    TriggerRuns(Nanoseconds deadline, Ended ended) : m_deadline(deadline), m_ended(std::move(ended)) {}

    void begin(std::uint64_t run, int trigger, SteadyTime due, WallTime dueWall, SteadyTime begun, bool wasEngineIdle);
    /// The script has ended; effects follow by effectAsked() until issued().
    TriggerRun *scriptEnded(std::uint64_t run, const ScriptResult &result, SteadyTime started, SteadyTime ended);
    void effectAsked(std::uint64_t run, Effect effect);
    void coordinationAsked(std::uint64_t run);
    /// All effects of the run have been handed over.
    void issued(std::uint64_t run, SteadyTime now);
    /// One effect ended; an empty `failure` means confirmed. Unknown runs (timed out before) are ignored.
    void effectEnded(std::uint64_t run, Effect effect, SteadyTime at, const QString &failure = {});
    /// Ends the runs whose deadline has passed.
    void expire(SteadyTime now);
    std::optional<SteadyTime> nextDeadline() const;
    /// Ends every open run as Discarded: the engine stops.
    void abandon(SteadyTime now);
    std::size_t size() const { return m_runs.size(); }

private:
    void endIfComplete(std::uint64_t run, SteadyTime at);
    void end(std::uint64_t run, Outcome outcome, SteadyTime at);

    Nanoseconds m_deadline;
    Ended m_ended;
    std::pmr::unsynchronized_pool_resource m_nodes; ///< of m_runs: used again, so that a run costs no allocation
    std::pmr::unordered_map<std::uint64_t, TriggerRun> m_runs{&m_nodes};
    Schedule<std::uint64_t> m_deadlines; ///< of open runs, and of ended ones until they are met
};

/// "control", "alarm", "mqtt", "aggregation".
QString effectName(Effect effect);
/// The record of an ended run; `triggerId` is its stable id, `cause` that of a slow run, `buffer` the memory of its detail.
RunRecord runRecord(const TriggerRun &run, Outcome outcome, const QString &triggerId, const QString &cause = {},
                    QByteArray buffer = {});
/// What made a run slow, by the stage that took the largest part: "scheduler" (the engine was idle and woken late),
/// "engine" (it was busy), "queue" (no script worker was free, or an earlier run of the trigger was in the way), "lua",
/// "device", "fsync", "broker", "store".
QString slowestStage(const TriggerRun &run);

} // namespace gridloom
