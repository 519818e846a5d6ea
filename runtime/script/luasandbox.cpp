// SPDX-License-Identifier: Apache-2.0
#include "script/luasandbox.h"

#include "script/luatext.h"
#include "script/sandboxlibrary.h"

#include <clocale>
#include <cstdlib>

#include <locale.h>

namespace gridloom {

namespace {
// The locale of the calling thread is "C" while one of these lives.
class CLocale {
public:
    CLocale()
    {
        static const locale_t kC = newlocale(LC_ALL_MASK, "C", nullptr);
        m_before = uselocale(kC);
    }
    ~CLocale() { uselocale(m_before); }
    CLocale(const CLocale &) = delete;
    CLocale &operator=(const CLocale &) = delete;

private:
    locale_t m_before;
};

constexpr std::size_t kMaxError = 1024;
constexpr std::size_t kLargeBlock = 4096;
constexpr std::size_t kStepsBetweenLooks = 16'384;
constexpr std::size_t kStringHeader = 64; // more than Lua's own header of a string

// Text of an error value that is not text itself; nil when it has none. May run a __tostring of the script.
int describeError(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TNUMBER || luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL)
        luaL_tolstring(L, 1, nullptr);
    else
        lua_pushnil(L);
    return 1;
}

// Pushes "overload.lua:3: " for the innermost script function from `level` on: C functions have no lines.
void pushPlace(lua_State *L, int level)
{
    constexpr int kLevels = 4;
    for (int i = level; i < level + kLevels; ++i) {
        luaL_where(L, i);
        if (lua_rawlen(L, -1) > 0)
            return;
        lua_pop(L, 1);
    }
    lua_pushliteral(L, "");
}

int openLibraries(lua_State *L)
{
    openSandboxLibraries(L);
    return 0;
}
} // namespace

Result<std::unique_ptr<LuaSandbox>> LuaSandbox::create(const QByteArray &name, std::size_t memoryLimit)
{
    std::unique_ptr<LuaSandbox> sandbox(new LuaSandbox(name, memoryLimit));
    lua_State *L = lua_newstate(&LuaSandbox::allocate, sandbox.get());
    sandbox->m_state = L;
    Outcome opened{ScriptOutcome::Failed, {}};
    if (L) {
        *static_cast<LuaSandbox **>(lua_getextraspace(L)) = sandbox.get(); // coroutines copy it
        lua_gc(L, LUA_GCGEN, 0, 0);
        lua_sethook(L, &LuaSandbox::onCount, LUA_MASKCOUNT, kHookInterval);
        opened = sandbox->setUp(&openLibraries, nullptr);
    }
    if (opened.outcome != ScriptOutcome::Ok)
        return Error{QStringLiteral("script.memory"),
                     QStringLiteral("%1: a memory limit of %2 bytes is too small for a script; raise memoryLimitKb")
                         .arg(QString::fromUtf8(name))
                         .arg(memoryLimit),
                     false};
    return sandbox;
}

LuaSandbox::~LuaSandbox()
{
    if (m_state)
        lua_close(m_state);
}

LuaSandbox &LuaSandbox::of(lua_State *L)
{
    return **static_cast<LuaSandbox **>(lua_getextraspace(L));
}

LuaSandbox::Outcome LuaSandbox::setUp(lua_CFunction body, void *argument)
{
    return call(body, argument, std::chrono::hours(24));
}

LuaSandbox::Outcome LuaSandbox::call(lua_CFunction body, void *argument, std::chrono::nanoseconds limit)
{
    const CLocale locale;
    lua_State *L = m_state;
    m_end = End::None;
    m_isStringTooLong = false;
    m_steps = 0;
    m_limit = limit;
    m_deadline = std::chrono::steady_clock::now() + limit;
    lua_settop(L, 0);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, argument);
    const int status = lua_pcall(L, 1, 0, 0);
    Outcome outcome = status == LUA_OK ? Outcome{} : outcomeOf(status);
    m_deadline = SteadyTime::max();
    lua_settop(L, 0);
    if (m_end == End::OutOfMemory || m_memory > m_memoryLimit / 2)
        lua_gc(L, LUA_GCCOLLECT); // what the run left behind must not fail the next one
    return outcome;
}

