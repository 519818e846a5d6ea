// SPDX-License-Identifier: Apache-2.0
// The table functions. Unlike Lua's own they use raw access and raw lengths, so that no metamethod can claim 2^60
// elements, and charge their steps before they start.
#include "script/luasandbox.h"
#include "script/readonlytable.h"
#include "script/sandboxlibrary.h"

#include <lualib.h>

namespace gridloom {

namespace {
constexpr lua_Integer kMaxUnpacked = 1000;

lua_Integer lengthOf(lua_State *L, int index)
{
    return static_cast<lua_Integer>(lua_rawlen(L, index));
}

// Number of integers first..last without overflow.
std::size_t countOf(lua_Integer first, lua_Integer last)
{
    return first > last ? 0 : static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;
}

// Charges a range; the one of all 2^64 integers has a count of 0 and is caught by the + 1 below.
void chargeRange(lua_State *L, lua_Integer first, lua_Integer last)
{
    const std::size_t distance = first > last ? 0 : static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
    LuaSandbox::of(L).charge(L, std::min(distance, LuaSandbox::kMaxSteps) + 1);
}

int insert(lua_State *L)
{
    checkWritableTable(L, 1);
    const lua_Integer end = lengthOf(L, 1) + 1;
    lua_Integer position = end;
    if (lua_gettop(L) == 3) {
        position = luaL_checkinteger(L, 2);
        luaL_argcheck(L, position >= 1 && position <= end, 2, "position out of bounds");
        chargeRange(L, position, end);
        for (lua_Integer i = end; i > position; --i) {
            lua_rawgeti(L, 1, i - 1);
            lua_rawseti(L, 1, i);
        }
    } else if (lua_gettop(L) != 2) {
        return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    lua_rawseti(L, 1, position);
    return 0;
}

int removeElement(lua_State *L)
{
    checkWritableTable(L, 1);
    const lua_Integer size = lengthOf(L, 1);
    lua_Integer position = luaL_optinteger(L, 2, size);
    if (position != size)
        luaL_argcheck(L, position >= 1 && position <= size + 1, 2, "position out of bounds");
    chargeRange(L, position, size);
    lua_rawgeti(L, 1, position);
    for (; position < size; ++position) {
        lua_rawgeti(L, 1, position + 1);
        lua_rawseti(L, 1, position);
    }
    lua_pushnil(L);
    lua_rawseti(L, 1, position);
    return 1;
}

int move(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    const lua_Integer first = luaL_checkinteger(L, 2);
    const lua_Integer last = luaL_checkinteger(L, 3);
    const lua_Integer to = luaL_checkinteger(L, 4);
    const int target = lua_isnoneornil(L, 5) ? 1 : 5;
    checkWritableTable(L, target);
    chargeRange(L, first, last);
    const auto count = static_cast<lua_Integer>(countOf(first, last));
    luaL_argcheck(L, count == 0 || to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
    lua_pushvalue(L, target); // what the call returns
    resolveReadOnly(L, 1);
    const bool isBackwards = target == 1 && to > first && to <= last;
    for (lua_Integer n = 0; n < count; ++n) {
        const lua_Integer i = isBackwards ? count - 1 - n : n;
        lua_rawgeti(L, 1, first + i);
        lua_rawseti(L, target, to + i);
    }
    return 1;
}

int concat(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    resolveReadOnly(L, 1);
    std::size_t separatorLength = 0;
    const char *separator = luaL_optlstring(L, 2, "", &separatorLength);
    const lua_Integer first = luaL_optinteger(L, 3, 1);
    const lua_Integer last = luaL_optinteger(L, 4, lengthOf(L, 1));
    chargeRange(L, first, last);
    std::string joined; // of at most kMaxString bytes: ends with an exception of Lua as with a return
    const std::size_t count = countOf(first, last);
    for (std::size_t n = 0; n < count; ++n) {
        const lua_Integer i = first + static_cast<lua_Integer>(n);
        lua_rawgeti(L, 1, i);
        if (!lua_isstring(L, -1))
            return luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
                              static_cast<LUAI_UACINT>(i));
        std::size_t length = 0;
        const char *text = lua_tolstring(L, -1, &length);
        if (joined.size() + length + separatorLength > LuaSandbox::kMaxString + separatorLength)
            return luaL_error(L, "table.concat: the result is longer than %d bytes",
                              static_cast<int>(LuaSandbox::kMaxString));
        joined.append(text, length);
        lua_pop(L, 1);
        if (n + 1 < count)
            joined.append(separator, separatorLength);
    }
    lua_pushlstring(L, joined.data(), joined.size());
    return 1;
}

int unpack(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    resolveReadOnly(L, 1);
    const lua_Integer first = luaL_optinteger(L, 2, 1);
    const lua_Integer last = luaL_optinteger(L, 3, lengthOf(L, 1));
    chargeRange(L, first, last);
    const auto count = static_cast<lua_Integer>(countOf(first, last));
    if (count > kMaxUnpacked || !lua_checkstack(L, static_cast<int>(count)))
        return luaL_error(L, "too many results to unpack (at most %d)", static_cast<int>(kMaxUnpacked));
    for (lua_Integer i = 0; i < count; ++i)
        lua_rawgeti(L, 1, first + i);
    return static_cast<int>(count);
}

// Whether t[i] < t[j], by the function at 2 or by <.
bool isLess(lua_State *L, lua_Integer i, lua_Integer j)
{
    lua_rawgeti(L, 1, i);
    lua_rawgeti(L, 1, j);
    bool isLess = false;
    if (lua_isfunction(L, 2)) {
        lua_pushvalue(L, 2);
        lua_insert(L, -3);
        lua_call(L, 2, 1);
        isLess = lua_toboolean(L, -1);
        lua_pop(L, 1);
        LuaSandbox::of(L).charge(L, 1);
    } else {
        const bool isText = lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING;
        LuaSandbox::of(L).charge(L, 2 + (isText ? std::min(lua_rawlen(L, -2), lua_rawlen(L, -1)) : 0));
        isLess = lua_compare(L, -2, -1, LUA_OPLT);
        lua_pop(L, 2);
    }
    return isLess;
}

void swap(lua_State *L, lua_Integer i, lua_Integer j)
{
    lua_rawgeti(L, 1, i);
    lua_rawgeti(L, 1, j);
    lua_rawseti(L, 1, i);
    lua_rawseti(L, 1, j);
}

void siftDown(lua_State *L, lua_Integer root, lua_Integer size)
{
    for (lua_Integer child; (child = 2 * root) <= size; root = child) {
        if (child < size && isLess(L, child, child + 1))
            ++child;
        if (!isLess(L, root, child))
            return;
        swap(L, root, child);
    }
}

// Heap sort: n log n comparisons at worst, also with a comparison function that contradicts itself.
int sort(lua_State *L)
{
    checkWritableTable(L, 1);
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    const lua_Integer size = lengthOf(L, 1);
    chargeRange(L, 1, size);
    for (lua_Integer root = size / 2; root >= 1; --root)
        siftDown(L, root, size);
    for (lua_Integer last = size; last > 1; --last) {
        swap(L, 1, last);
        siftDown(L, 1, last - 1);
    }
    return 0;
}
} // namespace

void pushTableLibrary(lua_State *L)
{
    lua_newtable(L);
    luaL_requiref(L, LUA_TABLIBNAME, &luaopen_table, 0);
    lua_getfield(L, -1, "pack");
    lua_setfield(L, -3, "pack");
    lua_pop(L, 1);
    static constexpr luaL_Reg kFunctions[] = {{"concat", &concat},        {"insert", &insert}, {"move", &move},
                                              {"remove", &removeElement}, {"sort", &sort},     {"unpack", &unpack},
                                              {nullptr, nullptr}};
    luaL_setfuncs(L, kFunctions, 0);
}

} // namespace gridloom
