// SPDX-License-Identifier: Apache-2.0
// SimScenario: the simulator's scenario file (docs/simulator.md, "Scenario"), checked. Pure.
#pragma once

#include "core/result.h"

#include <QByteArray>
#include <QDateTime>
#include <QString>
#include <QTimeZone>

#include <chrono>
#include <optional>
#include <vector>

namespace gridloom {

enum class DeviceType : std::uint8_t { GridMeter, PvInverter, Battery, EvCharger, Bulk, Wide };

struct SiteScenario {
    QTimeZone zone = QTimeZone::utc();
    QDateTime start; ///< invalid: now
    QString profile = QStringLiteral("commerce");
    double loadKwhPerYear = 0;
    double machineKw = 0;
    std::uint64_t seed = 1;
};

/// Keys of other types keep their defaults.
struct DeviceScenario {
    QString id;
    DeviceType type = DeviceType::Bulk;
    quint16 port = 0;                  ///< 0: any free one
    std::optional<std::size_t> portOf; ///< shares the listener of this (earlier) device
    int unit = 1;
    double ratedKw = 0;
    double peakKw = 0;
    double capacityKwh = 0;
    double socPercent = 0;
    double safeAfterS = 0;
    double maxA = 0;
    int values = 0;
    int setpoints = 0;
    std::chrono::milliseconds changeEvery{0};
};

struct SimScenario {
    SiteScenario site;
    std::vector<DeviceScenario> devices;

    /// Whether any device needs the site's physics.
    bool hasSite() const;
};

/// Error "sim.scenario"; its message has a line for every fault. `path` names the file in it.
Result<SimScenario> parseSimScenario(const QByteArray &json, const QString &path);

} // namespace gridloom
