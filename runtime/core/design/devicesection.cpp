// SPDX-License-Identifier: Apache-2.0
// devices/ID.json: devices and their points.
#include "core/design/nearestname.h"
#include "core/design/sections.h"

#include <QJsonArray>

namespace gridloom {

namespace {

constexpr qsizetype kMostPoints = 200'000;
constexpr qsizetype kLongestExpression = 4'096;

constexpr Choice<PointKind> kKinds[] = {{u"measured", PointKind::Measured}, {u"setpoint", PointKind::Setpoint},
                                        {u"status", PointKind::Status},     {u"command", PointKind::Command},
                                        {u"counter", PointKind::Counter},   {u"computed", PointKind::Computed}};

constexpr Choice<RegisterType> kTypes[] = {
    {u"bool", RegisterType::Bool},     {u"int16", RegisterType::Int16},     {u"uint16", RegisterType::UInt16},
    {u"int32", RegisterType::Int32},   {u"uint32", RegisterType::UInt32},   {u"int64", RegisterType::Int64},
    {u"uint64", RegisterType::UInt64}, {u"float32", RegisterType::Float32}, {u"float64", RegisterType::Float64}};

ByteOrder readOrder(ObjectReader &reader, RegisterType type)
{
    const QString name = reader.text(u"order", QString());
    if (!reader.has(u"order"))
        return ByteOrder::BigEndian;
    const auto order = byteOrderFromName(name, type);
    if (!order) {
        const QString allowed = registerCount(type) == 1 ? QStringLiteral("AB or BA")
            : registerCount(type) == 2                   ? QStringLiteral("ABCD, CDAB, BADC or DCBA")
                                                         : QStringLiteral("ABCDEFGH, GHEFCDAB, BADCFEHG or HGFEDCBA");
        reader.fault(u"order", "design.unknownWord",
                     QStringLiteral("%1 is no byte order of this type; use %2").arg(describe(name), allowed));
    }
    return order.value_or(ByteOrder::BigEndian);
}

RegisterFormat readFormat(ObjectReader &reader)
{
    RegisterFormat format;
    format.type = reader.choice(u"type", kTypes, std::optional(RegisterType::UInt16));
    format.order = readOrder(reader, format.type);
    const bool isBool = format.type == RegisterType::Bool;
    if (isBool) {
        reader.refuse(u"scale", QStringLiteral("means nothing for a bool"));
        reader.refuse(u"offset", QStringLiteral("means nothing for a bool"));
        format.bit = static_cast<int>(reader.integer(u"bit", 0, 15, 0));
        return format;
    }
    reader.refuse(u"bit", QStringLiteral("picks one bit and so needs the type bool"));
    format.scale = reader.number(u"scale", 1.0);
    format.offset = reader.number(u"offset", 0.0);
    if (format.scale == 0.0)
        reader.fault(u"scale", "design.outOfRange", QStringLiteral("a scale of 0 makes every value 0; use 1 for none"));
    return format;
}

WritePolicy readWrite(ObjectReader &write)
{
    WritePolicy policy;
    policy.min = write.optionalNumber(u"min");
    policy.max = write.optionalNumber(u"max");
    if (policy.min && policy.max && *policy.min > *policy.max)
        write.fault(u"min", "design.outOfRange",
                    QStringLiteral("min %1 is above max %2; exchange them").arg(*policy.min).arg(*policy.max));
    policy.rampPerS = write.optionalNumber(u"rampPerS");
    if (policy.rampPerS && *policy.rampPerS <= 0)
        write.fault(u"rampPerS", "design.outOfRange",
                    QStringLiteral("a ramp of %1 never gets anywhere; choose more than 0 or leave it out")
                        .arg(*policy.rampPerS));
    policy.minInterval = write.duration(u"minIntervalMs", Milliseconds(0), policy.minInterval);
    policy.ifDifferent = write.boolean(u"ifDifferent", policy.ifDifferent);
    policy.verify = write.boolean(u"verify", policy.verify);
    policy.deadline = write.duration(u"deadlineMs", kShortestPeriod, policy.deadline);
    write.finish();
    return policy;
}

void readComputed(DesignScope &scope, ObjectReader &reader, Point &point)
{
    for (const QStringView key : {u"address", u"type", u"order", u"scale", u"offset", u"bit", u"periodMs", u"write"})
        reader.refuse(key, QStringLiteral("means nothing for a computed point, which follows its inputs"));
    point.expression = reader.text(u"expression", kLongestExpression);
    if (!point.expression.isEmpty())
        scope.checkLua(point.expression, true, reader.path(), reader.pointerOf(u"expression"));
}

void readAcquired(DesignScope &scope, ObjectReader &reader, Point &point, const QString &driver)
{
    reader.refuse(u"expression", QStringLiteral("belongs to points of the kind computed"));
    point.address = reader.text(u"address");
    if (!point.address.isEmpty() && !driver.isEmpty() && !scope.plugins.isAddress(driver, point.address))
        reader.fault(u"address", "design.badAddress",
                     QStringLiteral("%1 is no address of the driver \"%2\"; its form is %3")
                         .arg(describe(point.address), driver, scope.plugins.addressPattern(driver)));
    point.format = readFormat(reader);
    point.period = reader.duration(u"periodMs", kShortestPeriod, point.period);
    if (point.kind != PointKind::Setpoint && point.kind != PointKind::Command) {
        reader.refuse(u"write", QStringLiteral("belongs to points of the kind setpoint or command"));
        return;
    }
    const QJsonObject *manifest = scope.plugins.find(QStringLiteral("driver"), driver);
    if (manifest && manifest->contains(u"capabilities")
        && !manifest->value(u"capabilities").toArray().contains(QLatin1String("write")))
        reader.fault(u"kind", "design.notAllowed",
                     QStringLiteral("the driver \"%1\" only reads; make it measured, status or counter").arg(driver));
    if (auto write = reader.child(u"write")) {
        point.write = readWrite(*write);
    } else if (!reader.has(u"write")) {
        reader.fault(u"write", "design.missing",
                     QStringLiteral("\"write\" is missing; a setpoint or command needs its write rules, at least {}"));
    }
}

Point readPoint(DesignScope &scope, ObjectReader &reader, const StoragePolicy &inherited, const Device &device,
                const QString &driver)
{
    Point point;
    point.id = reader.id(u"id");
    point.name = reader.name(u"name");
    if (point.name == point.id)
        point.name = point.id; // one text in memory
    point.kind = reader.choice(u"kind", kKinds);
    point.unit = reader.text(u"unit", QString(), 32);
    point.storage = readStorage(reader, inherited);
    if (point.kind == PointKind::Computed) {
        readComputed(scope, reader, point);
    } else {
        readAcquired(scope, reader, point, driver);
        if (device.channel.isEmpty())
            reader.fault(
                u"kind", "design.notAllowed",
                QStringLiteral("a device without a channel has computed points only; give the device a channel"));
    }
    reader.finish();
    return point;
}

/// The driver of the device's channel; empty when there is none or it is not known.
QString readChannelOf(DesignScope &scope, ObjectReader &reader, Device &device)
{
    device.channel = reader.text(u"channel", QString());
    if (device.channel.isEmpty())
        return {};
    const auto channel = scope.design.channels.find(device.channel);
    if (channel != scope.design.channels.end())
        return channel->second.driver;
    const auto &files = scope.files.in(DesignFolder::Channels);
    if (files.count(device.channel) > 0)
        return {}; // it is there, but unreadable: a fault of its own
    QStringList known;
    for (const auto &[id, part] : files)
        known.append(id);
    reader.fault(u"channel", "design.unknownChannel",
                 QStringLiteral("there is no channel %1%2; add channels/%3.json or name another")
                     .arg(describe(device.channel), suggestion(device.channel, known), device.channel));
    return {};
}

} // namespace

void readDevices(DesignScope &scope)
{
    qsizetype total = 0;
    for (const auto &[id, part] : scope.files.in(DesignFolder::Devices))
        if (!part.isReadable)
            scope.points.addUnreadable(id);
    const auto read = [&](ObjectReader &reader, const QString &id, const QString &name) {
        Device device;
        device.id = id;
        device.name = name;
        const QString driver = readChannelOf(scope, reader, device);
        const QJsonObject *manifest = driver.isEmpty() ? nullptr : scope.plugins.find(QStringLiteral("driver"), driver);
        device.params = PluginCatalog::params(reader, u"params", manifest, QStringLiteral("deviceParams"));
        const StoragePolicy storage = readStorage(reader, scope.design.storage);
        UniqueWords ids("design.duplicateId");
        UniqueWords names("design.duplicateName");
        std::vector<ObjectReader> pointReaders = reader.children(u"points", kMostPoints, true);
        device.points.reserve(static_cast<qsizetype>(pointReaders.size()));
        for (ObjectReader &pointReader : pointReaders) {
            device.points.append(readPoint(scope, pointReader, storage, device, driver));
            ids.add(pointReader, u"id", device.points.constLast().id);
            names.add(pointReader, u"name", device.points.constLast().name);
        }
        const bool wasBelow = total <= kMostPoints;
        total += device.points.size();
        if (wasBelow && total > kMostPoints)
            reader.fault(
                u"points", "design.tooMany",
                QStringLiteral("with this device the design has more than %1 points; remove some").arg(kMostPoints));
        scope.design.devices.emplace(id, std::move(device));
    };
    scope.forEachPart(DesignFolder::Devices, scope.ownerNames, read);
}

} // namespace gridloom
