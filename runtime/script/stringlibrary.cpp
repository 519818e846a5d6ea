// SPDX-License-Identifier: Apache-2.0
// The string functions. One table serves string.f and the method form: both are the same functions.
#include "script/luasandbox.h"
#include "script/sandboxlibrary.h"

#include <lualib.h>

#include <string>

namespace gridloom {

namespace {
int rep(lua_State *L)
{
    std::size_t length = 0;
    std::size_t separatorLength = 0;
    const char *text = luaL_checklstring(L, 1, &length);
    const lua_Integer count = luaL_checkinteger(L, 2);
    const char *separator = luaL_optlstring(L, 3, "", &separatorLength);
    if (count <= 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    const auto times = static_cast<std::size_t>(count);
    const std::size_t each = length + separatorLength; // of two texts in memory: no overflow
    if (each > 0 && times > (LuaSandbox::kMaxString + separatorLength) / each)
        return luaL_error(L, "string.rep: the result is longer than %d bytes",
                          static_cast<int>(LuaSandbox::kMaxString));
    LuaSandbox::of(L).charge(L, times); // also of an empty text
    std::string out;
    out.reserve(each * times);
    for (std::size_t i = 0; i < times && each > 0; ++i) {
        out.append(text, length);
        if (i + 1 < times)
            out.append(separator, separatorLength);
    }
    lua_pushlstring(L, out.data(), out.size());
    return 1;
}

// Methods of text are looked up in the table on top; the metatable, which Lua's library has made, is out of reach.
void setStringMethods(lua_State *L)
{
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}
} // namespace

void pushStringLibrary(lua_State *L)
{
    lua_newtable(L);
    luaL_requiref(L, LUA_STRLIBNAME, &luaopen_string, 0);
    for (const char *name :
         {"byte", "char", "format", "len", "lower", "pack", "packsize", "reverse", "sub", "unpack", "upper"}) {
        lua_getfield(L, -1, name);
        const lua_CFunction original = lua_tocfunction(L, -1);
        lua_pop(L, 1);
        pushCharged(L, original);
        lua_setfield(L, -3, name);
    }
    lua_pop(L, 1);
    lua_pushcfunction(L, &rep);
    lua_setfield(L, -2, "rep");
    setPatternFunctions(L);
    setStringMethods(L);
}

} // namespace gridloom
