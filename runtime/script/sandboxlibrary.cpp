// SPDX-License-Identifier: Apache-2.0
// The base functions. Not here at all: load, loadfile, dofile, require, print, warn, os, io, debug, package.
#include "script/sandboxlibrary.h"

#include "script/luasandbox.h"
#include "script/readonlytable.h"

#include <lualib.h>

namespace gridloom {

namespace {
// Addresses as keys: nothing a script can make equals them.
constexpr char kGlobalsKey = 0;
constexpr char kReplaceableKey = 0;

int finishCall(lua_State *L, int status, lua_KContext skipped)
{
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - static_cast<int>(skipped);
    LuaSandbox::of(L).rethrowFinal(L, status);
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

int pcallFunction(lua_State *L)
{
    luaL_checkany(L, 1);
    LuaSandbox::of(L).checkTime(L);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    return finishCall(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, &finishCall), 0);
}

// Stands between Lua and a script's message handler: past the end no script code runs.
int messageHandler(lua_State *L)
{
    if (LuaSandbox::of(L).isEnding())
        return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

int xpcallFunction(lua_State *L)
{
    const int arguments = lua_gettop(L) - 2;
    luaL_checktype(L, 2, LUA_TFUNCTION);
    LuaSandbox::of(L).checkTime(L);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, &messageHandler, 1);
    lua_replace(L, 2);     // function handler arguments...
    lua_pushboolean(L, 1); // the result when all goes well
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); // function handler true function arguments...
    return finishCall(L, lua_pcallk(L, arguments, LUA_MULTRET, 2, 2, &finishCall), 2);
}

// What a metatable may hold. __gc and __close would run code that no hook sees or that outlives a time-out, __mode can
// make a collection quadratic.
constexpr const char *kEvents[] = {"__index", "__newindex", "__call", "__tostring", "__name", "__len",  "__pairs",
                                   "__eq",    "__lt",       "__le",   "__concat",   "__unm",  "__add",  "__sub",
                                   "__mul",   "__div",      "__mod",  "__pow",      "__idiv", "__band", "__bor",
                                   "__bxor",  "__shl",      "__shr",  "__bnot"};

void pushMetatableCopy(lua_State *L, int original)
{
    const auto get = [&](const char *event) {
        lua_pushstring(L, event);
        return lua_rawget(L, original);
    };
    for (const char *refused : {"__gc", "__close", "__mode"}) {
        if (get(refused) != LUA_TNIL)
            luaL_error(L, "setmetatable: scripts cannot use %s", refused);
        lua_pop(L, 1);
    }
    lua_newtable(L);
    for (const char *event : kEvents) {
        if (get(event) != LUA_TNIL)
            lua_setfield(L, -2, event);
        else
            lua_pop(L, 1);
    }
    if (get("__metatable") == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
        lua_rawsetp(L, -2, &kReplaceableKey);
        lua_pushvalue(L, original); // getmetatable answers what the script gave
    }
    lua_setfield(L, -2, "__metatable");
}

int setMetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (lua_getmetatable(L, 1)) {
        if (lua_rawgetp(L, -1, &kReplaceableKey) == LUA_TNIL)
            return luaL_error(L, "cannot change a protected metatable");
        lua_pop(L, 2);
    }
    lua_settop(L, 2);
    if (lua_istable(L, 2))
        pushMetatableCopy(L, 2);
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

int nextFunction(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    resolveReadOnly(L, 1);
    lua_settop(L, 2);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

int pairsFunction(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") == LUA_TNIL) {
        luaL_checktype(L, 1, LUA_TTABLE);
        lua_pushcfunction(L, &nextFunction);
        lua_pushvalue(L, 1);
        lua_pushnil(L);
    } else {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
    }
    return 3;
}

int rawgetFunction(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    resolveReadOnly(L, 1);
    lua_settop(L, 2);
    lua_rawget(L, 1);
    return 1;
}

int rawlenFunction(lua_State *L)
{
    luaL_argexpected(L, lua_istable(L, 1) || lua_isstring(L, 1), 1, "table or string");
    resolveReadOnly(L, 1);
    lua_pushinteger(L, static_cast<lua_Integer>(lua_rawlen(L, 1)));
    return 1;
}

int rawsetFunction(lua_State *L)
{
    checkWritableTable(L, 1);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 1;
}

// Only the question how much memory is in use; the collector is not the script's to steer.
int collectGarbage(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "collect");
    if (std::string_view(what) != "count")
        return luaL_error(L, "collectgarbage: scripts may only ask for \"count\"");
    lua_pushnumber(L, static_cast<double>(LuaSandbox::of(L).memory()) / 1024.0);
    return 1;
}

