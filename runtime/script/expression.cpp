// SPDX-License-Identifier: Apache-2.0
#include "script/expression.h"

#include "script/luachunk.h"
#include "script/luasandbox.h"
#include "script/luavalue.h"
#include "script/pointbinding.h"
#include "script/sandboxlibrary.h"
#include "script/scriptnames.h"

#include <algorithm>
#include <map>

namespace gridloom {

namespace {
constexpr std::chrono::milliseconds kTimeLimit{1};
constexpr std::size_t kBaseMemory = 1 << 20;
constexpr std::size_t kMemoryPerExpression = 4096;
constexpr char kFunctionsKey = 0; // its address: registry key of {handle -> function}

int refuseGlobal(lua_State *L)
{
    return luaL_error(L, "an expression cannot set the variable '%s'", lua_tostring(L, 2));
}

Error errorOf(const QString &code, const PointRef &point, const QString &message)
{
    return {code, QStringLiteral("computed point %1: %2").arg(point.name, message), false};
}
} // namespace

struct Expressions::Private {
    explicit Private(const Design &design) : points(design) {}

    /// Its inputs by literal names; error "script.unknownPoint".
    static Result<std::vector<PointHandle>> readInputs(const Design &design, const PointRef &point);
    Result<void> sortByDependency(const Design &design);
    Result<void> compileAll(const Design &design);

    std::map<PointHandle, std::vector<PointHandle>> inputs; ///< of every computed point
    std::vector<PointHandle> order;
    PointBinding points;
    std::unique_ptr<LuaSandbox> sandbox; // last: closed before what its functions refer to
};

Expressions::Expressions() = default;
Expressions::~Expressions() = default;

bool Expressions::isEmpty() const
{
    return d->order.empty();
}

const std::vector<PointHandle> &Expressions::order() const
{
    return d->order;
}

const std::vector<PointHandle> &Expressions::inputs(PointHandle computed) const
{
    static const std::vector<PointHandle> kNone;
    const auto it = d->inputs.find(computed);
    return it == d->inputs.end() ? kNone : it->second;
}

Result<std::vector<PointHandle>> Expressions::Private::readInputs(const Design &design, const PointRef &point)
{
    std::vector<PointHandle> found;
    const QList<NameUse> uses = literalNames(point.point->expression);
    for (const NameUse &use : uses) {
        if (use.kind != NameUse::Kind::Point)
            continue;
        const PointHandle input = design.pointByName.value(use.name.toUtf8());
        if (input == kNoPoint)
            return errorOf(QStringLiteral("script.unknownPoint"), point,
                           QStringLiteral("unknown point '%1' in its expression").arg(use.name));
        if (std::find(found.begin(), found.end(), input) == found.end())
            found.push_back(input);
    }
    return found;
}

// Takes a point once all computed points it reads are taken; what is left over depends on itself.
Result<void> Expressions::Private::sortByDependency(const Design &design)
{
    std::map<PointHandle, std::vector<PointHandle>> readers;
    std::map<PointHandle, std::size_t> missing;
    for (const auto &[point, read] : inputs) {
        missing[point] = 0;
        for (const PointHandle input : read) {
            if (inputs.contains(input)) {
                ++missing[point];
                readers[input].push_back(point);
            }
        }
    }
    for (const auto &[point, count] : missing)
        if (count == 0)
            order.push_back(point);
    for (std::size_t next = 0; next < order.size(); ++next)
        for (const PointHandle reader : readers[order[next]])
            if (--missing[reader] == 0)
                order.push_back(reader);
    if (order.size() == inputs.size())
        return {};
    std::erase_if(missing, [](const auto &entry) { return entry.second == 0; });
    // Points that only read from the circle are not part of it: nobody left reads them.
    const auto isOutside = [&](const auto &entry) {
        const auto &by = readers[entry.first];
        return std::none_of(by.begin(), by.end(), [&](PointHandle reader) { return missing.contains(reader); });
    };
    while (std::erase_if(missing, isOutside) > 0) {}
    QStringList names;
    for (const auto &[point, count] : missing)
        names.append(design.points.at(point).name);
    return Error{
        QStringLiteral("script.cycle"),
        QStringLiteral("computed points read each other in a circle: %1").arg(names.join(QStringLiteral(", "))), false};
}

namespace {
struct Compilation {
    const Design *design = nullptr;
    PointBinding *points = nullptr;
    const std::vector<PointHandle> *order = nullptr;
    PointHandle failed = kNoPoint;
    QByteArray syntaxError;
};

// Pushes the environment that all expressions share.
void pushEnvironment(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 3);
    pushSandboxGlobals(L);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, &refuseGlobal);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

int compileExpressions(lua_State *L)
{
    auto &compilation = *static_cast<Compilation *>(lua_touserdata(L, 1));
    openUInt64(L);
    compilation.points->open(L);
    lua_newtable(L);
    const int functions = lua_gettop(L);
    pushEnvironment(L);
    const int environment = lua_gettop(L);
    for (const PointHandle point : *compilation.order) {
        const PointRef &ref = compilation.design->points.at(point);
        if (!loadChunk(L, expressionChunk(ref.point->expression), ref.name.toUtf8())) {
            compilation.failed = point;
            compilation.syntaxError = lua_tostring(L, -1);
            return 0;
        }
        lua_pushvalue(L, environment);
        lua_setupvalue(L, -2, 1);
        lua_rawseti(L, functions, static_cast<lua_Integer>(point));
    }
    lua_pushvalue(L, functions);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kFunctionsKey);
    return 0;
}

