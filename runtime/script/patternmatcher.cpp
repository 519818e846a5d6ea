// SPDX-License-Identifier: Apache-2.0
#include "script/patternmatcher.h"

#include "script/luasandbox.h"

#include <cctype>
#include <cstring>

namespace gridloom {

namespace {
int byteOf(char c)
{
    return static_cast<unsigned char>(c);
}

// Whether c belongs to the class %cl; a letter that names no class stands for itself.
bool matchesClass(int c, int cl)
{
    bool isIn = false;
    switch (std::tolower(cl)) {
    case 'a': isIn = std::isalpha(c); break;
    case 'c': isIn = std::iscntrl(c); break;
    case 'd': isIn = std::isdigit(c); break;
    case 'g': isIn = std::isgraph(c); break;
    case 'l': isIn = std::islower(c); break;
    case 'p': isIn = std::ispunct(c); break;
    case 's': isIn = std::isspace(c); break;
    case 'u': isIn = std::isupper(c); break;
    case 'w': isIn = std::isalnum(c); break;
    case 'x': isIn = std::isxdigit(c); break;
    case 'z': isIn = c == 0; break; // deprecated, but still understood by Lua
    default: return cl == c;
    }
    return std::isupper(cl) ? !isIn : isIn;
}

// `set` points at '[', `last` at its ']'.
bool matchesSet(int c, const char *set, const char *last)
{
    bool isIn = true;
    if (set[1] == '^') {
        isIn = false;
        ++set;
    }
    while (++set < last) {
        if (*set == '%') {
            ++set;
            if (matchesClass(c, byteOf(*set)))
                return isIn;
        } else if (set[1] == '-' && set + 2 < last) {
            set += 2;
            if (byteOf(set[-2]) <= c && c <= byteOf(*set))
                return isIn;
        } else if (byteOf(*set) == c) {
            return isIn;
        }
    }
    return !isIn;
}
} // namespace

PatternMatcher::PatternMatcher(lua_State *state, std::string_view subject, std::string_view pattern)
    : m_state(state), m_sandbox(LuaSandbox::of(state)), m_begin(subject.data()), m_end(m_begin + subject.size()),
      m_pattern(pattern.data()), m_patternEnd(m_pattern + pattern.size())
{
}

void PatternMatcher::charge(std::size_t steps)
{
    m_sandbox.charge(m_state, steps);
}

const char *PatternMatcher::matchAt(const char *start)
{
    m_captures = 0;
    m_depth = 0;
    return match(start, m_pattern);
}

const char *PatternMatcher::match(const char *s, const char *p)
{
    if (++m_depth > kMaxDepth)
        luaL_error(m_state, "pattern too complex");
    const char *result = nullptr;
    for (bool isDone = false; !isDone;) {
        charge(1);
        if (p == m_patternEnd) {
            result = s;
            break;
        }
        switch (*p) {
        case '(':
            result = p + 1 < m_patternEnd && p[1] == ')' ? startCapture(s, p + 2, kPosition)
                                                         : startCapture(s, p + 1, kUnclosed);
            isDone = true;
            break;
        case ')':
            result = endCapture(s, p + 1);
            isDone = true;
            break;
        case '%':
            s = matchEscape(s, p, isDone);
            result = s;
            break;
        default:
            if (*p == '$' && p + 1 == m_patternEnd) {
                result = s == m_end ? s : nullptr;
                isDone = true;
            } else {
                s = matchSimple(s, p, isDone);
                result = s;
            }
        }
    }
    --m_depth;
    return result;
}

// %b, %f, %1 and the classes. Moves p on, or isDone: the answer is final.
const char *PatternMatcher::matchEscape(const char *s, const char *&p, bool &isDone)
{
    const char kind = p + 1 < m_patternEnd ? p[1] : '\0';
    if (kind == 'b') {
        s = matchBalance(s, p + 2);
        p += 4;
    } else if (kind == 'f') {
        p += 2;
        if (p == m_patternEnd || *p != '[')
            luaL_error(m_state, "missing '[' after '%%f' in pattern");
        const char *afterSet = classEnd(p);
        charge(static_cast<std::size_t>(afterSet - p));
        if (!matchesFrontier(s, p, afterSet - 1))
            s = nullptr;
        p = afterSet;
    } else if (std::isdigit(byteOf(kind))) {
        s = matchBackReference(s, kind);
        p += 2;
    } else {
        return matchSimple(s, p, isDone);
    }
    isDone = s == nullptr;
    return s;
}

// One character class and what repeats it.
const char *PatternMatcher::matchSimple(const char *s, const char *&p, bool &isDone)
{
    const char *afterClass = classEnd(p);
    const char suffix = afterClass < m_patternEnd ? *afterClass : '\0';
    switch (suffix) {
    case '*': isDone = true; return maxExpand(s, p, afterClass);
    case '+': isDone = true; return matchesOne(s, p, afterClass) ? maxExpand(s + 1, p, afterClass) : nullptr;
    case '-': isDone = true; return minExpand(s, p, afterClass);
    case '?':
        if (matchesOne(s, p, afterClass)) {
            if (const char *result = match(s + 1, afterClass + 1)) {
                isDone = true;
                return result;
            }
        }
        p = afterClass + 1;
        return s;
    default:
        if (!matchesOne(s, p, afterClass)) {
            isDone = true;
            return nullptr;
        }
        p = afterClass;
        return s + 1;
    }
}

const char *PatternMatcher::startCapture(const char *s, const char *p, std::ptrdiff_t length)
{
    if (m_captures >= kMaxCaptures)
        luaL_error(m_state, "too many captures");
    m_capture[m_captures] = {s, length};
    ++m_captures;
    const char *result = match(s, p);
    if (!result)
        --m_captures;
    return result;
}

const char *PatternMatcher::endCapture(const char *s, const char *p)
{
    int open = m_captures - 1;
    while (open >= 0 && m_capture[open].length != kUnclosed)
        --open;
    if (open < 0)
        luaL_error(m_state, "invalid pattern capture");
    m_capture[open].length = s - m_capture[open].start;
    const char *result = match(s, p);
    if (!result)
        m_capture[open].length = kUnclosed;
    return result;
}

const char *PatternMatcher::maxExpand(const char *s, const char *p, const char *afterClass)
{
    std::ptrdiff_t i = 0;
    while (matchesOne(s + i, p, afterClass))
        ++i;
    for (; i >= 0; --i)
        if (const char *result = match(s + i, afterClass + 1))
            return result;
    return nullptr;
}

const char *PatternMatcher::minExpand(const char *s, const char *p, const char *afterClass)
{
    for (;;) {
        if (const char *result = match(s, afterClass + 1))
            return result;
        if (!matchesOne(s, p, afterClass))
            return nullptr;
        ++s;
    }
}

const char *PatternMatcher::matchBalance(const char *s, const char *p) const
{
    if (m_patternEnd - p < 2)
        luaL_error(m_state, "malformed pattern (missing arguments to '%%b')");
    if (s == m_end || *s != *p)
        return nullptr;
    const char open = p[0];
    const char close = p[1];
    m_sandbox.charge(m_state, static_cast<std::size_t>(m_end - s));
    for (int depth = 1; ++s < m_end;) {
        if (*s == close) {
            if (--depth == 0)
                return s + 1;
        } else if (*s == open) {
            ++depth;
        }
    }
    return nullptr;
}

const char *PatternMatcher::matchBackReference(const char *s, char digit)
{
    const int index = digit - '1';
    if (index < 0 || index >= m_captures || m_capture[index].length == kUnclosed)
        luaL_error(m_state, "invalid capture index %%%d", index + 1);
    const Capture &capture = m_capture[index];
    // A position capture has a length of (size_t)-2 in Lua's matcher and never fits either.
    if (capture.length < 0 || m_end - s < capture.length)
        return nullptr;
    const auto length = static_cast<std::size_t>(capture.length);
    charge(1 + length / 16);
    return std::memcmp(capture.start, s, length) == 0 ? s + length : nullptr;
}

bool PatternMatcher::matchesFrontier(const char *s, const char *set, const char *last) const
{
    const int before = s == m_begin ? 0 : byteOf(s[-1]);
    const int here = s == m_end ? 0 : byteOf(*s);
    return !matchesSet(before, set, last) && matchesSet(here, set, last);
}

bool PatternMatcher::matchesOne(const char *s, const char *p, const char *afterClass)
{
    charge(static_cast<std::size_t>(afterClass - p)); // a set is searched from end to end
    if (s >= m_end)
        return false;
    const int c = byteOf(*s);
    switch (*p) {
    case '.': return true;
    case '%': return matchesClass(c, byteOf(p[1]));
    case '[': return matchesSet(c, p, afterClass - 1);
    default: return byteOf(*p) == c;
    }
}

const char *PatternMatcher::classEnd(const char *p) const
{
    const char first = *p++;
    if (first == '%') {
        if (p == m_patternEnd)
            luaL_error(m_state, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (first != '[')
        return p;
    if (p < m_patternEnd && *p == '^')
        ++p;
    do { // the first character of a set may be a ']'
        if (p == m_patternEnd)
            luaL_error(m_state, "malformed pattern (missing ']')");
        if (*p++ == '%') {
            if (p == m_patternEnd)
                luaL_error(m_state, "malformed pattern (missing ']')");
            ++p;
        }
    } while (p == m_patternEnd || *p != ']');
    return p + 1;
}

void PatternMatcher::pushCapture(int index, const char *start, const char *end)
{
    if (index >= m_captures) {
        if (index != 0)
            luaL_error(m_state, "invalid capture index %%%d", index + 1);
        lua_pushlstring(m_state, start, static_cast<std::size_t>(end - start));
        return;
    }
    const Capture &capture = m_capture[index];
    if (capture.length == kUnclosed)
        luaL_error(m_state, "unfinished capture");
    if (capture.length == kPosition)
        lua_pushinteger(m_state, capture.start - m_begin + 1);
    else
        lua_pushlstring(m_state, capture.start, static_cast<std::size_t>(capture.length));
}

int PatternMatcher::pushCaptures(const char *start, const char *end, bool withWhole)
{
    const int count = m_captures == 0 && withWhole ? 1 : m_captures;
    luaL_checkstack(m_state, count, "too many captures");
    for (int i = 0; i < count; ++i)
        pushCapture(i, start, end);
    return count;
}

} // namespace gridloom
