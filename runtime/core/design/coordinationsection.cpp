// SPDX-License-Identifier: Apache-2.0
// coordination/ID.json
#include "core/design/sections.h"

namespace gridloom {

namespace {

constexpr qsizetype kMostSteps = 100;

/// A number keeps every digit that the file has.
std::optional<Value> constantOf(const QJsonValue &value)
{
    if (value.isBool())
        return Value(value.toBool());
    if (!value.isDouble())
        return std::nullopt;
    const qint64 whole = value.toInteger(0);
    return value == QJsonValue(whole) ? Value(static_cast<std::int64_t>(whole)) : Value(value.toDouble());
}

void checkLimits(ObjectReader &step, QStringView key, const Value &value, const WritePolicy *policy)
{
    if (!policy || (policy->min && policy->max && *policy->min > *policy->max))
        return; // a fault of the output
    const bool isTooLow = policy->min && compareNumbers(value, Value(*policy->min)).value_or(0) < 0;
    const bool isTooHigh = policy->max && compareNumbers(value, Value(*policy->max)).value_or(0) > 0;
    if (isTooLow || isTooHigh)
        step.fault(key, "design.outOfRange",
                   QStringLiteral("%1 is outside of the output's limits (\"write\": min, max); choose a value within")
                       .arg(QString::fromUtf8(value.toText())));
}

/// The one member of {"key": true}.
void readMark(ObjectReader &reader, QStringView key)
{
    if (!reader.boolean(key, true))
        reader.fault(key, "design.outOfRange", QStringLiteral("only true has a meaning here"));
}

/// A number or bool goes to `constant`, an object to `special`, which takes its keys.
template<typename Constant, typename Special>
void readStepValue(ObjectReader &step, QStringView key, const QString &expected, Constant constant, Special special)
{
    const QJsonValue json = step.any(key);
    if (const auto value = constantOf(json)) {
        constant(*value);
    } else if (json.isObject()) {
        ObjectReader object(json.toObject(), step.path(), step.pointerOf(key), step.faults());
        special(object);
        object.finish();
    } else if (!json.isUndefined()) {
        step.fault(key, "design.wrongType", QStringLiteral("must be %1, not %2").arg(expected, describe(json)));
    }
}

const WritePolicy *readOutput(const DesignScope &scope, ObjectReader &step, CoordinationTask::Step &result)
{
    result.output = scope.points.resolve(step, u"point");
    if (result.output == kNoPoint)
        return nullptr;
    const PointRef &ref = scope.design.points.at(result.output);
    if (!ref.point || !ref.point->write) {
        // A setpoint without "write" is a fault of its own.
        if (ref.point && (ref.point->kind == PointKind::Setpoint || ref.point->kind == PointKind::Command))
            return nullptr;
        step.fault(
            u"point", "design.notAnOutput",
            QStringLiteral("\"%1\" cannot be written; give the point a \"write\" policy or name another").arg(ref.id));
        return nullptr;
    }
    if (!ref.point->write->verify)
        step.fault(u"point", "design.notAllowed",
                   QStringLiteral("\"%1\" is not read back (\"verify\": false), and each step is verified; let it be "
                                  "verified or name another")
                       .arg(ref.id));
    return &*ref.point->write;
}

CoordinationTask::Step readStep(const DesignScope &scope, ObjectReader &reader)
{
    CoordinationTask::Step step;
    step.id = reader.id(u"id");
    const WritePolicy *policy = readOutput(scope, reader, step);
    reader.require(u"value");
    readStepValue(
        reader, u"value", QStringLiteral("a number, true, false, {\"point\": \"device.point\"} or {\"run\": true}"),
        [&](const Value &value) {
            step.value = value;
            checkLimits(reader, u"value", value, policy);
        },
        [&](ObjectReader &object) {
            if (object.has(u"run")) {
                readMark(object, u"run");
                step.value = CoordinationTask::RunNumber();
            } else {
                step.value = CoordinationTask::CopyOf{scope.points.resolve(object, u"point")};
            }
        });
    step.deadline = reader.duration(u"deadlineMs", kShortestPeriod, policy ? policy->deadline : WritePolicy().deadline);
    if (reader.any(u"compensate").isNull())
        return step;
    readStepValue(
        reader, u"compensate", QStringLiteral("a number, true, false, {\"previous\": true} or null"),
        [&](const Value &value) {
            step.compensation = value;
            checkLimits(reader, u"compensate", value, policy);
        },
        [&](ObjectReader &object) {
            if (object.require(u"previous"))
                readMark(object, u"previous");
            step.compensation = CoordinationTask::Previous();
        });
    return step;
}

} // namespace

bool CoordinationTask::hasCompensation() const
{
    return std::any_of(steps.begin(), steps.end(), [](const Step &step) { return step.compensation.index() != 0; });
}

void readCoordination(DesignScope &scope)
{
    UniqueWords names("design.duplicateName");
    const auto read = [&](ObjectReader &reader, const QString &id, const QString &name) {
        CoordinationTask task;
        task.id = id;
        task.name = name;
        task.isEnabled = reader.boolean(u"enabled", true);
        if (auto when = reader.child(u"when")) {
            task.when = readPeriod(*when);
            when->finish();
        }
        task.priority = readPriority(reader, u"priority", task.priority);
        task.lease = reader.duration(u"leaseMs", kShortestPeriod, task.lease);
        const std::size_t before = reader.faults().total();
        UniqueWords ids("design.duplicateId");
        for (ObjectReader &item : reader.children(u"steps", kMostSteps, true)) {
            task.steps.append(readStep(scope, item));
            ids.add(item, u"id", task.steps.constLast().id);
            item.finish();
        }
        if (task.steps.isEmpty() && reader.faults().total() == before)
            reader.fault(u"steps", "design.missing", QStringLiteral("the list is empty; add a step"));
        task.isDurable = reader.boolean(u"durable", false);
        if (task.isDurable && !task.steps.isEmpty() && !task.hasCompensation())
            reader.fault(u"durable", "design.notAllowed",
                         QStringLiteral("no step has a compensation that could run after a power cut; add one or "
                                        "remove the key"));
        scope.design.coordination.emplace(id, std::move(task));
    };
    scope.forEachPart(DesignFolder::Coordination, names, read);
    for (auto &[id, task] : scope.design.coordination) {
        task.index = static_cast<int>(scope.design.coordinationList.size());
        scope.design.coordinationList.append(&task);
        scope.design.coordinationByName.insert(task.name.toUtf8(), task.index);
    }
}

} // namespace gridloom
