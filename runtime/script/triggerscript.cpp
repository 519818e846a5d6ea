// SPDX-License-Identifier: Apache-2.0
#include "script/triggerscript.h"

#include "script/luachunk.h"
#include "script/luasandbox.h"
#include "script/luastate.h"
#include "script/luavalue.h"
#include "script/pointbinding.h"
#include "script/readonlytable.h"
#include "script/sandboxlibrary.h"
#include "script/scriptactions.h"

namespace gridloom {

namespace {
// Addresses as registry keys.
constexpr char kChunkKey = 0;
constexpr char kEnvironmentKey = 0;
constexpr char kRunKey = 0;

ScriptLimits limitsOf(const Trigger &trigger)
{
    ScriptLimits limits;
    limits.time = trigger.timeLimit;
    limits.memory = trigger.memoryLimit;
    return limits;
}

// __newindex of an environment, upvalue 1 the sandbox globals: `state = {}` would be lost with the run, and a variable
// named `point` would hide the function.
int setGlobal(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return luaL_error(L, "'%s' cannot be assigned: it belongs to Gridloom (of `state`, set the fields)",
                          lua_tostring(L, 2));
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}
} // namespace

struct TriggerScript::Private {
    Private(const Design &design, const Trigger &trigger)
        : fileName(trigger.id.toUtf8() + ".lua"), limits(limitsOf(trigger)), points(design), actions(points, limits)
    {
    }

    static int compileChunk(lua_State *L);
    static int runChunk(lua_State *L);
    void openGlobals(lua_State *L, const Trigger &trigger);

    QByteArray fileName;
    ScriptLimits limits;
    PointBinding points;
    ScriptActions actions;
    std::unique_ptr<LuaSandbox> sandbox; // last: closed before what its functions refer to
};

namespace {
struct Compilation {
    TriggerScript *script = nullptr;
    const Trigger *trigger = nullptr;
    QByteArray syntaxError;
};
} // namespace

void TriggerScript::Private::openGlobals(lua_State *L, const Trigger &trigger)
{
    openUInt64(L);
    points.open(L);
    actions.open(L);
    pushJson(L, trigger.params);
    setSandboxGlobal(L, "param");
    lua_newtable(L);
    setSandboxGlobal(L, "state");

    lua_createtable(L, 0, 2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kRunKey);
    makeReadOnly(L);
    setSandboxGlobal(L, "run");

    lua_createtable(L, 0, 3);
    pushSandboxGlobals(L);
    lua_setfield(L, -2, "__index");
    pushSandboxGlobals(L);
    lua_pushcclosure(L, &setGlobal, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kEnvironmentKey);
}

TriggerScript::TriggerScript() = default;
TriggerScript::~TriggerScript() = default;

int TriggerScript::Private::compileChunk(lua_State *L)
{
    auto &compilation = *static_cast<Compilation *>(lua_touserdata(L, 1));
    Private &self = *compilation.script->d;
    self.openGlobals(L, *compilation.trigger);
    if (loadChunk(L, compilation.trigger->script.toUtf8(), self.fileName))
        lua_rawsetp(L, LUA_REGISTRYINDEX, &kChunkKey);
    else
        compilation.syntaxError = lua_tostring(L, -1);
    return 0;
}

Result<std::unique_ptr<TriggerScript>> TriggerScript::compile(const Design &design, const Trigger &trigger)
{
    std::unique_ptr<TriggerScript> script(new TriggerScript);
    script->d = std::make_unique<Private>(design, trigger);
    auto sandbox = LuaSandbox::create(script->d->fileName, script->d->limits.memory);
    if (!sandbox)
        return sandbox.error();
    script->d->sandbox = std::move(sandbox).value();
    Compilation compilation{script.get(), &trigger, {}};
    const LuaSandbox::Outcome outcome = script->d->sandbox->setUp(&Private::compileChunk, &compilation);
    if (outcome.outcome != ScriptOutcome::Ok)
        return Error{QStringLiteral("script.memory"), outcome.error, false};
    if (!compilation.syntaxError.isEmpty())
        return Error{QStringLiteral("script.syntax"), QString::fromUtf8(compilation.syntaxError), false};
    return script;
}

// Light userdata 1: the RunContext. A fresh environment makes every global of the script end with the run.
int TriggerScript::Private::runChunk(lua_State *L)
{
    const auto &context = *static_cast<const RunContext *>(lua_touserdata(L, 1));
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kRunKey);
    lua_pushinteger(L, static_cast<lua_Integer>(context.run));
    lua_setfield(L, -2, "number");
    lua_pushnumber(L, std::chrono::duration<double>(context.wall.time_since_epoch()).count());
    lua_setfield(L, -2, "time");
    lua_pop(L, 1);

    lua_rawgetp(L, LUA_REGISTRYINDEX, &kChunkKey);
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kEnvironmentKey);
    lua_setmetatable(L, -2);
    lua_setupvalue(L, -2, 1); // _ENV, the only upvalue of a main chunk
    lua_call(L, 0, 0);
    return 0;
}

namespace {
struct Restoration {
    QByteArray saved;
    bool isDone = false;
};

int saveStateTable(lua_State *L)
{
    auto &saved = *static_cast<QByteArray *>(lua_touserdata(L, 1));
    pushSandboxGlobals(L);
    lua_getfield(L, -1, "state");
    saveState(L, -1, saved);
    return 0;
}

int restoreStateTable(lua_State *L)
{
    auto &restoration = *static_cast<Restoration *>(lua_touserdata(L, 1));
    lua_newtable(L);
    restoration.isDone = loadState(L, -1, restoration.saved);
    if (restoration.isDone)
        setSandboxGlobal(L, "state");
    return 0;
}
} // namespace

Result<QByteArray> TriggerScript::saveState()
{
    QByteArray saved;
    const LuaSandbox::Outcome outcome = d->sandbox->setUp(&saveStateTable, &saved);
    if (outcome.outcome != ScriptOutcome::Ok)
        return Error{QStringLiteral("script.state"),
                     QStringLiteral("%1: %2; it cannot be kept over a restart")
                         .arg(QString::fromUtf8(d->fileName), outcome.error)};
    return saved;
}

bool TriggerScript::restoreState(const QByteArray &saved)
{
    Restoration restoration{saved};
    return d->sandbox->setUp(&restoreStateTable, &restoration).outcome == ScriptOutcome::Ok && restoration.isDone;
}

ScriptResult TriggerScript::run(const RunContext &context)
{
    ScriptResult result;
    d->actions.begin();
    if (!context.image) {
        result.outcome = ScriptOutcome::Failed;
        result.error = QString::fromUtf8(d->fileName) + QStringLiteral(": run without a process image");
        return result;
    }
    d->points.readFrom(*context.image, context.now);
    const LuaSandbox::Outcome outcome =
        d->sandbox->call(&Private::runChunk, const_cast<RunContext *>(&context), d->limits.time);
    result.outcome = outcome.outcome;
    result.error = outcome.error;
    result.memory = d->sandbox->memory();
    d->actions.takeInto(result);
    if (context.wantsState) {
        if (auto saved = saveState())
            result.state = std::move(saved).value();
        else
            result.stateError = saved.error().message;
    }
    return result;
}

} // namespace gridloom
