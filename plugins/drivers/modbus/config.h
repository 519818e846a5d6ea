// SPDX-License-Identifier: Apache-2.0
// What a channel and its devices say about a Modbus TCP connection, checked. Pure; any thread.
#pragma once

#include "protocols/modbus/readplan.h"
#include "sdk/driver.h"

#include <chrono>
#include <vector>

namespace gridloom::modbus {

struct PointConfig {
    const Point *point = nullptr;
    Address address;
    int width = 1; ///< registers or bits
};

struct UnitConfig {
    QString name; ///< of the device
    std::uint8_t unit = 1;
    std::chrono::milliseconds timeout{1'000};
    int maxGap = 16;
    int maxRegisters = kMaxReadRegisters;
    int failuresToOffScan = 3;
    bool ignoresTransactionId = false;
    std::vector<AddressRange> holes;
    std::vector<PointConfig> points;
};

struct ChannelConfig {
    QString host;
    std::uint16_t port = 502;
    std::chrono::milliseconds connectTimeout{2'000};
    std::chrono::milliseconds delay{0}; ///< between an answer and the next request
    int maxInFlight = 1;
    std::vector<UnitConfig> units; ///< one for each device, in order of their handles
};

/// Ranges and types of the parameters are the manifest's; this checks addresses against types, holes and writes.
/// Errors "modbus.address", "modbus.type", "modbus.hole", "modbus.notWritable" name device and point.
Result<ChannelConfig> parseConfig(const QJsonObject &channelParams, const QList<DeviceBinding> &devices);

} // namespace gridloom::modbus
