// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <QJsonArray>

#include <algorithm>

namespace gridloom::modbus {

namespace {

using std::chrono::milliseconds;

Error at(const DeviceBinding &device, const Point &point, Error error)
{
    error.message = QStringLiteral("%1.%2: %3").arg(device.name, point.name, error.message);
    return error;
}

Result<PointConfig> parsePoint(const Point &point)
{
    const int width = registerCount(point.format.type);
    const auto address = parseAddress(point.address, width);
    if (!address)
        return address.error();
    const auto table = address.value().table;
    const bool isBool = point.format.type == RegisterType::Bool;
    if (isBitTable(table) && !isBool)
        return Error{QStringLiteral("modbus.type"),
                     QStringLiteral("%1 is one bit; set its type to bool.").arg(point.address), false};
    if (point.write && (table == Table::Input || table == Table::Discrete))
        return Error{QStringLiteral("modbus.notWritable"),
                     QStringLiteral("%1 can only be read; write to a holding register or a coil.").arg(point.address),
                     false};
    // Writing one bit would need a read first and could undo what the device changed in between.
    if (point.write && table == Table::Holding && isBool)
        return Error{
            QStringLiteral("modbus.notWritable"),
            QStringLiteral("One bit of %1 cannot be written; use a coil, or write the whole register as uint16.")
                .arg(point.address),
            false};
    return PointConfig{&point, address.value(), width};
}

Result<std::vector<AddressRange>> parseHoles(const QJsonValue &list)
{
    std::vector<AddressRange> holes;
    for (const auto &text : list.toArray()) {
        const auto hole = parseRange(text.toString());
        if (!hole)
            return hole.error();
        holes.push_back(hole.value());
    }
    return holes;
}

bool touchesHole(const PointConfig &point, const std::vector<AddressRange> &holes)
{
    return std::any_of(holes.begin(), holes.end(), [&](const AddressRange &hole) {
        return hole.table == point.address.table && point.address.offset < hole.end
            && point.address.offset + point.width > hole.first;
    });
}

Result<UnitConfig> parseUnit(const DeviceBinding &device, int defaultTimeoutMs)
{
    const auto &params = device.params;
    UnitConfig unit;
    unit.name = device.name;
    unit.unit = static_cast<std::uint8_t>(params[QLatin1String("unit")].toInt(unit.unit));
    unit.timeout = milliseconds(params[QLatin1String("timeoutMs")].toInt(defaultTimeoutMs));
    unit.maxGap = params[QLatin1String("maxGap")].toInt(unit.maxGap);
    unit.maxRegisters = params[QLatin1String("maxRegisters")].toInt(unit.maxRegisters);
    unit.failuresToOffScan = params[QLatin1String("failuresToOffScan")].toInt(unit.failuresToOffScan);
    unit.ignoresTransactionId = params[QLatin1String("ignoreTransactionId")].toBool();
    auto holes = parseHoles(params[QLatin1String("holes")]);
    if (!holes)
        return Error{holes.error().code, QStringLiteral("%1, holes: %2").arg(device.name, holes.error().message),
                     false};
    unit.holes = std::move(holes).value();
    for (const auto *point : device.points) {
        const auto parsed = parsePoint(*point);
        if (!parsed)
            return at(device, *point, parsed.error());
        if (touchesHole(parsed.value(), unit.holes))
            return at(
                device, *point,
                {QStringLiteral("modbus.hole"),
                 QStringLiteral("%1 lies in a hole of the device; remove the point or the hole.").arg(point->address),
                 false});
        unit.points.push_back(parsed.value());
    }
    return unit;
}

} // namespace

Result<ChannelConfig> parseConfig(const QJsonObject &channelParams, const QList<DeviceBinding> &devices)
{
    ChannelConfig config;
    config.host = channelParams[QLatin1String("host")].toString();
    config.port = static_cast<std::uint16_t>(channelParams[QLatin1String("port")].toInt(config.port));
    config.connectTimeout = milliseconds(channelParams[QLatin1String("connectTimeoutMs")].toInt(2'000));
    config.delay = milliseconds(channelParams[QLatin1String("delayMs")].toInt(0));
    config.maxInFlight = channelParams[QLatin1String("maxInFlight")].toInt(config.maxInFlight);
    const int timeoutMs = channelParams[QLatin1String("timeoutMs")].toInt(1'000);
    for (const auto &device : devices) {
        auto unit = parseUnit(device, timeoutMs);
        if (!unit)
            return unit.error();
        // Without transaction ids an answer belongs to the one request on its way.
        if (unit.value().ignoresTransactionId)
            config.maxInFlight = 1;
        config.units.push_back(std::move(unit).value());
    }
    return config;
}

} // namespace gridloom::modbus
