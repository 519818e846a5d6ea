// SPDX-License-Identifier: Apache-2.0
// alarms/SET.json
#include "core/design/sections.h"

namespace gridloom {

namespace {

constexpr qsizetype kMostAlarms = 10'000;
constexpr qsizetype kLongestText = 1'024;

using Kind = AlarmCondition::Kind;
constexpr Choice<Kind> kKinds[] = {{u"high", Kind::High},           {u"low", Kind::Low}, {u"equals", Kind::Equals},
                                   {u"notEquals", Kind::NotEquals}, {u"bad", Kind::Bad}, {u"stale", Kind::Stale}};

constexpr Choice<Severity> kSeverities[] = {{u"diagnostic", Severity::Diagnostic},
                                            {u"low", Severity::Low},
                                            {u"medium", Severity::Medium},
                                            {u"high", Severity::High},
                                            {u"critical", Severity::Critical}};

AlarmCondition readCondition(DesignScope &scope, ObjectReader &reader)
{
    AlarmCondition condition;
    condition.point = scope.points.resolve(reader, u"point");
    condition.kind = reader.choice(u"kind", kKinds);
    const bool isThreshold = condition.kind == Kind::High || condition.kind == Kind::Low;
    const bool isEquality = condition.kind == Kind::Equals || condition.kind == Kind::NotEquals;
    if ((isThreshold || isEquality) && reader.require(u"limit"))
        condition.limit = reader.number(u"limit", 0.0);
    else if (!isThreshold && !isEquality)
        reader.refuse(u"limit", QStringLiteral("means nothing for this kind of condition"));
    if (isThreshold)
        condition.deadband = reader.notNegative(u"deadband", 0.0);
    else
        reader.refuse(u"deadband", QStringLiteral("belongs to the conditions high and low"));
    if (condition.kind == Kind::Stale)
        condition.maxAge = reader.duration(u"maxAgeMs", kShortestPeriod);
    else
        reader.refuse(u"maxAgeMs", QStringLiteral("belongs to the condition stale"));
    reader.finish();
    return condition;
}

AlarmDefinition readAlarm(DesignScope &scope, ObjectReader &reader)
{
    AlarmDefinition alarm;
    alarm.id = reader.id(u"id");
    alarm.name = reader.name(u"name");
    alarm.severity = reader.choice(u"severity", kSeverities, std::optional(Severity::Medium));
    alarm.text = reader.text(u"text", QString(), kLongestText);
    if (auto condition = reader.child(u"condition"))
        alarm.condition = readCondition(scope, *condition);
    const bool hasCondition = reader.has(u"condition");
    for (const auto &[key, delay] : {std::pair(QStringView(u"onDelayMs"), &alarm.onDelay),
                                     std::pair(QStringView(u"offDelayMs"), &alarm.offDelay)}) {
        if (hasCondition)
            *delay = reader.duration(key, Milliseconds(0), Milliseconds(0));
        else
            reader.refuse(key, QStringLiteral("delays a condition, and this alarm has none"));
    }
    reader.finish();
    return alarm;
}

/// alarmList, alarmByName: "set.alarm" and, where no other alarm has the name, "alarm".
void compileAlarms(Design &design)
{
    QHash<QByteArray, int> uses;
    for (auto &[id, set] : design.alarms) {
        for (AlarmDefinition &alarm : set.alarms) {
            alarm.index = static_cast<int>(design.alarmList.size());
            design.alarmList.append(&alarm);
            design.alarmByName.insert((set.name + QLatin1Char('.') + alarm.name).toUtf8(), alarm.index);
            ++uses[alarm.name.toUtf8()];
        }
    }
    for (const AlarmDefinition *alarm : std::as_const(design.alarmList))
        if (uses.value(alarm->name.toUtf8()) == 1)
            design.alarmByName.insert(alarm->name.toUtf8(), alarm->index);
}

} // namespace

void readAlarms(DesignScope &scope)
{
    UniqueWords setNames("design.duplicateName");
    scope.forEachPart(DesignFolder::Alarms, setNames,
                      [&](ObjectReader &reader, const QString &id, const QString &name) {
                          AlarmSet set;
                          set.id = id;
                          set.name = name;
                          UniqueWords ids("design.duplicateId");
                          UniqueWords names("design.duplicateName");
                          for (ObjectReader &item : reader.children(u"alarms", kMostAlarms, true)) {
                              set.alarms.append(readAlarm(scope, item));
                              ids.add(item, u"id", set.alarms.constLast().id);
                              names.add(item, u"name", set.alarms.constLast().name);
                          }
                          scope.design.alarms.emplace(id, std::move(set));
                      });
    compileAlarms(scope.design);
}

} // namespace gridloom
