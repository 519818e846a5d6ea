// SPDX-License-Identifier: Apache-2.0
#include "script/pointbinding.h"

#include "script/luavalue.h"
#include "script/sandboxlibrary.h"
#include "script/scriptcheck.h"

#include <lauxlib.h>

#include <cstring>
#include <limits>

namespace gridloom {

namespace {
constexpr char kPointType[] = "point";
constexpr std::size_t kMaxName = 600; // two names of 256 characters and a dot, with room

PointBinding &bindingOf(lua_State *L)
{
    return *static_cast<PointBinding *>(lua_touserdata(L, lua_upvalueindex(1)));
}
} // namespace

void PointBinding::open(lua_State *L)
{
    luaL_newmetatable(L, kPointType);
    lua_pushlightuserdata(L, this);
    lua_pushcclosure(L, &PointBinding::readField, 1);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);

    lua_pushlightuserdata(L, this);
    lua_newtable(L); // name -> object
    lua_pushcclosure(L, &PointBinding::pointFunction, 2);
    setSandboxGlobal(L, "point");
}

void PointBinding::readFrom(const ProcessImage &image, SteadyTime now)
{
    m_image = &image;
    m_store = nullptr;
    m_now = now;
    m_usedQuality = Quality::Good;
}

void PointBinding::readFrom(const PointStore &store, SteadyTime now)
{
    m_image = nullptr;
    m_store = &store;
    m_now = now;
    m_usedQuality = Quality::Good;
}

// A point that the image does not hold was never received.
const ImageSlot &PointBinding::slot(PointHandle point) const
{
    static const ImageSlot kNothing;
    if (m_image)
        return point < m_image->size() ? m_image->at(point) : kNothing;
    return m_store && point < m_store->size() ? m_store->at(point) : kNothing;
}

PointHandle PointBinding::resolve(lua_State *L, std::string_view name) const
{
    const PointHandle point = m_design.pointByName.value({name.data(), static_cast<qsizetype>(name.size())});
    if (point != kNoPoint)
        return point;
    const std::string_view shown = name.substr(0, kMaxName);
    lua_pushlstring(L, shown.data(), shown.size());
    const QByteArray nearest = nearestKnown(m_design.pointByName, name);
    if (nearest.isEmpty())
        luaL_error(L, "unknown point '%s': the design has no device and point of this name", lua_tostring(L, -1));
    luaL_error(L, "unknown point '%s'; did you mean '%s'?", lua_tostring(L, -1), nearest.constData());
    return kNoPoint;
}

int PointBinding::pointFunction(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TSTRING);
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL)
        return 1;
    const PointHandle point = bindingOf(L).resolve(L, checkText(L, 1));
    *static_cast<PointHandle *>(lua_newuserdatauv(L, sizeof point, 0)) = point;
    luaL_setmetatable(L, kPointType);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(2));
    return 1;
}

int PointBinding::readField(lua_State *L)
{
    // Only our objects have this metatable, and no script can reach its __index.
    const PointHandle point = *static_cast<const PointHandle *>(lua_touserdata(L, 1));
    PointBinding &binding = bindingOf(L);
    const ImageSlot &slot = binding.slot(point);
    const char *field = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (std::strcmp(field, "value") == 0) {
        binding.m_usedQuality = worst(binding.m_usedQuality, slot.quality);
        // What a bad point still holds is no number to calculate with.
        if (isBad(slot.quality))
            lua_pushnil(L);
        else
            pushValue(L, slot.value);
    } else if (std::strcmp(field, "quality") == 0) {
        const std::string_view name = qualityName(slot.quality);
        lua_pushlstring(L, name.data(), name.size());
    } else if (std::strcmp(field, "good") == 0) {
        lua_pushboolean(L, isGood(slot.quality));
    } else if (std::strcmp(field, "age") == 0) {
        // Nothing was ever received: infinitely old, so that every test of "too old" holds.
        if (slot.sequence == 0)
            lua_pushnumber(L, std::numeric_limits<double>::infinity());
        else
            lua_pushnumber(L, std::chrono::duration<double>(binding.m_now - slot.gatewayTime).count());
    } else {
        return luaL_error(L, "a point has no field '%s'; it has value, quality, good and age", field);
    }
    return 1;
}

} // namespace gridloom
