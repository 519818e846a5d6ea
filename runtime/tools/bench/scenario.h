// SPDX-License-Identifier: Apache-2.0
// Scenario: one load of resources/baselines/scenarios.json. Pure.
#pragma once

#include "core/result.h"

#include <QByteArray>
#include <QString>

namespace gridloom {

/// Points of one bulk device ("points" in the file's task definitions).
inline constexpr int kPointsPerBulkDevice = 50;
/// Runs per second of one 100 ms trigger.
inline constexpr int kFastRunsPerSecond = 10;

struct Scenario {
    QString id; ///< "S2.5"
    int pointsPerS = 0;
    int aggregations = 0;
    int regularTriggers = 0; ///< one run per second each: half Periodic, half OnChange
    int fastTriggers = 0;    ///< Periodic 100 ms
    int triggerTargetPerS = 0;
    int mqttTargetPerS = 0;
    int coordinationPerS = 0;       ///< tasks, one run per second each
    bool isRealTimeStorage = false; ///< else on change
    int maxIntervalS = 10;          ///< of storage on change

    int bulkDevices() const { return pointsPerS / kPointsPerBulkDevice; }
    int triggers() const { return regularTriggers + fastTriggers; }
    /// Setpoint registers that a device needs so that each trigger has one.
    int triggerSetpoints() const { return (triggers() + bulkDevices() - 1) / bulkDevices(); }
};

/// Error "bench.scenario" when the text has no such scenario (the message lists those it has) or its numbers do not
/// fit together.
Result<Scenario> parseScenario(const QByteArray &scenariosJson, const QString &id);

} // namespace gridloom
