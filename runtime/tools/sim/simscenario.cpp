// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/simscenario.h"

#include "core/design/jsontext.h"
#include "core/design/objectreader.h"
#include "tools/sim/bulklayout.h"

#include <QHash>
#include <QJsonArray>
#include <QSet>
#include <QStringList>

#include <algorithm>
#include <utility>

namespace gridloom {

namespace {

constexpr qsizetype kMostDevices = 1000;
constexpr double kMostKw = 500; // registers of 16 bits hold no more, see docs/simulator.md
constexpr double kMostKwh = 1'000'000;
constexpr char kOutOfRange[] = "sim.outOfRange";
constexpr char kUnknown[] = "sim.unknown";
constexpr char kDuplicate[] = "sim.duplicate";

constexpr Choice<DeviceType> kDeviceTypes[] = {
    {u"gridMeter", DeviceType::GridMeter}, {u"pvInverter", DeviceType::PvInverter},
    {u"battery", DeviceType::Battery},     {u"evCharger", DeviceType::EvCharger},
    {u"bulk", DeviceType::Bulk},           {u"wide", DeviceType::Wide}};

double bounded(ObjectReader &reader, QStringView key, double min, double max, double byDefault)
{
    const double value = reader.number(key, byDefault);
    if (value >= min && value <= max)
        return value;
    reader.fault(key, kOutOfRange, QStringLiteral("%1 is not within %2 to %3").arg(value).arg(min).arg(max, 0, 'f', 0));
    return byDefault;
}

QDateTime startOf(ObjectReader &reader, const QTimeZone &zone)
{
    const QString text = reader.text(u"startOfDay", QString());
    if (text.isEmpty())
        return {};
    const QDateTime local = QDateTime::fromString(text, Qt::ISODate);
    QDateTime start(local.date(), local.time(), zone);
    if (!local.isValid() || !start.isValid())
        reader.fault(u"startOfDay", kUnknown,
                     QStringLiteral("\"%1\" is no local date and time; write it like 2026-01-15T06:00").arg(text));
    return start;
}

SiteScenario readSite(ObjectReader &reader)
{
    SiteScenario site;
    const QString zone = reader.text(u"zone", QStringLiteral("UTC"));
    if (const QTimeZone known(zone.toUtf8()); known.isValid())
        site.zone = known;
    else
        reader.fault(u"zone", kUnknown,
                     QStringLiteral("\"%1\" is no IANA zone; write one like \"Europe/Vienna\"").arg(zone));
    site.start = startOf(reader, site.zone);
    site.profile = reader.text(u"profile", site.profile);
    site.loadKwhPerYear = bounded(reader, u"loadKwhPerYear", 0, 100'000'000, 0);
    site.machineKw = bounded(reader, u"machineKw", 0, 10'000, 0);
    site.seed = static_cast<std::uint64_t>(reader.integer(u"seed", 0, std::int64_t{1} << 40, 1));
    reader.finish();
    return site;
}

void readOwnKeys(ObjectReader &reader, DeviceScenario &device)
{
    switch (device.type) {
    case DeviceType::GridMeter: break;
    case DeviceType::PvInverter:
        device.ratedKw = bounded(reader, u"ratedKw", 0.1, kMostKw, 10);
        device.peakKw = bounded(reader, u"peakKw", 0.1, 2 * kMostKw, device.ratedKw);
        break;
    case DeviceType::Battery:
        device.ratedKw = bounded(reader, u"ratedKw", 0.1, kMostKw, 5);
        device.capacityKwh = bounded(reader, u"capacityKwh", 0.1, kMostKwh, 10);
        device.socPercent = bounded(reader, u"socPercent", 0, 100, 50);
        device.safeAfterS = bounded(reader, u"safeAfterS", 1, 86'400, 60);
        break;
    case DeviceType::EvCharger: device.maxA = bounded(reader, u"maxA", 6, 63, 32); break;
    case DeviceType::Bulk:
        device.setpoints = static_cast<int>(reader.integer(u"setpoints", 0, 1000, 16));
        device.changeEvery = std::chrono::milliseconds(reader.integer(u"changeEveryMs", 10, 3'600'000, 1000));
        break;
    case DeviceType::Wide:
        device.values = static_cast<int>(reader.integer(u"values", 1, kMostWideValues));
        device.setpoints = static_cast<int>(reader.integer(u"setpoints", 0, 1000, 1));
        device.changeEvery = std::chrono::milliseconds(reader.integer(u"changeEveryMs", 10, 3'600'000, 1000));
        break;
    }
}

DeviceScenario readDevice(ObjectReader &reader, const QHash<QString, std::size_t> &earlier)
{
    DeviceScenario device;
    device.id = reader.id(u"id");
    device.type = reader.choice(u"type", kDeviceTypes);
    device.unit = static_cast<int>(reader.integer(u"unit", 1, 247, 1));
    if (reader.has(u"portOf")) {
        const QString other = reader.text(u"portOf");
        if (const auto found = earlier.find(other); found != earlier.end())
            device.portOf = *found;
        else
            reader.fault(u"portOf", kUnknown, QStringLiteral("no device \"%1\" stands before this one").arg(other));
        reader.refuse(u"port", QStringLiteral("the port is that of \"%1\"; leave out one of the two keys").arg(other));
    } else {
        device.port = static_cast<quint16>(reader.integer(u"port", 0, 65'535, 0));
    }
    readOwnKeys(reader, device);
    reader.finish();
    return device;
}

/// Who shares a listener: the first device of a portOf chain, or a fixed port.
QString listenerOf(const SimScenario &scenario, std::size_t index)
{
    while (scenario.devices[index].portOf)
        index = *scenario.devices[index].portOf;
    const DeviceScenario &first = scenario.devices[index];
    return first.port != 0 ? QString::number(first.port) : QStringLiteral("free %1").arg(index);
}

void readDevices(ObjectReader &reader, SimScenario &scenario)
{
    QHash<QString, std::size_t> earlier;
    QSet<std::pair<QString, int>> addresses;
    bool hasMeter = false;
    if (const QJsonValue list = reader.any(u"devices"); list.isArray() && list.toArray().isEmpty())
        reader.fault(u"devices", kUnknown, QStringLiteral("a scenario needs at least one device"));
    for (ObjectReader &item : reader.children(u"devices", kMostDevices, true)) {
        scenario.devices.push_back(readDevice(item, earlier));
        const DeviceScenario &device = scenario.devices.back();
        const std::size_t index = scenario.devices.size() - 1;
        if (earlier.contains(device.id))
            item.fault(u"id", kDuplicate, QStringLiteral("another device has the id \"%1\"").arg(device.id));
        earlier.insert(device.id, index);
        const std::pair address(listenerOf(scenario, index), device.unit);
        if (addresses.contains(address))
            item.fault(u"unit", kDuplicate, QStringLiteral("another device of this port has unit %1").arg(device.unit));
        addresses.insert(address);
        if (device.type == DeviceType::GridMeter && std::exchange(hasMeter, true))
            item.fault(u"type", kDuplicate, QStringLiteral("a site has one grid meter"));
    }
}

} // namespace

bool SimScenario::hasSite() const
{
    return std::any_of(devices.begin(), devices.end(),
                       [](const auto &d) { return d.type != DeviceType::Bulk && d.type != DeviceType::Wide; });
}

Result<SimScenario> parseSimScenario(const QByteArray &json, const QString &path)
{
    SimScenario scenario;
    FaultList faults;
    if (const auto object = readJsonText(json, path, faults)) {
        ObjectReader reader(*object, path, QString(), faults);
        if (auto site = reader.child(u"site"))
            scenario.site = readSite(*site);
        readDevices(reader, scenario);
        reader.finish();
    }
    if (faults.isEmpty())
        return scenario;
    QStringList lines;
    for (const DesignFault &fault : faults.take())
        lines.append(fault.text());
    return Error{QStringLiteral("sim.scenario"), lines.join(QLatin1Char('\n'))};
}

} // namespace gridloom
