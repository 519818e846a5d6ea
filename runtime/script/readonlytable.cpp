// SPDX-License-Identifier: Apache-2.0
#include "script/readonlytable.h"

#include <lauxlib.h>

namespace gridloom {

namespace {
// Its address is the key under which the metatable of a view keeps what it shows.
constexpr char kShownKey = 0;

int refuseChange(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING)
        return luaL_error(L, "attempt to change '%s' of a read-only table", lua_tostring(L, 2));
    return luaL_error(L, "attempt to change a read-only table");
}

int length(lua_State *L)
{
    resolveReadOnly(L, 1);
    lua_pushinteger(L, static_cast<lua_Integer>(lua_rawlen(L, 1)));
    return 1;
}

int nextOf(lua_State *L)
{
    resolveReadOnly(L, 1);
    lua_settop(L, 2);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

int pairsOf(lua_State *L)
{
    lua_pushcfunction(L, &nextOf);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}
} // namespace

void makeReadOnly(lua_State *L)
{
    luaL_checkstack(L, 4, nullptr);
    lua_newtable(L); // shown view
    lua_createtable(L, 0, 6);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -3);
    lua_rawsetp(L, -2, &kShownKey);
    lua_pushcfunction(L, &refuseChange);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, &length);
    lua_setfield(L, -2, "__len");
    lua_pushcfunction(L, &pairsOf);
    lua_setfield(L, -2, "__pairs");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_replace(L, -2);
}

bool resolveReadOnly(lua_State *L, int index)
{
    luaL_checkstack(L, 2, nullptr);
    index = lua_absindex(L, index);
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index))
        return false;
    const bool isView = lua_rawgetp(L, -1, &kShownKey) == LUA_TTABLE;
    if (isView)
        lua_copy(L, -1, index);
    lua_pop(L, 2);
    return isView;
}

void checkWritableTable(lua_State *L, int index)
{
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushvalue(L, index);
    if (resolveReadOnly(L, -1))
        luaL_error(L, "attempt to change a read-only table");
    lua_pop(L, 1);
}

} // namespace gridloom