LuaSandbox::Outcome LuaSandbox::outcomeOf(int status)
{
    const QString name = QString::fromUtf8(m_name);
    lua_State *L = m_state;
    if (m_end == End::None && status == LUA_ERRMEM)
        m_end = End::OutOfMemory;
    QString text =
        QStringLiteral("%1: the error is a %2 value, not a text").arg(name, QLatin1String(luaL_typename(L, -1)));
    if (m_end == End::None && lua_type(L, -1) != LUA_TSTRING) {
        lua_pushcfunction(L, &describeError);
        lua_pushvalue(L, -2);
        if (lua_pcall(L, 1, 1, 0) != LUA_OK && m_end == End::None)
            text += QStringLiteral(", and its __tostring fails");
    }
    if (lua_type(L, -1) == LUA_TSTRING) {
        std::size_t length = 0;
        const char *message = lua_tolstring(L, -1, &length);
        text = QString::fromUtf8(printable({message, length}, kMaxError));
    }
    if (m_end == End::TimedOut) {
        if (status == LUA_ERRMEM)
            text = QStringLiteral("%1: stopped after the time limit of %2 ms").arg(name).arg(limitMs());
        return {ScriptOutcome::TimedOut, text};
    }
    if (m_end == End::OutOfMemory)
        text = m_isStringTooLong
            ? QStringLiteral("%1: a text would become longer than %2 bytes").arg(name).arg(kMaxString)
            : QStringLiteral("%1: the memory limit of %2 kB is exceeded").arg(name).arg(m_memoryLimit / 1024);
    return {ScriptOutcome::Failed, text};
}

// Lua tells the kind of a new object in oldSize when there is no block yet (manual, lua_Alloc).
void *LuaSandbox::allocate(void *self, void *block, std::size_t oldSize, std::size_t newSize)
{
    auto &sandbox = *static_cast<LuaSandbox *>(self);
    const std::size_t had = block ? oldSize : 0;
    if (newSize == 0) {
        std::free(block);
        sandbox.m_memory -= had;
        return nullptr;
    }
    if (newSize > had && sandbox.refuses(!block && oldSize == LUA_TSTRING, newSize - had, newSize))
        return nullptr;
    void *result = std::realloc(block, newSize);
    if (result)
        sandbox.m_memory = sandbox.m_memory - had + newSize;
    return result;
}

bool LuaSandbox::refuses(bool isString, std::size_t grows, std::size_t newSize)
{
    if (isString && newSize > kMaxString + kStringHeader) {
        m_isStringTooLong = true;
        return true;
    }
    const bool isOver = m_memory + grows > m_memoryLimit;
    // At the cap each allocation costs a full collection and large ones cost by themselves: both may fill the time
    // between two hooks.
    if ((isOver || newSize >= kLargeBlock) && isLate()) {
        m_end = End::TimedOut;
        return true;
    }
    if (isOver)
        m_isStringTooLong = false;
    return isOver;
}

void LuaSandbox::onCount(lua_State *L, lua_Debug *)
{
    LuaSandbox &sandbox = of(L);
    if (sandbox.isLate())
        sandbox.timeOut(L, 0);
}

void LuaSandbox::timeOut(lua_State *L, int level)
{
    m_end = End::TimedOut;
    pushPlace(L, level);
    lua_pushfstring(L, "stopped after the time limit of %d ms", static_cast<int>(limitMs()));
    lua_concat(L, 2);
    lua_error(L);
    std::abort(); // not reached: lua_error does not return
}

void LuaSandbox::checkTime(lua_State *L)
{
    m_steps = 0;
    if (isLate())
        timeOut(L, 1);
}

void LuaSandbox::charge(lua_State *L, std::size_t steps)
{
    if (steps > kMaxSteps)
        luaL_error(L, "too much work for one call: more than %d steps", static_cast<int>(kMaxSteps));
    m_steps += steps;
    if (m_steps >= kStepsBetweenLooks)
        checkTime(L);
}

void LuaSandbox::rethrowFinal(lua_State *L, int status)
{
    if (status == LUA_ERRMEM && m_end == End::None)
        m_end = End::OutOfMemory;
    if (m_end != End::None)
        lua_error(L);
}

} // namespace gridloom