int chargedFunction(lua_State *L)
{
    std::size_t steps = 0;
    const int arguments = lua_gettop(L);
    for (int i = 1; i <= arguments; ++i)
        steps += lua_type(L, i) == LUA_TSTRING ? 1 + lua_rawlen(L, i) : 50; // a number in a format: some 0.5 us
    LuaSandbox::of(L).charge(L, steps);
    return lua_tocfunction(L, lua_upvalueindex(1))(L); // in our frame: its messages name the script's call
}

constexpr luaL_Reg kReplacedBase[] = {{"pcall", &pcallFunction},           {"xpcall", &xpcallFunction},
                                      {"setmetatable", &setMetatable},     {"next", &nextFunction},
                                      {"pairs", &pairsFunction},           {"rawget", &rawgetFunction},
                                      {"rawlen", &rawlenFunction},         {"rawset", &rawsetFunction},
                                      {"collectgarbage", &collectGarbage}, {nullptr, nullptr}};

// Opens one of Lua's own libraries and sets its members that are in `names` as fields of the table on top.
void copyAllowed(lua_State *L, const char *library, lua_CFunction open, std::initializer_list<const char *> names)
{
    luaL_requiref(L, library, open, 0);
    for (const char *name : names) {
        lua_getfield(L, -1, name);
        lua_setfield(L, -3, name);
    }
    lua_pop(L, 1);
}

void pushMathLibrary(lua_State *L)
{
    lua_newtable(L);
    copyAllowed(L, LUA_MATHLIBNAME, &luaopen_math,
                {"abs",  "acos",   "asin",       "atan", "ceil",       "cos", "deg",        "exp",  "floor",
                 "fmod", "huge",   "log",        "max",  "maxinteger", "min", "mininteger", "modf", "pi",
                 "rad",  "random", "randomseed", "sin",  "sqrt",       "tan", "tointeger",  "type", "ult"});
}

void pushUtf8Library(lua_State *L)
{
    lua_newtable(L);
    copyAllowed(L, LUA_UTF8LIBNAME, &luaopen_utf8, {"charpattern", "codes"});
    luaL_requiref(L, LUA_UTF8LIBNAME, &luaopen_utf8, 0);
    for (const char *name : {"char", "codepoint", "len", "offset"}) {
        lua_getfield(L, -1, name);
        const lua_CFunction original = lua_tocfunction(L, -1);
        lua_pop(L, 1);
        pushCharged(L, original);
        lua_setfield(L, -3, name);
    }
    lua_pop(L, 1);
}
} // namespace

void pushCharged(lua_State *L, lua_CFunction original)
{
    lua_pushcfunction(L, original);
    lua_pushcclosure(L, &chargedFunction, 1);
}

void pushSandboxGlobals(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kGlobalsKey);
}

void setSandboxGlobal(lua_State *L, const char *name)
{
    pushSandboxGlobals(L);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

void openSandboxLibraries(lua_State *L)
{
    lua_newtable(L);
    copyAllowed(L, LUA_GNAME, &luaopen_base,
                {"assert", "error", "getmetatable", "ipairs", "rawequal", "select", "tostring", "type", "_VERSION"});
    luaL_setfuncs(L, kReplacedBase, 0);
    lua_pushglobaltable(L);
    lua_getfield(L, -1, "tonumber");
    const lua_CFunction toNumber = lua_tocfunction(L, -1);
    lua_pop(L, 2);
    pushCharged(L, toNumber);
    lua_setfield(L, -2, "tonumber");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kGlobalsKey);

    struct Library {
        const char *name;
        void (*push)(lua_State *);
    };
    for (const Library &library :
         {Library{"math", &pushMathLibrary}, Library{"utf8", &pushUtf8Library}, Library{"table", &pushTableLibrary},
          Library{"string", &pushStringLibrary}, Library{"coroutine", &pushCoroutineLibrary}}) {
        library.push(L);
        makeReadOnly(L);
        setSandboxGlobal(L, library.name);
    }
}

} // namespace gridloom
