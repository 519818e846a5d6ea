// SPDX-License-Identifier: Apache-2.0
// The coordination tasks of a load scenario: one a second each. Task c writes its run's number to an output of its own
// on device 2c and to one on device 2c + 1 (modulo the number of devices), in this order; both have a compensation.
// The outputs come after those of the triggers. Pure.
#pragma once

#include "core/design/designdocument.h"
#include "tools/bench/scenario.h"

#include <QJsonObject>
#include <QList>

namespace gridloom {

/// Setpoint registers that each device has for them, after the triggers'.
int coordinationSetpoints(const Scenario &scenario);
/// The outputs of one device, as points of its design.
QList<QJsonObject> coordinationOutputs(const Scenario &scenario, int device);
/// The files coordination/ID.json.
DesignDocument coordinationTasks(const Scenario &scenario);
/// Writes that reached these outputs, from the simulator's "registerWrites".
std::uint64_t countCoordinationWrites(const Scenario &scenario, const QJsonObject &registerWrites);

} // namespace gridloom
