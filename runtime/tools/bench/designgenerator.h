// SPDX-License-Identifier: Apache-2.0
// DesignGenerator: writes the design of a load scenario and the simulator's side of it. Pure: the files come back as
// data.
//
// One bulk device has a channel of its own. Trigger t owns what it touches: a setpoint register (device t modulo the
// number of devices), an alarm, an aggregation row and a topic; every run does all four of them. Even regular
// triggers are Periodic, odd ones OnChange of a point of their device that changes each second. Coordination tasks:
// coordinationgenerator.h.
#pragma once

#include "core/design/designdocument.h"
#include "tools/bench/scenario.h"

#include <QHash>

namespace gridloom {

/// Points in one periodic MQTT message: makes a payload of 200 to 400 bytes.
inline constexpr int kPointsPerPublication = 10;
/// Inputs of one aggregation.
inline constexpr int kInputsPerAggregation = 100;

/// The simulator's scenario: the bulk devices, each on a free port of its own.
QByteArray generateSimulation(const Scenario &scenario);

/// The design folder. `ports`: by id of the simulated device, as the simulator reports them.
DesignDocument generateDesign(const Scenario &scenario, const QHash<QString, int> &ports, int brokerPort);

} // namespace gridloom
