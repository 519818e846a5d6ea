// SPDX-License-Identifier: Apache-2.0
// Values between Gridloom and Lua: int64 <-> integer, double <-> float, bool, text; null is nil. A uint64 above 2^63-1
// is a `uint64` object, since Lua would read it as a float: it compares with every number, does exact integer
// arithmetic (an error when a result does not fit) and becomes a float only by :tofloat().
// All functions raise Lua errors: call them in protected mode.
#pragma once

#include "core/value.h"

#include <lua.h>

#include <QJsonValue>

#include <optional>
#include <string_view>

namespace gridloom {

/// Registers the `uint64` object; once per state.
void openUInt64(lua_State *state);
void pushValue(lua_State *state, const Value &value);
void pushUnsigned(lua_State *state, std::uint64_t value);
/// The value at `index`; nothing when it is a table, a function or another thing that no point can hold. nil is null.
std::optional<Value> toValue(lua_State *state, int index);
/// The `uint64` object at `index`; nothing when it is something else.
std::optional<std::uint64_t> toUnsigned(lua_State *state, int index);
/// A JSON tree as read-only tables; integers stay integers, null members are left out.
void pushJson(lua_State *state, const QJsonValue &json);
/// Text argument `argument` as raw bytes, which live as long as the argument.
std::string_view checkText(lua_State *state, int argument);
/// "table", "function", ..., or what an object calls itself: "point", "uint64". Pushes up to one value.
const char *typeNameOf(lua_State *state, int index);

} // namespace gridloom
