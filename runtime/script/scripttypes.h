// SPDX-License-Identifier: Apache-2.0
// What goes into a script and what comes out of it. A script never acts: it returns actions, which the engine carries
// out.
#pragma once

#include "core/design/design.h"
#include "core/processimage.h"

#include <QByteArray>
#include <QString>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace gridloom {

struct ScriptLimits {
    std::chrono::milliseconds time{100}; ///< wall time of one run
    std::size_t memory = 1 << 20;        ///< bytes of Lua heap, at most 8 MB
    std::size_t actions = 256;           ///< per run
    std::size_t recordBytes = 4096;      ///< log lines of one run together; the rest is cut and counted
};

// control.write("device.point", value [, {priority=, ttlMs=}])
struct ControlAction {
    PointHandle point = kNoPoint;
    Value value;
    std::optional<ControlPriority> priority; ///< else the trigger's
    std::optional<std::chrono::milliseconds> ttl;
};
// alarm.raise("set.alarm" [, text]) / alarm.clear("set.alarm")
struct AlarmAction {
    int alarm = -1; ///< index in Design::alarmList
    bool isRaise = true;
    QByteArray text;
};
// mqtt.publish("sub/topic", payload [, {qos=, retain=}]): the topic goes below gridloom/v1/{gateway}/
struct PublishAction {
    QByteArray topic;
    QByteArray payload; ///< JSON: a table is written as an object or array, anything else as its JSON value
    std::uint8_t qos = 1;
    bool isRetained = false;
};
// aggregation.write("set.name", value): a row with the trigger's run number
struct AggregationAction {
    PointHandle point = kNoPoint;
    Value value;
};
// coordination.start("task")
struct CoordinationAction {
    int task = -1; ///< index in Design::coordinationList
};
using Action = std::variant<ControlAction, AlarmAction, PublishAction, AggregationAction, CoordinationAction>;

enum class ScriptOutcome : std::uint8_t { Ok, Failed, TimedOut };

struct ScriptResult {
    ScriptOutcome outcome = ScriptOutcome::Ok;
    QString error;               ///< "overload.lua:3: message"
    std::vector<Action> actions; ///< in the order of the calls; those before a failure are kept
    std::vector<QByteArray> log; ///< log(...) lines, control characters escaped: one line is one line
    std::uint64_t logCut = 0;    ///< lines beyond the limit
    std::size_t memory = 0;      ///< bytes of Lua heap after the run
    /// The `state` table after the run, when it was asked for; else, or when it cannot be kept, nothing.
    std::optional<QByteArray> state;
    QString stateError; ///< why it cannot be kept
};

/// What a run can see. `image` lives as long as the run.
struct RunContext {
    const ProcessImage *image = nullptr;
    std::uint64_t run = 0; ///< run number: script global `run.number`
    SteadyTime now{};      ///< of the image: ages are counted from it
    WallTime wall{};       ///< script global `run.time` (Unix seconds, a float)
    bool wantsState = false; ///< the result is to hold the `state` table
};

} // namespace gridloom
