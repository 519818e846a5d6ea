// SPDX-License-Identifier: Apache-2.0
#include "script/scriptactions.h"

#include "script/luapayload.h"
#include "script/luatext.h"
#include "script/luavalue.h"
#include "script/readonlytable.h"
#include "script/sandboxlibrary.h"
#include "script/scriptcheck.h"

#include <lauxlib.h>

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace gridloom {

namespace {
constexpr std::size_t kMaxTopic = 1024;
constexpr lua_Integer kMaxTtlMs = 24 * 3600 * 1000;

// The words of docs/design-format.md, in order of the enumeration.
constexpr std::array<std::string_view, 8> kPriorities = {"safety",   "gridLimit",       "stateOfCharge", "demand",
                                                         "schedule", "selfConsumption", "comfort",       "manual"};
static_assert(static_cast<std::size_t>(ControlPriority::Manual) == kPriorities.size() - 1);

ScriptActions &actionsOf(lua_State *L)
{
    return *static_cast<ScriptActions *>(lua_touserdata(L, lua_upvalueindex(1)));
}

// Calls `take(key)` with each option's value on top of the stack; it answers whether it knows the key.
template<typename Take>
void readOptions(lua_State *L, int argument, const char *function, Take take)
{
    if (lua_isnoneornil(L, argument))
        return;
    luaL_checktype(L, argument, LUA_TTABLE);
    resolveReadOnly(L, argument);
    for (lua_pushnil(L); lua_next(L, argument); lua_pop(L, 1)) {
        const bool isText = lua_type(L, -2) == LUA_TSTRING;
        if (!isText || !take(std::string_view(lua_tostring(L, -2))))
            luaL_error(L, "%s: unknown option '%s'", function, isText ? lua_tostring(L, -2) : luaL_typename(L, -2));
    }
}

ControlPriority priorityOnTop(lua_State *L)
{
    if (lua_type(L, -1) == LUA_TSTRING) {
        const auto it = std::find(kPriorities.begin(), kPriorities.end(), checkText(L, -1));
        if (it != kPriorities.end())
            return static_cast<ControlPriority>(it - kPriorities.begin());
    }
    luaL_error(L,
               "control.write: 'priority' has to be one of safety, gridLimit, stateOfCharge, demand, schedule, "
               "selfConsumption, comfort, manual");
    return ControlPriority::Manual;
}

std::chrono::milliseconds ttlOnTop(lua_State *L)
{
    int isInteger = 0;
    const lua_Integer ms = lua_tointegerx(L, -1, &isInteger);
    if (!isInteger || ms < 1 || ms > kMaxTtlMs)
        luaL_error(L, "control.write: 'ttlMs' has to be a whole number from 1 to %I",
                   static_cast<LUAI_UACINT>(kMaxTtlMs));
    return std::chrono::milliseconds(ms);
}

// MQTT 5.0, 4.7: a topic name to publish to has no wildcards and no NUL. No empty level at its start or end: it is
// put below gridloom/v1/{gateway}/.
void checkTopic(lua_State *L, std::string_view topic)
{
    if (topic.empty() || topic.size() > kMaxTopic)
        luaL_error(L, "mqtt.publish: the topic has to have 1 to %d bytes", static_cast<int>(kMaxTopic));
    if (topic.find_first_of(std::string_view("+#\0", 3)) != std::string_view::npos || topic.front() == '/'
        || topic.back() == '/')
        luaL_error(L, "mqtt.publish: a topic holds no '+', '#' or NUL and neither starts nor ends with '/'");
    if (!isUtf8(topic) || static_cast<std::size_t>(printable(topic, 4 * kMaxTopic).size()) != topic.size())
        luaL_error(L, "mqtt.publish: a topic is UTF-8 text without control characters");
}
} // namespace

void ScriptActions::open(lua_State *L)
{
    const auto setFunction = [&](const char *name, lua_CFunction function) {
        lua_pushlightuserdata(L, this);
        lua_pushcclosure(L, function, 1);
        lua_setfield(L, -2, name);
    };
    const auto setTable = [&](const char *name) {
        makeReadOnly(L);
        setSandboxGlobal(L, name);
    };
    lua_newtable(L);
    setFunction("write", &ScriptActions::writeControl);
    setTable("control");
    lua_newtable(L);
    setFunction("raise", &ScriptActions::raiseAlarm);
    setFunction("clear", &ScriptActions::clearAlarm);
    setTable("alarm");
    lua_newtable(L);
    setFunction("publish", &ScriptActions::publish);
    setTable("mqtt");
    lua_newtable(L);
    setFunction("write", &ScriptActions::writeAggregation);
    setTable("aggregation");
    lua_newtable(L);
    setFunction("start", &ScriptActions::startCoordination);
    setTable("coordination");
    lua_pushlightuserdata(L, this);
    lua_pushcclosure(L, &ScriptActions::log, 1);
    setSandboxGlobal(L, "log");
}

void ScriptActions::begin()
{
    m_actions.clear();
    m_log.clear();
    m_logBytes = 0;
    m_logCut = 0;
    m_bytes = 0;
}

void ScriptActions::takeInto(ScriptResult &result)
{
    result.actions = std::exchange(m_actions, {});
    result.log = std::exchange(m_log, {});
    result.logCut = m_logCut;
}

void ScriptActions::add(lua_State *L, Action action, std::size_t bytes)
{
    if (m_actions.size() >= m_limits.actions)
        luaL_error(L, "more than %d actions in one run", static_cast<int>(m_limits.actions));
    if (bytes > kMaxBytes - m_bytes)
        luaL_error(L, "the texts and payloads of one run are longer than %d bytes", static_cast<int>(kMaxBytes));
    m_bytes += bytes;
    m_actions.push_back(std::move(action));
}

// A value that a point can hold: not nil, not NaN or infinite.
Value ScriptActions::checkValue(lua_State *L, int argument, const char *function)
{
    std::optional<Value> value = toValue(L, argument);
    if (!value)
        luaL_error(L, "%s: a %s cannot be written", function, typeNameOf(L, argument));
    if (value->isNull())
        luaL_error(L, "%s: the value is nil; test .good of the points it comes from", function);
    if (value->type() == ValueType::Double && !std::isfinite(value->real()))
        luaL_error(L, "%s: the value is not a finite number (%f)", function, value->real());
    return *std::move(value);
}

int ScriptActions::writeControl(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    ControlAction action;
    const std::string_view name = checkText(L, 1);
    action.point = self.m_points.resolve(L, name);
    const Point *point = self.m_points.design().points.at(action.point).point;
    if (!point || !point->write)
        luaL_error(L, "control.write: '%s' is not an output; its design has no 'write'", name.data());
    action.value = self.checkValue(L, 2, "control.write");
    readOptions(L, 3, "control.write", [&](std::string_view key) {
        if (key == "priority")
            action.priority = priorityOnTop(L);
        else if (key == "ttlMs")
            action.ttl = ttlOnTop(L);
        else
            return false;
        return true;
    });
    const std::size_t bytes = action.value.type() == ValueType::Text ? action.value.text().size() : 0;
    self.add(L, std::move(action), bytes);
    return 0;
}

namespace {
// The index of the name that is argument 1; `what` names its kind in the error.
int checkName(lua_State *L, const QHash<QByteArray, int> &names, const char *what)
{
    const std::string_view name = checkText(L, 1);
    const auto it = names.constFind(QByteArray::fromRawData(name.data(), static_cast<qsizetype>(name.size())));
    if (it != names.cend())
        return *it;
    const QByteArray nearest = nearestKnown(names, name);
    if (nearest.isEmpty())
        luaL_error(L, "unknown %s '%s': the design has none of this name", what, name.data());
    luaL_error(L, "unknown %s '%s'; did you mean '%s'?", what, name.data(), nearest.constData());
    return -1;
}
} // namespace

int ScriptActions::checkAlarm(lua_State *L) const
{
    return checkName(L, m_points.design().alarmByName, "alarm");
}

int ScriptActions::raiseAlarm(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    AlarmAction action{self.checkAlarm(L), true, {}};
    if (!lua_isnoneornil(L, 2)) {
        luaL_tolstring(L, 2, nullptr);
        action.text = printable(checkText(L, -1), kMaxAlarmText);
    }
    const auto bytes = static_cast<std::size_t>(action.text.size());
    self.add(L, std::move(action), bytes);
    return 0;
}

int ScriptActions::clearAlarm(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    self.add(L, AlarmAction{self.checkAlarm(L), false, {}}, 0);
    return 0;
}

int ScriptActions::publish(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    const std::string_view topic = checkText(L, 1);
    checkTopic(L, topic);
    luaL_checkany(L, 2);
    PublishAction action;
    action.topic = QByteArray(topic.data(), static_cast<qsizetype>(topic.size()));
    action.payload = toPayload(L, 2, kMaxBytes - self.m_bytes);
    readOptions(L, 3, "mqtt.publish", [&](std::string_view key) {
        if (key == "qos") {
            int isInteger = 0;
            const lua_Integer qos = lua_tointegerx(L, -1, &isInteger);
            if (!isInteger || qos < 0 || qos > 2)
                luaL_error(L, "mqtt.publish: 'qos' has to be 0, 1 or 2");
            action.qos = static_cast<std::uint8_t>(qos);
        } else if (key == "retain") {
            if (!lua_isboolean(L, -1))
                luaL_error(L, "mqtt.publish: 'retain' has to be true or false");
            action.isRetained = lua_toboolean(L, -1);
        } else {
            return false;
        }
        return true;
    });
    const auto bytes = static_cast<std::size_t>(action.topic.size() + action.payload.size());
    self.add(L, std::move(action), bytes);
    return 0;
}

int ScriptActions::writeAggregation(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    AggregationAction action;
    const std::string_view name = checkText(L, 1);
    action.point = self.m_points.resolve(L, name);
    const Aggregation *aggregation = self.m_points.design().points.at(action.point).aggregation;
    if (!aggregation || !aggregation->isScripted())
        luaL_error(L, "aggregation.write: '%s' is not a row for triggers; that is an aggregation without inputs",
                   name.data());
    action.value = self.checkValue(L, 2, "aggregation.write");
    const std::size_t bytes = action.value.type() == ValueType::Text ? action.value.text().size() : 0;
    self.add(L, std::move(action), bytes);
    return 0;
}

int ScriptActions::startCoordination(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    self.add(L, CoordinationAction{checkName(L, self.m_points.design().coordinationByName, "coordination task")}, 0);
    return 0;
}

// One call is one line: its arguments with a space between. An empty line counts as a byte, so that the number of lines
// is bounded with their length.
int ScriptActions::log(lua_State *L)
{
    ScriptActions &self = actionsOf(L);
    const std::size_t room = self.m_limits.recordBytes - self.m_logBytes;
    if (room == 0) {
        ++self.m_logCut;
        return 0;
    }
    QByteArray line;
    const auto isTooLong = [&] { return static_cast<std::size_t>(line.size()) > room; };
    const int arguments = lua_gettop(L);
    for (int i = 1; i <= arguments && !isTooLong(); ++i) {
        if (i > 1)
            line.append(' ');
        luaL_tolstring(L, i, nullptr);
        line += printable(checkText(L, -1), room + 1);
        lua_pop(L, 1);
    }
    if (isTooLong()) {
        ++self.m_logCut;
        line = printable({line.constData(), static_cast<std::size_t>(line.size())}, room);
    }
    self.m_logBytes += std::max<std::size_t>(1, static_cast<std::size_t>(line.size()));
    self.m_log.push_back(std::move(line));
    return 0;
}

} // namespace gridloom
