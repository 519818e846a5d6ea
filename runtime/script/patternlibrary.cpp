// SPDX-License-Identifier: Apache-2.0
// string.find, match, gmatch and gsub on PatternMatcher; results as in the reference manual 5.4, 6.4.
#include "script/luasandbox.h"
#include "script/luavalue.h"
#include "script/patternmatcher.h"
#include "script/sandboxlibrary.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace gridloom {

namespace {
// Takes the anchor off a pattern.
bool takeAnchor(std::string_view &pattern)
{
    const bool isAnchored = pattern.starts_with('^');
    if (isAnchored)
        pattern.remove_prefix(1);
    return isAnchored;
}

// A relative start position as an offset; beyond the end where it is.
std::size_t startOffset(lua_Integer position, std::size_t length)
{
    if (position > 0)
        return static_cast<std::size_t>(position) - 1;
    if (position == 0 || position < -static_cast<lua_Integer>(length))
        return 0;
    return length - static_cast<std::size_t>(-position);
}

int findPlain(lua_State *L, std::string_view subject, std::string_view wanted, std::size_t from)
{
    LuaSandbox::of(L).charge(L, (subject.size() - from + wanted.size()) / 4 + 1);
    // memmem is linear; std::string_view::find is quadratic at worst.
    const void *found = memmem(subject.data() + from, subject.size() - from, wanted.data(), wanted.size());
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    const auto offset = static_cast<lua_Integer>(static_cast<const char *>(found) - subject.data());
    lua_pushinteger(L, offset + 1);
    lua_pushinteger(L, offset + static_cast<lua_Integer>(wanted.size()));
    return 2;
}

int findOrMatch(lua_State *L, bool isFind)
{
    const std::string_view subject = checkText(L, 1);
    std::string_view pattern = checkText(L, 2);
    const std::size_t from = startOffset(luaL_optinteger(L, 3, 1), subject.size());
    if (from > subject.size()) {
        lua_pushnil(L);
        return 1;
    }
    if (isFind && (lua_toboolean(L, 4) || pattern.find_first_of("^$*+?.([%-") == std::string_view::npos))
        return findPlain(L, subject, pattern, from);
    const bool isAnchored = takeAnchor(pattern);
    PatternMatcher matcher(L, subject, pattern);
    for (const char *s = subject.data() + from; s <= matcher.end(); ++s) {
        if (const char *end = matcher.matchAt(s)) {
            if (!isFind)
                return matcher.pushCaptures(s, end, true);
            lua_pushinteger(L, s - matcher.begin() + 1);
            lua_pushinteger(L, end - matcher.begin());
            return matcher.pushCaptures(s, end, false) + 2;
        }
        if (isAnchored)
            break;
    }
    lua_pushnil(L);
    return 1;
}

int find(lua_State *L)
{
    return findOrMatch(L, true);
}

int match(lua_State *L)
{
    return findOrMatch(L, false);
}

// Upvalues: subject, pattern, offset to go on from, end of the last match (-1: none).
int gmatchStep(lua_State *L)
{
    const std::string_view subject = checkText(L, lua_upvalueindex(1));
    PatternMatcher matcher(L, subject, checkText(L, lua_upvalueindex(2)));
    const lua_Integer lastEnd = lua_tointeger(L, lua_upvalueindex(4));
    const char *s = subject.data() + lua_tointeger(L, lua_upvalueindex(3));
    for (; s <= matcher.end(); ++s) {
        const char *end = matcher.matchAt(s);
        if (!end || end - matcher.begin() == lastEnd)
            continue;
        for (const int upvalue : {3, 4}) {
            lua_pushinteger(L, end - matcher.begin());
            lua_replace(L, lua_upvalueindex(upvalue));
        }
        return matcher.pushCaptures(s, end, true);
    }
    return 0;
}

int gmatch(lua_State *L)
{
    const std::string_view subject = checkText(L, 1);
    checkText(L, 2);
    const std::size_t from = startOffset(luaL_optinteger(L, 3, 1), subject.size());
    lua_settop(L, 2);
    lua_pushinteger(L, static_cast<lua_Integer>(std::min(from, subject.size() + 1)));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, &gmatchStep, 4);
    return 1;
}