struct Evaluation {
    PointHandle point = kNoPoint;
    std::optional<Value> value;
};

int evaluateExpression(lua_State *L)
{
    auto &evaluation = *static_cast<Evaluation *>(lua_touserdata(L, 1));
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kFunctionsKey);
    lua_rawgeti(L, -1, static_cast<lua_Integer>(evaluation.point));
    lua_call(L, 0, 1);
    evaluation.value = toValue(L, -1);
    if (!evaluation.value)
        luaL_error(L, "the result is a %s; a point holds a number, a boolean or a text", typeNameOf(L, -1));
    return 0;
}
} // namespace

Result<void> Expressions::Private::compileAll(const Design &design)
{
    auto created = LuaSandbox::create("expressions", kBaseMemory + order.size() * kMemoryPerExpression);
    if (!created)
        return created.error();
    sandbox = std::move(created).value();
    Compilation compilation{&design, &points, &order, kNoPoint, {}};
    const LuaSandbox::Outcome outcome = sandbox->setUp(&compileExpressions, &compilation);
    if (outcome.outcome != ScriptOutcome::Ok)
        return Error{QStringLiteral("script.memory"), outcome.error, false};
    if (compilation.failed != kNoPoint)
        return errorOf(QStringLiteral("script.syntax"), design.points.at(compilation.failed),
                       QString::fromUtf8(compilation.syntaxError));
    return {};
}

Result<std::unique_ptr<Expressions>> Expressions::compile(const Design &design)
{
    std::unique_ptr<Expressions> expressions(new Expressions);
    expressions->d = std::make_unique<Private>(design);
    for (const PointRef &ref : design.points) {
        if (!ref.point || ref.point->kind != PointKind::Computed)
            continue;
        auto inputs = Private::readInputs(design, ref);
        if (!inputs)
            return inputs.error();
        expressions->d->inputs.emplace(ref.handle, std::move(inputs).value());
    }
    if (const auto sorted = expressions->d->sortByDependency(design); !sorted)
        return sorted.error();
    if (const auto compiled = expressions->d->compileAll(design); !compiled)
        return compiled.error();
    return expressions;
}

std::pair<Value, Quality> Expressions::evaluate(PointHandle computed, const PointStore &store, SteadyTime now,
                                                QString &error)
{
    error.clear();
    d->points.readFrom(store, now);
    Evaluation evaluation{computed, {}};
    const LuaSandbox::Outcome outcome = d->sandbox->call(&evaluateExpression, &evaluation, kTimeLimit);
    const Quality used = d->points.usedQuality();
    // The failure of "nil + 1" is only a consequence of the bad input: its quality says more.
    if (isBad(used))
        return {Value(), used};
    if (outcome.outcome != ScriptOutcome::Ok) {
        error = outcome.error;
        return {Value(), Quality::BadEvaluation};
    }
    Value value = evaluation.value.value_or(Value());
    const bool isFinite = value.type() != ValueType::Double || std::isfinite(value.real());
    if (value.isNull() || !isFinite) {
        error = QStringLiteral("the result is %1")
                    .arg(isFinite ? QStringLiteral("nil") : QStringLiteral("not a finite number"));
        return {Value(), Quality::BadEvaluation};
    }
    return {std::move(value), used};
}

} // namespace gridloom
