// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/scenario.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

namespace gridloom {

Result<Scenario> parseScenario(const QByteArray &scenariosJson, const QString &id)
{
    const QJsonObject all =
        QJsonDocument::fromJson(scenariosJson).object().value(QLatin1String("scenarios")).toObject();
    if (!all.contains(id))
        return Error{QStringLiteral("bench.scenario"),
                     QStringLiteral("there is no scenario \"%1\"; choose one of %2")
                         .arg(id, all.keys().join(QStringLiteral(", ")))};
    const QJsonObject json = all.value(id).toObject();
    const auto number = [&json](const char *key) { return json.value(QLatin1String(key)).toInt(); };
    Scenario s;
    s.id = id;
    s.pointsPerS = number("points_per_s");
    s.aggregations = number("aggregations");
    s.regularTriggers = number("regular_triggers_per_s");
    s.fastTriggers = number("triggers_100ms");
    s.triggerTargetPerS = number("trigger_target_per_s");
    s.mqttTargetPerS = number("mqtt_target_per_s");
    s.coordinationPerS = number("coordination_per_s");
    s.isRealTimeStorage = json.value(QLatin1String("storage")).toString() == QLatin1String("real-time");
    s.maxIntervalS = json.value(QLatin1String("max_interval_s")).toInt(10);
    const bool fits = s.bulkDevices() >= 2 && s.pointsPerS % kPointsPerBulkDevice == 0
        && s.triggerTargetPerS == s.regularTriggers + kFastRunsPerSecond * s.fastTriggers
        && s.mqttTargetPerS <= s.bulkDevices();
    if (!fits)
        return Error{QStringLiteral("bench.scenario"),
                     QStringLiteral("scenario \"%1\": points must be a multiple of %2 and at least two devices, the "
                                    "trigger target regular + %3 x fast triggers, MQTT tasks at most one a device")
                         .arg(id)
                         .arg(kPointsPerBulkDevice)
                         .arg(kFastRunsPerSecond)};
    return s;
}

} // namespace gridloom