// The result of gsub as it grows: in memory of the Lua heap, since a callback may call gsub again. While it lives, what
// one appends from the stack has to be on its top.
class Replaced {
public:
    explicit Replaced(lua_State *state) : m_state(state) { luaL_buffinit(state, &m_buffer); }
    Replaced(const Replaced &) = delete; // the buffer points into itself
    Replaced &operator=(const Replaced &) = delete;

    void append(std::string_view text)
    {
        checkLength(text.size());
        luaL_addlstring(&m_buffer, text.data(), text.size());
    }
    // Appends the text or number on top of the stack and pops it.
    void appendTop()
    {
        std::size_t length = 0;
        lua_tolstring(m_state, -1, &length);
        checkLength(length);
        luaL_addvalue(&m_buffer);
    }
    void push() { luaL_pushresult(&m_buffer); }

private:
    void checkLength(std::size_t more)
    {
        if (luaL_bufflen(&m_buffer) + more > LuaSandbox::kMaxString)
            luaL_error(m_state, "string.gsub: the result is longer than %d bytes",
                       static_cast<int>(LuaSandbox::kMaxString));
    }

    lua_State *m_state;
    luaL_Buffer m_buffer;
};

// A replacement text with its %0 to %9 and %%.
void appendExpanded(lua_State *L, Replaced &out, PatternMatcher &matcher, const char *s, const char *end)
{
    const std::string_view text = checkText(L, 3);
    LuaSandbox::of(L).charge(L, text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t escape = std::min(text.find('%', i), text.size());
        out.append(text.substr(i, escape - i));
        i = escape + 1;
        if (escape == text.size())
            return;
        const char c = i < text.size() ? text[i] : '\0';
        if (c == '%') {
            out.append("%");
        } else if (c == '0') {
            out.append({s, static_cast<std::size_t>(end - s)});
        } else if (c > '0' && c <= '9') {
            matcher.pushCapture(c - '1', s, end);
            out.appendTop();
        } else {
            luaL_error(L, "invalid use of '%%' in replacement string");
        }
    }
}

// Appends what replaces one match.
void appendReplacement(lua_State *L, Replaced &out, PatternMatcher &matcher, const char *s, const char *end)
{
    switch (lua_type(L, 3)) {
    case LUA_TFUNCTION: {
        lua_pushvalue(L, 3);
        const int arguments = matcher.pushCaptures(s, end, true);
        lua_call(L, arguments, 1);
        break;
    }
    case LUA_TTABLE:
        matcher.pushCapture(0, s, end);
        lua_gettable(L, 3);
        break;
    default: appendExpanded(L, out, matcher, s, end); return;
    }
    if (lua_isstring(L, -1)) {
        out.appendTop();
        return;
    }
    if (lua_toboolean(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    lua_pop(L, 1);
    out.append({s, static_cast<std::size_t>(end - s)});
}

int gsub(lua_State *L)
{
    const std::string_view subject = checkText(L, 1);
    std::string_view pattern = checkText(L, 2);
    const int kind = lua_type(L, 3);
    luaL_argexpected(L, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE, 3,
                     "string/function/table");
    const lua_Integer most = luaL_optinteger(L, 4, static_cast<lua_Integer>(subject.size()) + 1);
    const bool isAnchored = takeAnchor(pattern);
    PatternMatcher matcher(L, subject, pattern);
    Replaced out(L);
    const char *s = subject.data();
    const char *lastEnd = nullptr;
    lua_Integer count = 0;
    while (count < most) {
        const char *end = matcher.matchAt(s);
        if (end && end != lastEnd) {
            ++count;
            appendReplacement(L, out, matcher, s, end);
            s = lastEnd = end;
        } else if (s < matcher.end()) {
            out.append({s++, 1});
        } else {
            break;
        }
        if (isAnchored)
            break;
    }
    out.append({s, static_cast<std::size_t>(matcher.end() - s)});
    out.push();
    lua_pushinteger(L, count);
    return 2;
}
} // namespace

void setPatternFunctions(lua_State *L)
{
    static constexpr luaL_Reg kFunctions[] = {
        {"find", &find}, {"match", &match}, {"gmatch", &gmatch}, {"gsub", &gsub}, {nullptr, nullptr}};
    luaL_setfuncs(L, kFunctions, 0);
}

} // namespace gridloom
