// SPDX-License-Identifier: Apache-2.0
// LuaSandbox: one Lua state with limits that no script can evade, and only the library functions a script may have.
// One thread at a time. What keeps a script inside its limits:
// - an allocator with a cap; it also refuses strings over kMaxString and, past the deadline, every large block;
// - a count hook, set before any script code and copied by every coroutine, that looks at the clock;
// - library functions that loop in C charge their steps first (charge()), so that none runs long unseen;
// - pcall, xpcall and coroutines pass a time-out and an exhausted memory on instead of catching them;
// - metatables are copied when set and never hold __gc, __close or __mode: no script code runs where the hook cannot;
// - every call runs under the C locale, so that neither cost nor result of comparing text depends on the machine.
// Lua is the C++ build: its errors are exceptions, so destructors in our C functions run.
#pragma once

#include "core/result.h"
#include "script/scripttypes.h"

#include <lauxlib.h>
#include <lua.h>

namespace gridloom {

class LuaSandbox {
public:
    /// Bytes of the longest string. One VM instruction can compare or look up two long strings, and the hook sees
    /// nothing between two instructions: this length times kHookInterval bounds what it can miss.
    static constexpr std::size_t kMaxString = 32 * 1024;
    /// VM instructions between two looks at the clock.
    static constexpr int kHookInterval = 100;
    /// Steps that one library call may announce; each takes some 1 to 20 ns.
    static constexpr std::size_t kMaxSteps = 1'000'000;

    /// `name` stands in messages about limits ("overload.lua"); `memoryLimit` in bytes, libraries (about 30 kB)
    /// included. Error "script.memory" when not even those fit.
    static Result<std::unique_ptr<LuaSandbox>> create(const QByteArray &name, std::size_t memoryLimit);
    ~LuaSandbox();
    LuaSandbox(const LuaSandbox &) = delete;
    LuaSandbox &operator=(const LuaSandbox &) = delete;

    struct Outcome {
        ScriptOutcome outcome = ScriptOutcome::Ok;
        QString error; ///< empty when Ok; one line of at most 1 kB
    };
    /// Runs `body` in protected mode under the limits with `argument` as its light userdata 1; whatever it leaves on
    /// the stack is dropped. Blocks for at most `limit` and what one C function may take beyond.
    Outcome call(lua_CFunction body, void *argument, std::chrono::nanoseconds limit);
    /// As call(), without a time limit: for our own code while it compiles.
    Outcome setUp(lua_CFunction body, void *argument);

    lua_State *state() const { return m_state; }
    std::size_t memory() const { return m_memory; } ///< bytes in use

    // For the functions that scripts call; those that take a state raise Lua errors on it.
    static LuaSandbox &of(lua_State *state);
    /// Announces work that is done in C without the hook. Raises when it is more than kMaxSteps or time is over.
    void charge(lua_State *state, std::size_t steps);
    /// Raises the time-out when time is over.
    void checkTime(lua_State *state);
    /// After a protected call inside a script: passes the error on top of the stack on when the run has to end.
    void rethrowFinal(lua_State *state, int status);
    /// Whether the run has to end: time or memory is exhausted.
    bool isEnding() const { return m_end != End::None; }

private:
    enum class End : std::uint8_t { None, TimedOut, OutOfMemory };

    LuaSandbox(const QByteArray &name, std::size_t memoryLimit) : m_name(name), m_memoryLimit(memoryLimit) {}
    static void *allocate(void *self, void *block, std::size_t oldSize, std::size_t newSize);
    bool refuses(bool isString, std::size_t grows, std::size_t newSize);
    static void onCount(lua_State *state, lua_Debug *);
    [[noreturn]] void timeOut(lua_State *state, int level);
    Outcome outcomeOf(int status);
    long limitMs() const { return static_cast<long>(m_limit / std::chrono::milliseconds(1)); }
    bool isLate() const { return std::chrono::steady_clock::now() >= m_deadline; }

    QByteArray m_name;
    std::size_t m_memoryLimit;
    std::size_t m_memory = 0;
    lua_State *m_state = nullptr;
    std::chrono::nanoseconds m_limit{0};
    SteadyTime m_deadline = SteadyTime::max();
    std::size_t m_steps = 0; ///< charged since the last look at the clock
    End m_end = End::None;
    bool m_isStringTooLong = false; ///< why the allocator refused last
};

} // namespace gridloom
