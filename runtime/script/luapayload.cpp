// SPDX-License-Identifier: Apache-2.0
#include "script/luapayload.h"

#include "core/json.h"
#include "script/luasandbox.h"
#include "script/luavalue.h"
#include "script/readonlytable.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace gridloom {

namespace {
constexpr int kMaxLevels = 16;

class PayloadWriter {
public:
    PayloadWriter(lua_State *state, std::size_t maxBytes) : m_state(state), m_maxBytes(maxBytes) {}

    // Writes the value on top of the stack and pops it.
    void write(int level)
    {
        lua_State *L = m_state;
        LuaSandbox::of(L).charge(L, 8);
        if (static_cast<std::size_t>(m_json.text().size()) > m_maxBytes)
            luaL_error(L, "the payload is longer than %d bytes", static_cast<int>(m_maxBytes));
        if (lua_istable(L, -1))
            writeTable(level);
        else if (const auto value = toValue(L, -1))
            m_json.value(*value);
        else
            luaL_error(L, "a payload cannot hold a %s", typeNameOf(L, -1));
        lua_pop(L, 1);
    }

    QByteArray take() { return m_json.take(); }

private:
    void writeTable(int level)
    {
        lua_State *L = m_state;
        if (level == kMaxLevels)
            luaL_error(L, "the payload has more than %d levels (a table that holds itself?)", kMaxLevels);
        luaL_checkstack(L, 6, nullptr);
        resolveReadOnly(L, -1);
        lua_Integer entries = 0;
        const std::vector<std::string_view> keys = collectKeys(entries);
        if (keys.empty() && entries > 0) {
            writeArray(level, entries);
            return;
        }
        m_json.beginObject();
        for (const std::string_view key : keys) {
            m_json.key(key);
            lua_pushlstring(L, key.data(), key.size());
            lua_rawget(L, -2);
            write(level + 1);
        }
        m_json.endObject();
    }

    void writeArray(int level, lua_Integer entries)
    {
        m_json.beginArray();
        for (lua_Integer i = 1; i <= entries; ++i) {
            if (lua_rawgeti(m_state, -1, i) == LUA_TNIL)
                luaL_error(m_state, "an array of a payload has gaps: its keys have to be 1 to %I",
                           static_cast<LUAI_UACINT>(entries));
            write(level + 1);
        }
        m_json.endArray();
    }

    // Text keys of the table on top, in byte order; they live as long as the table keeps them.
    std::vector<std::string_view> collectKeys(lua_Integer &entries)
    {
        lua_State *L = m_state;
        std::vector<std::string_view> keys;
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            LuaSandbox::of(L).charge(L, 256); // a table whose keys all collide makes every step slow
            ++entries;
            if (lua_type(L, -2) == LUA_TSTRING) {
                std::size_t length = 0;
                const char *text = lua_tolstring(L, -2, &length);
                keys.emplace_back(text, length);
            } else if (!lua_isinteger(L, -2)) {
                luaL_error(L, "a payload cannot have a key that is a %s", luaL_typename(L, -2));
            }
        }
        if (!keys.empty() && static_cast<lua_Integer>(keys.size()) != entries)
            luaL_error(L, "a table of a payload mixes numbers and texts as keys ('%s')", keys.front().data());
        std::sort(keys.begin(), keys.end());
        return keys;
    }

    lua_State *m_state;
    std::size_t m_maxBytes;
    JsonWriter m_json;
};
} // namespace

QByteArray toPayload(lua_State *L, int index, std::size_t maxBytes)
{
    PayloadWriter writer(L, maxBytes);
    lua_pushvalue(L, index);
    writer.write(0);
    QByteArray json = writer.take();
    if (static_cast<std::size_t>(json.size()) > maxBytes)
        luaL_error(L, "the payload is longer than %d bytes", static_cast<int>(maxBytes));
    return json;
}

} // namespace gridloom
