// SPDX-License-Identifier: Apache-2.0
// ScriptActions: the script functions control.write, alarm.raise, alarm.clear, mqtt.publish, aggregation.write,
// coordination.start and log. They only collect; the engine acts after the run. Belongs to one LuaSandbox, which it must outlive.
#pragma once

#include "script/pointbinding.h"
#include "script/scripttypes.h"

#include <lua.h>

namespace gridloom {

class ScriptActions {
public:
    /// Bytes of payloads, topics and texts that the actions of one run may hold together, outside of the Lua heap.
    static constexpr std::size_t kMaxBytes = 256 * 1024;
    /// Bytes of an alarm's text; longer ones are cut.
    static constexpr std::size_t kMaxAlarmText = 1024;

    /// `points` outlives this.
    ScriptActions(const PointBinding &points, const ScriptLimits &limits) : m_points(points), m_limits(limits) {}
    ScriptActions(const ScriptActions &) = delete;
    ScriptActions &operator=(const ScriptActions &) = delete;

    /// Makes the functions sandbox globals. In protected mode, once.
    void open(lua_State *state);
    /// Drops what an earlier run left.
    void begin();
    /// Moves what was collected since begin() into a result.
    void takeInto(ScriptResult &result);

private:
    static int writeControl(lua_State *state);
    static int raiseAlarm(lua_State *state);
    static int clearAlarm(lua_State *state);
    static int publish(lua_State *state);
    static int writeAggregation(lua_State *state);
    static int startCoordination(lua_State *state);
    static int log(lua_State *state);

    int checkAlarm(lua_State *state) const;
    Value checkValue(lua_State *state, int argument, const char *function);
    void add(lua_State *state, Action action, std::size_t bytes);

    const PointBinding &m_points;
    ScriptLimits m_limits;
    std::vector<Action> m_actions;
    std::vector<QByteArray> m_log;
    std::size_t m_logBytes = 0;
    std::uint64_t m_logCut = 0;
    std::size_t m_bytes = 0;
};

} // namespace gridloom
