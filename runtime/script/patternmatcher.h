// SPDX-License-Identifier: Apache-2.0
// PatternMatcher: Lua patterns (reference manual 5.4, 6.4.1) with every step charged to the sandbox. Lua's own matcher
// backtracks in C for as long as a pattern like (".-"):rep(20) likes, and no hook runs meanwhile.
#pragma once

#include <cstddef>
#include <string_view>

struct lua_State;

namespace gridloom {

class LuaSandbox;

/// Lives within one library call; subject and pattern outlive it. Malformed patterns raise Lua errors.
class PatternMatcher {
public:
    /// `pattern` without its anchor '^'.
    PatternMatcher(lua_State *state, std::string_view subject, std::string_view pattern);

    /// End of the match that starts exactly at `start`, or null. Captures are those of the last successful call.
    const char *matchAt(const char *start);
    /// Pushes the captures, or the whole match where there is none (and `withWhole`). Number of values.
    int pushCaptures(const char *start, const char *end, bool withWhole);
    /// Pushes capture `index` from 0; index 0 without captures is the whole match.
    void pushCapture(int index, const char *start, const char *end);

    const char *begin() const { return m_begin; }
    const char *end() const { return m_end; }

private:
    static constexpr int kMaxCaptures = 32;
    static constexpr int kMaxDepth = 200;
    static constexpr std::ptrdiff_t kUnclosed = -1;
    static constexpr std::ptrdiff_t kPosition = -2;
    struct Capture {
        const char *start;
        std::ptrdiff_t length;
    };

    const char *match(const char *s, const char *p);
    const char *matchSimple(const char *s, const char *&p, bool &isDone);
    const char *matchEscape(const char *s, const char *&p, bool &isDone);
    const char *startCapture(const char *s, const char *p, std::ptrdiff_t length);
    const char *endCapture(const char *s, const char *p);
    const char *maxExpand(const char *s, const char *p, const char *afterClass);
    const char *minExpand(const char *s, const char *p, const char *afterClass);
    const char *matchBalance(const char *s, const char *p) const;
    const char *matchBackReference(const char *s, char digit);
    bool matchesFrontier(const char *s, const char *set, const char *setEnd) const;
    bool matchesOne(const char *s, const char *p, const char *afterClass);
    const char *classEnd(const char *p) const;
    void charge(std::size_t steps);

    lua_State *m_state;
    LuaSandbox &m_sandbox;
    const char *m_begin;
    const char *m_end;
    const char *m_pattern;
    const char *m_patternEnd;
    int m_captures = 0;
    int m_depth = 0;
    Capture m_capture[kMaxCaptures];
};

} // namespace gridloom
