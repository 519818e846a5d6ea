// SPDX-License-Identifier: Apache-2.0
// triggers/ID.json with triggers/ID.lua
#include "core/design/sections.h"

namespace gridloom {

namespace {

constexpr qsizetype kMostPoints = 1'000;

enum class WhenKind : std::uint8_t { Periodic, OnChange };
constexpr Choice<WhenKind> kWhenKinds[] = {{u"periodic", WhenKind::Periodic}, {u"onChange", WhenKind::OnChange}};

constexpr Choice<OverlapMode> kOverlaps[] = {
    {u"skip", OverlapMode::Skip}, {u"queue", OverlapMode::Queue}, {u"latest", OverlapMode::Latest}};

Trigger::Periodic readPeriodic(ObjectReader &when)
{
    const Trigger::Periodic periodic = readPeriod(when);
    for (const QStringView key : {u"points", u"deadband", u"forMs"})
        when.refuse(key, QStringLiteral("belongs to the kind onChange"));
    return periodic;
}

Trigger::OnChange readOnChange(DesignScope &scope, ObjectReader &when)
{
    Trigger::OnChange change;
    if (when.require(u"points"))
        change.points = scope.points.resolveAll(when, when.texts(u"points", kMostPoints));
    change.deadband = when.notNegative(u"deadband", 0.0);
    change.forDuration = when.duration(u"forMs", Milliseconds(0), change.forDuration);
    for (const QStringView key : {u"periodMs", u"phaseMs"})
        when.refuse(key, QStringLiteral("belongs to the kind periodic"));
    return change;
}

void readWhen(DesignScope &scope, ObjectReader &reader, Trigger &trigger)
{
    reader.require(u"when");
    auto when = reader.child(u"when");
    if (!when)
        return;
    if (when->choice(u"kind", kWhenKinds) == WhenKind::Periodic)
        trigger.when = readPeriodic(*when);
    else
        trigger.when = readOnChange(scope, *when);
    when->finish();
}

void readScript(DesignScope &scope, ObjectReader &reader, Trigger &trigger)
{
    const QString path = QStringLiteral("triggers/%1.lua").arg(trigger.id);
    const auto script = scope.files.scripts.find(trigger.id);
    if (script == scope.files.scripts.end()) {
        reader.fault({}, "design.missingFile", QStringLiteral("the script %1 is missing; add it").arg(path));
        return;
    }
    trigger.script = script->second;
    scope.checkLua(trigger.script, false, path, {});
}

/// A script without its trigger would silently never run.
void checkLoneScripts(DesignScope &scope)
{
    const auto &triggers = scope.files.in(DesignFolder::Triggers);
    for (const auto &[id, text] : scope.files.scripts)
        if (triggers.count(id) == 0)
            scope.faults.add({QStringLiteral("triggers/%1.lua").arg(id),
                              {},
                              0,
                              QStringLiteral("design.missingFile"),
                              QStringLiteral("the script has no trigger; add triggers/%1.json or remove it").arg(id)});
}

} // namespace

PeriodicTrigger readPeriod(ObjectReader &when)
{
    PeriodicTrigger periodic;
    const std::size_t before = when.faults().total();
    periodic.period = when.duration(u"periodMs", kShortestPeriod);
    periodic.phase = when.duration(u"phaseMs", Milliseconds(0), periodic.phase);
    if (when.faults().total() == before && periodic.phase >= periodic.period)
        when.fault(u"phaseMs", "design.outOfRange",
                   QStringLiteral("a phase of %1 ms is no part of the period; choose 0 to %2")
                       .arg(periodic.phase.count())
                       .arg(periodic.period.count() - 1));
    return periodic;
}

ControlPriority readPriority(ObjectReader &reader, QStringView key, ControlPriority byDefault)
{
    static constexpr Choice<ControlPriority> kPriorities[] = {
        {u"safety", ControlPriority::Safety},
        {u"gridLimit", ControlPriority::GridLimit},
        {u"stateOfCharge", ControlPriority::StateOfChargeProtection},
        {u"demand", ControlPriority::Demand},
        {u"schedule", ControlPriority::Schedule},
        {u"selfConsumption", ControlPriority::SelfConsumption},
        {u"comfort", ControlPriority::Comfort},
        {u"manual", ControlPriority::Manual}};
    return reader.choice(key, kPriorities, std::optional(byDefault));
}

void readTriggers(DesignScope &scope)
{
    UniqueWords names("design.duplicateName");
    scope.forEachPart(DesignFolder::Triggers, names, [&](ObjectReader &reader, const QString &id, const QString &name) {
        Trigger trigger;
        trigger.id = id;
        trigger.name = name;
        trigger.isEnabled = reader.boolean(u"enabled", true);
        readWhen(scope, reader, trigger);
        trigger.overlap = reader.choice(u"overlap", kOverlaps, std::optional(trigger.overlap));
        if (trigger.overlap == OverlapMode::Queue)
            trigger.queueLength = static_cast<int>(reader.integer(u"queueLength", 1, 100));
        else
            reader.refuse(u"queueLength", QStringLiteral("belongs to the overlap queue"));
        trigger.timeLimit = Milliseconds(reader.integer(u"timeLimitMs", 1, 1'000, trigger.timeLimit.count()));
        trigger.memoryLimit = static_cast<std::size_t>(reader.integer(u"memoryLimitKb", 64, 8'192, 1'024)) * 1'024;
        trigger.priority = readPriority(reader, u"priority", trigger.priority);
        trigger.params = reader.object(u"params");
        readScript(scope, reader, trigger);
        scope.design.triggers.emplace(id, std::move(trigger));
    });
    checkLoneScripts(scope);
    for (auto &[id, trigger] : scope.design.triggers) {
        trigger.index = static_cast<int>(scope.design.triggerList.size());
        scope.design.triggerList.append(&trigger);
    }
}

} // namespace gridloom
