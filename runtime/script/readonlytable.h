// SPDX-License-Identifier: Apache-2.0
// Read-only tables: an empty table that shows another one. Reading by index, #, pairs, ipairs, next and the table and
// payload functions see the contents; every way of changing it is a script error. Its metatable cannot be reached.
#pragma once

#include <lua.h>

namespace gridloom {

/// Replaces the table on top of the stack by a read-only view of it.
void makeReadOnly(lua_State *state);
/// When the value at `index` is a read-only view, replaces it by what it shows, for reading only. Whether it was one.
bool resolveReadOnly(lua_State *state, int index);
/// Raises an error unless argument `index` is a table that a script may change.
void checkWritableTable(lua_State *state, int index);

} // namespace gridloom
