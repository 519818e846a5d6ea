// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/coordinationgenerator.h"

#include "tools/bench/bulkdesign.h"
#include "tools/sim/bulklayout.h"

#include <QJsonArray>
#include <QJsonDocument>

namespace gridloom {

namespace {
constexpr int kSteps = 2;
// Tasks are due on the 100 ms grid, one after the other.
constexpr int kGridMs = 100;

QString outputId(const Scenario &scenario, int output)
{
    return numbered("coordinated", output / scenario.bulkDevices());
}

QJsonObject step(const Scenario &scenario, int task, int step)
{
    const int output = kSteps * task + step;
    return {{QStringLiteral("id"), numbered("step", step)},
            {QStringLiteral("point"),
             bulkDeviceId(output % scenario.bulkDevices()) + QLatin1Char('.') + outputId(scenario, output)},
            {QStringLiteral("value"), QJsonObject{{QStringLiteral("run"), true}}},
            {QStringLiteral("compensate"), 0}};
}
} // namespace

int coordinationSetpoints(const Scenario &scenario)
{
    return (kSteps * scenario.coordinationPerS + scenario.bulkDevices() - 1) / scenario.bulkDevices();
}

QList<QJsonObject> coordinationOutputs(const Scenario &scenario, int device)
{
    QList<QJsonObject> outputs;
    for (int o = device; o < kSteps * scenario.coordinationPerS; o += scenario.bulkDevices())
        outputs.append(bulkSetpoint(outputId(scenario, o), scenario.triggerSetpoints() + o / scenario.bulkDevices()));
    return outputs;
}

DesignDocument coordinationTasks(const Scenario &scenario)
{
    DesignDocument files;
    for (int task = 0; task < scenario.coordinationPerS; ++task) {
        const QString id = numbered("task", task);
        QJsonObject json = identity(id, id);
        json.insert(
            QStringLiteral("when"),
            QJsonObject{{QStringLiteral("periodMs"), 1000}, {QStringLiteral("phaseMs"), kGridMs * task % 1000}});
        QJsonArray steps;
        for (int s = 0; s < kSteps; ++s)
            steps.append(step(scenario, task, s));
        json.insert(QStringLiteral("steps"), steps);
        files.emplace(QStringLiteral("coordination/%1.json").arg(id).toUtf8(), QJsonDocument(json).toJson());
    }
    return files;
}

std::uint64_t countCoordinationWrites(const Scenario &scenario, const QJsonObject &registerWrites)
{
    const int first = kBulkSetpointBase + 2 * scenario.triggerSetpoints();
    std::uint64_t writes = 0;
    for (const QJsonValue &device : registerWrites) {
        const QJsonObject registers = device.toObject();
        for (auto it = registers.begin(); it != registers.end(); ++it)
            if (it.key().section(QLatin1Char(':'), 1).toInt() >= first)
                writes += static_cast<std::uint64_t>(it.value().toInteger());
    }
    return writes;
}

} // namespace gridloom
