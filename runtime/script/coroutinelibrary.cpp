// SPDX-License-Identifier: Apache-2.0
// Coroutines. Lua's own resume and wrap turn every error of the coroutine into a result or a plain error; these pass
// the end of a run on. A new coroutine copies the count hook of its creator.
#include "script/luasandbox.h"
#include "script/sandboxlibrary.h"

#include <lualib.h>

namespace gridloom {

namespace {
// Moves `arguments` values from the top of L into `co` and runs it. Number of results on top of L, or -1 and the error.
int resume(lua_State *L, lua_State *co, int arguments)
{
    LuaSandbox &sandbox = LuaSandbox::of(L);
    sandbox.checkTime(L);
    if (!lua_checkstack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    int results = 0;
    const int status = lua_resume(co, L, arguments, &results);
    if (status == LUA_OK || status == LUA_YIELD) {
        if (!lua_checkstack(L, results + 1)) {
            lua_pop(co, results);
            lua_pushliteral(L, "too many results to resume");
            return -1;
        }
        lua_xmove(co, L, results);
        return results;
    }
    lua_xmove(co, L, 1);
    sandbox.rethrowFinal(L, status);
    return -1;
}

int resumeFunction(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "coroutine");
    const int results = resume(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, results >= 0);
    const int returned = results >= 0 ? results + 1 : 2;
    lua_insert(L, -returned);
    return returned;
}

int wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    const int results = resume(L, co, lua_gettop(L));
    if (results >= 0)
        return results;
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

int create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

int wrapFunction(lua_State *L)
{
    create(L);
    lua_pushcclosure(L, &wrapped, 1);
    return 1;
}
} // namespace

void pushCoroutineLibrary(lua_State *L)
{
    lua_newtable(L);
    luaL_requiref(L, LUA_COLIBNAME, &luaopen_coroutine, 0);
    for (const char *name : {"close", "isyieldable", "running", "status", "yield"}) {
        lua_getfield(L, -1, name);
        lua_setfield(L, -3, name);
    }
    lua_pop(L, 1);
    static constexpr luaL_Reg kFunctions[] = {
        {"create", &create}, {"resume", &resumeFunction}, {"wrap", &wrapFunction}, {nullptr, nullptr}};
    luaL_setfuncs(L, kFunctions, 0);
}

} // namespace gridloom
