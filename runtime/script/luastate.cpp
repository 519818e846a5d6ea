// SPDX-License-Identifier: Apache-2.0
// Layout, in the fields of core/history/frames.h: byte 1 (format), then the entries of the table, each a key and a value,
// then byte 0. A key or value is a byte of its type and
//   1 false | 2 true | 3 svarint integer | 4 fixed64 bits of a float | 5 varint uint64 | 6 bytes text
//   7 table: its entries, then byte 0 (values only)
#include "script/luastate.h"

#include "core/history/frames.h"
#include "script/luavalue.h"

#include <lauxlib.h>

#include <bit>

namespace gridloom {

namespace {
constexpr std::uint8_t kFormat = 1;
enum Tag : std::uint8_t { kEnd = 0, kFalse, kTrue, kInteger, kFloat, kUnsigned, kText, kTable };

// Where in `state` a value stands, for error texts; lives on the C++ stack, innermost last.
struct Place {
    const Place *outer = nullptr;
    lua_State *L = nullptr;
    int key = 0; ///< its stack index
};

QByteArray nameOf(const Place *place)
{
    if (!place)
        return QByteArrayLiteral("state");
    const QByteArray outer = nameOf(place->outer);
    const auto key = toValue(place->L, place->key);
    if (!key)
        return outer + "[?]";
    const bool isName = key->type() == ValueType::Text;
    return outer + (isName ? "." : "[") + key->toText().left(40) + (isName ? "" : "]");
}

[[noreturn]] void refuse(lua_State *L, const Place *place, const char *why)
{
    luaL_error(L, "%s %s", nameOf(place).constData(), why);
    std::abort(); // not reached
}

// A scalar at `index`; false when it is none.
bool writeScalar(FrameWriter &w, lua_State *L, int index)
{
    const auto value = lua_isnoneornil(L, index) ? std::nullopt : toValue(L, index);
    if (!value)
        return false;
    switch (value->type()) {
    case ValueType::Bool: w.byte(value->boolean() ? kTrue : kFalse); return true;
    case ValueType::Int64:
        w.byte(kInteger);
        w.signedVarint(value->int64());
        return true;
    case ValueType::Double:
        w.byte(kFloat);
        w.fixed64(std::bit_cast<std::uint64_t>(value->real()));
        return true;
    case ValueType::UInt64:
        w.byte(kUnsigned);
        w.varint(value->uint64());
        return true;
    case ValueType::Text:
        w.byte(kText);
        w.bytes(value->text());
        return true;
    case ValueType::Null: break;
    }
    return false;
}

void writeEntries(FrameWriter &w, lua_State *L, int table, const Place *place, int depth, const QByteArray &out)
{
    luaL_checkstack(L, 8, nullptr);
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        const int value = lua_gettop(L);
        const Place here{place, L, value - 1};
        if (lua_type(L, value - 1) == LUA_TUSERDATA || !writeScalar(w, L, value - 1))
            refuse(L, place, "has a key that is neither text, number nor boolean");
        if (lua_type(L, value) == LUA_TTABLE) {
            if (depth == kMaxStateDepth)
                refuse(L, &here, "is nested too deep, or holds itself");
            if (lua_getmetatable(L, value) != 0)
                refuse(L, &here, "has a metatable");
            w.byte(kTable);
            writeEntries(w, L, value, &here, depth + 1, out);
        } else if (!writeScalar(w, L, value)) {
            const QByteArray why = QByteArray("is a ") + typeNameOf(L, value);
            refuse(L, &here, why.constData());
        }
        if (out.size() > kMaxState)
            refuse(L, nullptr, "has more than 64 kB");
        lua_settop(L, value - 1); // the key, for lua_next
    }
    w.byte(kEnd);
}

bool readScalar(FieldReader &r, lua_State *L, std::uint8_t tag)
{
    switch (tag) {
    case kFalse:
    case kTrue: lua_pushboolean(L, tag == kTrue ? 1 : 0); break;
    case kInteger: lua_pushinteger(L, r.signedVarint()); break;
    case kFloat: lua_pushnumber(L, std::bit_cast<double>(r.fixed64())); break;
    case kUnsigned: pushUnsigned(L, r.varint()); break;
    case kText: {
        const QByteArrayView text = r.bytes();
        lua_pushlstring(L, text.data(), static_cast<std::size_t>(text.size()));
        break;
    }
    default: return false;
    }
    return r.isOk();
}

bool readEntries(FieldReader &r, lua_State *L, int table, int depth)
{
    luaL_checkstack(L, 8, nullptr);
    for (std::uint8_t tag = r.byte(); tag != kEnd; tag = r.byte()) {
        // No key that Lua would refuse: nil cannot be, NaN can.
        if (!readScalar(r, L, tag) || (tag == kFloat && lua_tonumber(L, -1) != lua_tonumber(L, -1)))
            return false;
        const std::uint8_t valueTag = r.byte();
        if (valueTag == kTable) {
            lua_newtable(L);
            if (depth == kMaxStateDepth || !readEntries(r, L, lua_gettop(L), depth + 1))
                return false;
        } else if (!readScalar(r, L, valueTag)) {
            return false;
        }
        lua_rawset(L, table);
    }
    return r.isOk();
}
} // namespace

void saveState(lua_State *L, int index, QByteArray &out)
{
    const int table = lua_absindex(L, index);
    lua_pushnil(L);
    if (lua_next(L, table) == 0)
        return;
    lua_pop(L, 2);
    FrameWriter w(out);
    w.byte(kFormat);
    writeEntries(w, L, table, nullptr, 1, out);
}

bool loadState(lua_State *L, int index, QByteArrayView bytes)
{
    const int table = lua_absindex(L, index);
    FieldReader r(bytes);
    return r.byte() == kFormat && readEntries(r, L, table, 1) && r.atEnd();
}

} // namespace gridloom
