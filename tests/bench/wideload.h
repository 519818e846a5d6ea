// SPDX-License-Identifier: Apache-2.0
// WideLoad: many float32 points on a few wide devices (docs/simulator.md), as the simulator's scenario and as the
// runtime's design. Pure.
//
// Each device has a channel, and so a connection, of its own. With a write period it also has a setpoint, written
// by a periodic trigger with its run number, so that no write equals the one before.
#pragma once

#include "core/design/designdocument.h"

#include <QHash>

namespace gridloom {

struct WideLoad {
    int devices = 10;
    int pointsPerDevice = 10'000;
    int periodMs = 1'000;
    int groupsPerDevice = 0;    ///< each published as one MQTT message per second, QoS 1; they share the points evenly
    int writePeriodMs = 0;      ///< 0: no writes
    bool isStoredAlways = true; ///< else nothing is stored

    int points() const { return devices * pointsPerDevice; }
};

QByteArray wideSimulation(const WideLoad &load);
DesignDocument wideDesign(const WideLoad &load, const QHash<QString, int> &ports, int brokerPort);

} // namespace gridloom
