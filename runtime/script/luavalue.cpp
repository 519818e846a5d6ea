// SPDX-License-Identifier: Apache-2.0
#include "script/luavalue.h"

#include "script/readonlytable.h"

#include <lauxlib.h>

#include <QJsonArray>
#include <QJsonObject>

#include <cmath>
#include <limits>

namespace gridloom {

namespace {
__extension__ typedef __int128 Wide;
constexpr char kUInt64Type[] = "uint64";
constexpr Wide kMaxUnsigned = std::numeric_limits<std::uint64_t>::max();

// An operand of exact arithmetic: an integer or a uint64. A float is refused: it has lost the digits already.
Wide checkOperand(lua_State *L, int index)
{
    if (const auto u = toUnsigned(L, index))
        return static_cast<Wide>(*u);
    if (lua_isinteger(L, index))
        return lua_tointeger(L, index);
    if (lua_type(L, index) == LUA_TNUMBER)
        luaL_error(L, "arithmetic of uint64 and float: turn the uint64 into a float with :tofloat() first");
    luaL_error(L, "attempt to perform arithmetic on a %s value", luaL_typename(L, index));
    return 0;
}

int pushWide(lua_State *L, Wide result)
{
    if (result > kMaxUnsigned || result < std::numeric_limits<std::int64_t>::min())
        return luaL_error(L, "result does not fit into a 64-bit integer; use :tofloat() for an approximation");
    if (result > std::numeric_limits<std::int64_t>::max())
        pushUnsigned(L, static_cast<std::uint64_t>(result));
    else
        lua_pushinteger(L, static_cast<lua_Integer>(result));
    return 1;
}

int add(lua_State *L)
{
    return pushWide(L, checkOperand(L, 1) + checkOperand(L, 2));
}

int subtract(lua_State *L)
{
    return pushWide(L, checkOperand(L, 1) - checkOperand(L, 2));
}

int multiply(lua_State *L)
{
    Wide product = 0;
    if (__builtin_mul_overflow(checkOperand(L, 1), checkOperand(L, 2), &product))
        product = kMaxUnsigned + 1;
    return pushWide(L, product);
}

// Quotient rounded down and the remainder that goes with it, as Lua does it for integers.
int divide(lua_State *L, bool wantsRemainder)
{
    const Wide a = checkOperand(L, 1);
    const Wide b = checkOperand(L, 2);
    if (b == 0)
        return luaL_error(L, "attempt to perform '%s' by zero", wantsRemainder ? "n%%0" : "n//0");
    Wide quotient = a / b;
    Wide remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        --quotient;
        remainder += b;
    }
    return pushWide(L, wantsRemainder ? remainder : quotient);
}

int floorDivide(lua_State *L)
{
    return divide(L, false);
}

int modulo(lua_State *L)
{
    return divide(L, true);
}

int negate(lua_State *L)
{
    return pushWide(L, -checkOperand(L, 1));
}

int refuseFloatOperator(lua_State *L)
{
    return luaL_error(L, "/ and ^ give floats: turn the uint64 into a float with :tofloat() first, or use //");
}

// -1, 0, 1; 2 when one is NaN.
int compare(lua_State *L)
{
    const auto a = toValue(L, 1);
    const auto b = toValue(L, 2);
    if (!a || !b || !a->isNumber() || !b->isNumber() || a->type() == ValueType::Bool || b->type() == ValueType::Bool)
        return luaL_error(L, "attempt to compare %s with %s", luaL_typename(L, 1), luaL_typename(L, 2));
    return compareNumbers(*a, *b).value_or(2);
}

int isEqual(lua_State *L)
{
    const auto a = toUnsigned(L, 1);
    const auto b = toUnsigned(L, 2);
    lua_pushboolean(L, a && b && *a == *b);
    return 1;
}

int isLess(lua_State *L)
{
    lua_pushboolean(L, compare(L) == -1);
    return 1;
}

int isLessOrEqual(lua_State *L)
{
    const int order = compare(L);
    lua_pushboolean(L, order == -1 || order == 0);
    return 1;
}

int toText(lua_State *L)
{
    const QByteArray digits = Value(toUnsigned(L, 1).value_or(0)).toText();
    lua_pushlstring(L, digits.constData(), static_cast<std::size_t>(digits.size()));
    return 1;
}

int concatenate(lua_State *L)
{
    luaL_tolstring(L, 1, nullptr);
    luaL_tolstring(L, 2, nullptr);
    lua_concat(L, 2);
    return 1;
}

int toFloat(lua_State *L)
{
    const auto u = toUnsigned(L, 1);
    luaL_argexpected(L, u.has_value(), 1, "uint64");
    lua_pushnumber(L, static_cast<double>(*u));
    return 1;
}

void pushJsonArray(lua_State *L, const QJsonArray &array)
{
    lua_createtable(L, static_cast<int>(array.size()), 0);
    for (qsizetype i = 0; i < array.size(); ++i) {
        pushJson(L, array.at(i));
        lua_rawseti(L, -2, i + 1);
    }
    makeReadOnly(L);
}

void pushJsonObject(lua_State *L, const QJsonObject &object)
{
    lua_createtable(L, 0, static_cast<int>(object.size()));
    for (auto it = object.begin(); it != object.end(); ++it) {
        const QByteArray key = it.key().toUtf8();
        lua_pushlstring(L, key.constData(), static_cast<std::size_t>(key.size()));
        pushJson(L, it.value());
        lua_rawset(L, -3);
    }
    makeReadOnly(L);
}
} // namespace

