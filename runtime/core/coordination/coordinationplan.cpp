// SPDX-License-Identifier: Apache-2.0
#include "core/coordination/coordinationplan.h"

#include "core/json.h"

#include <QJsonArray>
#include <QJsonDocument>

#include <array>
#include <charconv>

namespace gridloom {

namespace {
constexpr int kStateVersion = 1;

Error stepError(const char *code, const CoordinationTask::Step &step, const QString &text)
{
    return {QLatin1String(code), QStringLiteral("step \"%1\": %2").arg(step.id, text), true};
}

Result<Value> copiedValue(const CoordinationTask::Step &step, PointHandle source, const Design &design,
                          const PointStore &points)
{
    const ImageSlot &slot = points.at(source);
    const QString &name = design.points.at(source).name;
    if (slot.quality != Quality::Good || !slot.value.isNumber())
        return stepError("coordination.badInput", step, QStringLiteral("%1 has no good value now").arg(name));
    const WritePolicy &policy = *design.points.at(step.output).point->write;
    const bool isTooLow = policy.min && compareNumbers(slot.value, Value(*policy.min)).value_or(0) < 0;
    const bool isTooHigh = policy.max && compareNumbers(slot.value, Value(*policy.max)).value_or(0) > 0;
    if (isTooLow || isTooHigh)
        return stepError("coordination.outOfLimits", step,
                         QStringLiteral("%1 is %2, which is outside of the limits of %3")
                             .arg(name, QString::fromUtf8(slot.value.toText()), design.points.at(step.output).name));
    return slot.value;
}

Result<Value> valueOf(const CoordinationTask::Step &step, const Design &design, std::uint64_t run,
                      const PointStore &points)
{
    if (const auto *constant = std::get_if<Value>(&step.value))
        return *constant;
    if (const auto *copy = std::get_if<CoordinationTask::CopyOf>(&step.value))
        return copiedValue(step, copy->point, design, points);
    return Value(run);
}

// The type goes with the bits: JSON alone would turn a large integer into another one.
void writeValue(JsonWriter &w, const Value &value)
{
    w.beginArray().integer(static_cast<int>(value.type()));
    std::array<char, 20> digits; // of 2^64 - 1
    const auto end = std::to_chars(digits.begin(), digits.end(), value.bits()).ptr;
    w.string(std::string_view(digits.begin(), static_cast<std::size_t>(end - digits.begin()))).endArray();
}

std::optional<Value> readValue(const QJsonValue &json)
{
    const int type = json[0].toInt(-1);
    bool isNumber = false;
    const std::uint64_t bits = json[1].toString().toULongLong(&isNumber);
    if (!isNumber || type < static_cast<int>(ValueType::Bool) || type > static_cast<int>(ValueType::Double))
        return std::nullopt;
    return Value::fromBits(static_cast<ValueType>(type), bits);
}
} // namespace

bool CoordinationPlan::hasCompensation() const
{
    return std::any_of(steps.begin(), steps.end(), [](const PlannedStep &step) { return step.compensation; });
}

QString coordinationOwner(const QString &taskId)
{
    return QStringLiteral("coordination:") + taskId;
}

namespace {
Result<std::optional<Value>> compensationOf(const CoordinationTask::Step &step, const Design &design,
                                            const std::function<Value(PointHandle)> &heldBy)
{
    if (const auto *constant = std::get_if<Value>(&step.compensation))
        return std::optional(*constant);
    if (!std::holds_alternative<CoordinationTask::Previous>(step.compensation))
        return std::optional<Value>();
    const Value held = heldBy(step.output);
    if (!held.isNumber())
        return stepError("coordination.unknownPrevious", step,
                         QStringLiteral("it is not known what %1 holds, so there is nothing to return to")
                             .arg(design.points.at(step.output).name));
    return std::optional(held);
}
} // namespace

Result<void> planRun(CoordinationPlan &plan, const CoordinationTask &task, const Design &design, std::uint64_t run,
                     WallTime due, const PointStore &points, const std::function<Value(PointHandle)> &heldBy)
{
    plan.taskId = task.id;
    plan.run = run;
    plan.due = due;
    plan.priority = task.priority;
    plan.lease = task.lease;
    plan.steps.clear();
    for (const CoordinationTask::Step &step : task.steps) {
        const auto value = valueOf(step, design, run, points);
        if (!value)
            return value.error();
        const auto compensation = compensationOf(step, design, heldBy);
        if (!compensation)
            return compensation.error();
        plan.steps.push_back({step.id, step.output, design.points.at(step.output).id, value.value(), step.deadline,
                              compensation.value()});
    }
    return {};
}

QByteArray openRunState(const CoordinationPlan &plan, QByteArray buffer)
{
    JsonWriter w(std::move(buffer));
    w.beginObject().key("version").integer(kStateVersion).key("run").unsignedInteger(plan.run);
    w.key("due").integer(plan.due.time_since_epoch().count());
    w.key("priority").integer(static_cast<int>(plan.priority)).key("steps").beginArray();
    for (const PlannedStep &step : plan.steps) {
        w.beginObject().key("id").string(QStringView(step.id)).key("point").string(QStringView(step.outputId));
        w.key("deadlineMs").integer(step.deadline.count());
        if (step.compensation)
            writeValue(w.key("compensate"), *step.compensation);
        w.endObject();
    }
    w.endArray().endObject();
    return w.take();
}

Result<CoordinationPlan> readOpenRunState(const QString &taskId, const QByteArray &state, const Design &design)
{
    const Error damaged{
        QStringLiteral("coordination.state"),
        QStringLiteral("The saved state of an interrupted run of the coordination task \"%1\" cannot be "
                       "read: it was not taken back. Check its outputs.")
            .arg(taskId)};
    const QJsonObject json = QJsonDocument::fromJson(state).object();
    const QJsonArray steps = json[QLatin1String("steps")].toArray();
    const int priority = json[QLatin1String("priority")].toInt(-1);
    const qint64 run = json[QLatin1String("run")].toInteger(-1);
    if (json[QLatin1String("version")].toInt() != kStateVersion || run < 0 || priority < 0
        || priority > static_cast<int>(ControlPriority::Manual) || steps.isEmpty())
        return damaged;
    CoordinationPlan plan;
    plan.taskId = taskId;
    plan.run = static_cast<std::uint64_t>(run);
    plan.due = WallTime(std::chrono::microseconds(json[QLatin1String("due")].toInteger()));
    plan.priority = static_cast<ControlPriority>(priority);
    QHash<QString, PointHandle> outputs;
    for (const PointRef &ref : design.points)
        if (ref.point && ref.point->write)
            outputs.insert(ref.id, ref.handle);
    for (const QJsonValue &item : steps) {
        PlannedStep step;
        step.id = item[QLatin1String("id")].toString();
        step.outputId = item[QLatin1String("point")].toString();
        step.output = outputs.value(step.outputId, kNoPoint);
        step.deadline = Milliseconds(item[QLatin1String("deadlineMs")].toInteger());
        if (!item[QLatin1String("compensate")].isUndefined()) {
            step.compensation = readValue(item[QLatin1String("compensate")]);
            if (!step.compensation)
                return damaged;
        }
        if (step.id.isEmpty() || step.deadline <= Milliseconds(0))
            return damaged;
        plan.steps.push_back(std::move(step));
    }
    return plan;
}

} // namespace gridloom
