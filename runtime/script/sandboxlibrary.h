// SPDX-License-Identifier: Apache-2.0
// The library functions of the sandbox: the allowed ones of Lua's own, those that could evade a limit replaced.
// All of these raise Lua errors: call them in protected mode, inside a LuaSandbox.
#pragma once

#include <lua.h>

namespace gridloom {

/// Fills the registry's table of sandbox globals (pushSandboxGlobals) with everything below.
void openSandboxLibraries(lua_State *state);
/// Pushes that table. Scripts see it through the __index of their environment; they never hold it.
void pushSandboxGlobals(lua_State *state);
/// Puts the value on top of the stack into the sandbox globals and pops it.
void setSandboxGlobal(lua_State *state, const char *name);

// The parts; each pushes its table of functions.
void pushTableLibrary(lua_State *state);     ///< tablelibrary.cpp: raw access, steps charged
void pushStringLibrary(lua_State *state);    ///< stringlibrary.cpp: also becomes the methods of strings
void pushCoroutineLibrary(lua_State *state); ///< coroutinelibrary.cpp
/// patternlibrary.cpp: sets find, match, gmatch and gsub in the table on top.
void setPatternFunctions(lua_State *state);

/// Pushes a function that charges the lengths of its text arguments and then runs `original`, which has no upvalues.
void pushCharged(lua_State *state, lua_CFunction original);

} // namespace gridloom