void openUInt64(lua_State *L)
{
    luaL_newmetatable(L, kUInt64Type);
    static constexpr luaL_Reg kEvents[] = {{"__add", &add},
                                           {"__sub", &subtract},
                                           {"__mul", &multiply},
                                           {"__idiv", &floorDivide},
                                           {"__mod", &modulo},
                                           {"__unm", &negate},
                                           {"__div", &refuseFloatOperator},
                                           {"__pow", &refuseFloatOperator},
                                           {"__eq", &isEqual},
                                           {"__lt", &isLess},
                                           {"__le", &isLessOrEqual},
                                           {"__tostring", &toText},
                                           {"__concat", &concatenate},
                                           {nullptr, nullptr}};
    luaL_setfuncs(L, kEvents, 0);
    lua_newtable(L);
    lua_pushcfunction(L, &toFloat);
    lua_setfield(L, -2, "tofloat");
    makeReadOnly(L);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void pushUnsigned(lua_State *L, std::uint64_t value)
{
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        lua_pushinteger(L, static_cast<lua_Integer>(value));
        return;
    }
    *static_cast<std::uint64_t *>(lua_newuserdatauv(L, sizeof value, 0)) = value;
    luaL_setmetatable(L, kUInt64Type);
}

std::optional<std::uint64_t> toUnsigned(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TUSERDATA)
        return std::nullopt;
    const void *object = luaL_testudata(L, index, kUInt64Type);
    return object ? std::optional(*static_cast<const std::uint64_t *>(object)) : std::nullopt;
}

void pushValue(lua_State *L, const Value &value)
{
    switch (value.type()) {
    case ValueType::Null: lua_pushnil(L); break;
    case ValueType::Bool: lua_pushboolean(L, value.boolean()); break;
    case ValueType::Int64: lua_pushinteger(L, value.int64()); break;
    case ValueType::UInt64: pushUnsigned(L, value.uint64()); break;
    case ValueType::Double: lua_pushnumber(L, value.real()); break;
    case ValueType::Text:
        lua_pushlstring(L, value.text().constData(), static_cast<std::size_t>(value.text().size()));
        break;
    }
}

std::optional<Value> toValue(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL: return Value();
    case LUA_TBOOLEAN: return Value(lua_toboolean(L, index) != 0);
    case LUA_TNUMBER:
        return lua_isinteger(L, index) ? Value(static_cast<std::int64_t>(lua_tointeger(L, index)))
                                       : Value(lua_tonumber(L, index));
    case LUA_TSTRING: {
        std::size_t length = 0;
        const char *text = lua_tolstring(L, index, &length);
        return Value(QByteArray(text, static_cast<qsizetype>(length)));
    }
    default: break;
    }
    const auto u = toUnsigned(L, index);
    return u ? std::optional(Value(*u)) : std::nullopt;
}

void pushJson(lua_State *L, const QJsonValue &json)
{
    luaL_checkstack(L, 4, nullptr);
    switch (json.type()) {
    case QJsonValue::Bool: lua_pushboolean(L, json.toBool()); break;
    case QJsonValue::Double: {
        // toInteger() is exact where the parser kept an integer; toDouble() alone is not.
        const qint64 i = json.toInteger(0);
        if (json == QJsonValue(i))
            lua_pushinteger(L, i);
        else
            lua_pushnumber(L, json.toDouble());
        break;
    }
    case QJsonValue::String: {
        const QByteArray text = json.toString().toUtf8();
        lua_pushlstring(L, text.constData(), static_cast<std::size_t>(text.size()));
        break;
    }
    case QJsonValue::Array: pushJsonArray(L, json.toArray()); break;
    case QJsonValue::Object: pushJsonObject(L, json.toObject()); break;
    default: lua_pushnil(L); break;
    }
}

const char *typeNameOf(lua_State *L, int index)
{
    if (lua_type(L, index) == LUA_TUSERDATA && luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
        return lua_tostring(L, -1);
    return luaL_typename(L, index);
}

std::string_view checkText(lua_State *L, int argument)
{
    std::size_t length = 0;
    const char *text = luaL_checklstring(L, argument, &length);
    return {text, length};
}

} // namespace gridloom
