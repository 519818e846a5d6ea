// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/simulation.h"

#include "core/json.h"
#include "tools/sim/batterydevice.h"
#include "tools/sim/bulkdevice.h"
#include "tools/sim/evdevice.h"
#include "tools/sim/listener.h"
#include "tools/sim/meterdevice.h"
#include "tools/sim/pvdevice.h"
#include "tools/sim/widedevice.h"

#include <QFile>

namespace gridloom {

struct Simulation::Device {
    std::unique_ptr<SimDevice> device;
    DeviceCounters counters;
    Listener *listener = nullptr;
};

namespace {

constexpr double kWattsPerKw = 1000;

Result<QByteArray> readProfile(const QString &path)
{
    QFile file(path);
    if (file.open(QIODevice::ReadOnly))
        return file.readAll();
    return Error{QStringLiteral("sim.profile"),
                 QStringLiteral("%1 cannot be read: %2; name the folder of the profiles with --profiles")
                     .arg(path, file.errorString())};
}

std::string_view tableName(RegisterTable table)
{
    switch (table) {
    case RegisterTable::Coils: return "coil";
    case RegisterTable::DiscreteInputs: return "discrete";
    case RegisterTable::Holding: return "holding";
    case RegisterTable::Inputs: return "input";
    }
    return "";
}

void writeRegisterWrites(JsonWriter &w, const RegisterMap &map)
{
    w.beginObject();
    for (const RegisterMap::Entry &entry : map.entries())
        if (entry.writes > 0)
            w.key(std::string(tableName(entry.table)) + ':' + std::to_string(entry.address))
                .unsignedInteger(entry.writes);
    w.endObject();
}

} // namespace

Simulation::Simulation(SimScenario scenario, const Clock &clock) : m_scenario(std::move(scenario)), m_clock(clock) {}

Simulation::~Simulation() = default;

Result<void> Simulation::start(const QString &profileFolder)
{
    if (m_scenario.hasSite())
        if (auto made = makeSite(profileFolder); !made)
            return made;
    int bulkDevices = 0;
    for (const DeviceScenario &device : m_scenario.devices) {
        m_devices.push_back({makeDevice(device, bulkDevices), {}, nullptr});
        bulkDevices += device.type == DeviceType::Bulk;
    }
    return openListeners();
}

Result<void> Simulation::makeSite(const QString &profileFolder)
{
    const auto loads = readProfile(profileFolder + QLatin1String("/load_profiles_15min.csv"));
    if (!loads)
        return loads.error();
    const auto solar = readProfile(profileFolder + QLatin1String("/solar_day_5min.csv"));
    if (!solar)
        return solar.error();
    const SiteScenario &site = m_scenario.site;
    const auto profile = LoadProfile::parse(loads.value(), site.profile);
    if (!profile)
        return profile.error();
    const auto solarDay = SolarDay::parse(solar.value());
    if (!solarDay)
        return solarDay.error();
    const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(m_clock.wallNow().time_since_epoch());
    const SiteModel::Settings settings{
        site.zone, site.start.isValid() ? site.start : QDateTime::fromMSecsSinceEpoch(wall.count(), Qt::UTC),
        site.loadKwhPerYear, site.machineKw * kWattsPerKw, site.seed};
    m_site = std::make_unique<SiteModel>(settings, profile.value(), solarDay.value(), m_clock.steadyNow());
    return {};
}

std::unique_ptr<SimDevice> Simulation::makeDevice(const DeviceScenario &device, int bulkIndex)
{
    switch (device.type) {
    case DeviceType::GridMeter: return std::make_unique<MeterDevice>(*m_site);
    case DeviceType::PvInverter:
        return std::make_unique<PvDevice>(*m_site,
                                          m_site->addPv(device.ratedKw * kWattsPerKw, device.peakKw * kWattsPerKw));
    case DeviceType::Battery:
        return std::make_unique<BatteryDevice>(
            *m_site,
            m_site->addBattery({device.capacityKwh * kWattsPerKw, device.ratedKw * kWattsPerKw, device.socPercent,
                                device.safeAfterS}));
    case DeviceType::EvCharger: return std::make_unique<EvDevice>(*m_site, m_site->addEv(device.maxA));
    case DeviceType::Wide: return std::make_unique<WideDevice>(device.values, device.setpoints, device.changeEvery);
    case DeviceType::Bulk: break;
    }
    return std::make_unique<BulkDevice>(bulkIndex, device.setpoints, device.changeEvery);
}

Result<void> Simulation::openListeners()
{
    std::vector<quint16> ports; // asked for, by listener
    for (std::size_t i = 0; i < m_devices.size(); ++i) {
        const DeviceScenario &scenario = m_scenario.devices[i];
        const auto shared = std::find(ports.begin(), ports.end(), scenario.port);
        if (scenario.portOf) {
            m_devices[i].listener = m_devices[*scenario.portOf].listener;
        } else if (scenario.port != 0 && shared != ports.end()) {
            m_devices[i].listener = m_listeners[static_cast<std::size_t>(shared - ports.begin())].get();
        } else {
            m_listeners.push_back(std::make_unique<Listener>(m_poller, m_clock, m_wire));
            ports.push_back(scenario.port);
            m_devices[i].listener = m_listeners.back().get();
        }
        m_devices[i].listener->addUnit(scenario.unit, *m_devices[i].device, m_devices[i].counters);
    }
    for (std::size_t i = 0; i < m_listeners.size(); ++i)
        if (auto opened = m_listeners[i]->open(ports[i]); !opened)
            return opened;
    return {};
}

QByteArray Simulation::portMap() const
{
    JsonWriter w;
    w.beginObject().key("devices").beginObject();
    for (std::size_t i = 0; i < m_devices.size(); ++i)
        w.key(m_scenario.devices[i].id.toStdString()).integer(m_devices[i].listener->port());
    return w.endObject().endObject().take();
}

QByteArray Simulation::report() const
{
    DeviceCounters all;
    for (const Device &device : m_devices) {
        all.reads += device.counters.reads;
        all.writes += device.counters.writes;
    }
    JsonWriter w;
    w.beginObject().key("reads").unsignedInteger(all.reads).key("writes").unsignedInteger(all.writes);
    w.key("badRequests").unsignedInteger(m_wire.badRequests).key("badFrames").unsignedInteger(m_wire.badFrames);
    w.key("connections").integer(m_wire.connections).key("devices").beginObject();
    for (std::size_t i = 0; i < m_devices.size(); ++i) {
        w.key(m_scenario.devices[i].id.toStdString()).beginObject();
        w.key("reads").unsignedInteger(m_devices[i].counters.reads);
        w.key("writes").unsignedInteger(m_devices[i].counters.writes);
        m_devices[i].device->describe(w);
        w.endObject();
    }
    w.endObject().key("registerWrites").beginObject();
    for (std::size_t i = 0; i < m_devices.size(); ++i) {
        w.key(m_scenario.devices[i].id.toStdString());
        writeRegisterWrites(w, m_devices[i].device->registers());
    }
    return w.endObject().endObject().take();
}

void Simulation::advance()
{
    if (m_site)
        m_site->advanceTo(m_clock.steadyNow());
}

} // namespace gridloom
