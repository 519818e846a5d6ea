// SPDX-License-Identifier: Apache-2.0
#include "scriptbench.h"

#include <stdexcept>

namespace gridloom::test {

ScriptBench::ScriptBench()
{
    trigger.id = QStringLiteral("test");
    trigger.when = Trigger::Periodic{};
}

PointHandle ScriptBench::addPoint(const QString &name, PointKind kind, const QString &expression)
{
    const auto handle = static_cast<PointHandle>(design.points.size());
    Point &point = m_points.emplace_back();
    point.name = name;
    point.kind = kind;
    point.expression = expression;
    point.handle = handle;
    if (kind == PointKind::Setpoint)
        point.write = WritePolicy{};
    PointRef ref;
    ref.handle = handle;
    ref.name = name.contains(QLatin1Char('.')) ? name : QStringLiteral("meter1.") + name;
    ref.point = &point;
    design.points.append(ref);
    design.pointByName.build();
    return handle;
}

PointHandle ScriptBench::addRow(const QString &name, bool isScripted)
{
    const auto handle = static_cast<PointHandle>(design.points.size());
    Aggregation &row = m_rows.emplace_back();
    row.name = name;
    row.handle = handle;
    if (!isScripted)
        row.inputs = {0};
    PointRef ref;
    ref.handle = handle;
    ref.name = QStringLiteral("rows.") + name;
    ref.aggregation = &row;
    design.points.append(ref);
    design.pointByName.build();
    return handle;
}

int ScriptBench::addAlarm(const QString &name)
{
    AlarmDefinition &alarm = m_alarms.emplace_back();
    alarm.name = name;
    alarm.index = static_cast<int>(design.alarmList.size());
    design.alarmList.append(&alarm);
    design.alarmByName.insert(QByteArray("site.") + name.toUtf8(), alarm.index);
    return alarm.index;
}

PointStore &ScriptBench::filledStore()
{
    if (!store)
        store = std::make_unique<PointStore>(static_cast<std::size_t>(design.points.size()));
    return *store;
}

void ScriptBench::set(PointHandle point, const Value &value, Quality quality, std::chrono::milliseconds age)
{
    Sample sample;
    sample.point = point;
    sample.value = value;
    sample.quality = quality;
    sample.gatewayTime = now() - age;
    filledStore().update(sample);
}

std::unique_ptr<TriggerScript> ScriptBench::compile(const QString &lua)
{
    trigger.script = lua;
    auto script = TriggerScript::compile(design, trigger);
    if (!script)
        throw std::runtime_error(script.error().message.toStdString());
    return std::move(script).value();
}

ScriptResult ScriptBench::run(TriggerScript &script, std::uint64_t run)
{
    const WallTime wall{std::chrono::milliseconds(1'785'542'400'250)};
    const auto image = filledStore().freeze(now(), wall);
    return script.run(RunContext{image.get(), run, now(), wall});
}

ScriptResult ScriptBench::run(const QString &lua)
{
    return run(*compile(lua));
}

QString ScriptBench::log(const QString &lua)
{
    const ScriptResult result = run(lua);
    if (result.outcome != ScriptOutcome::Ok)
        return result.error;
    return result.log.empty() ? QString() : QString::fromUtf8(result.log.front());
}

} // namespace gridloom::test
