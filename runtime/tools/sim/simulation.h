// SPDX-License-Identifier: Apache-2.0
// Simulation: the devices of one scenario, their listeners and their counters. Lives on one thread with an event loop.
#pragma once

#include "core/clock.h"
#include "core/result.h"
#include "tools/sim/counters.h"
#include "tools/sim/poller.h"
#include "tools/sim/simscenario.h"

#include <QByteArray>

#include <memory>
#include <vector>

namespace gridloom {

class Listener;
class SimDevice;
class SiteModel;

class Simulation {
public:
    /// The clock outlives the simulation.
    Simulation(SimScenario scenario, const Clock &clock);
    ~Simulation();

    /// Reads the profiles when the scenario has a site, and opens all listeners. Errors "sim.profile", "sim.listen".
    Result<void> start(const QString &profileFolder);

    /// {"devices":{"meter1":15021}} after start().
    QByteArray portMap() const;
    /// The counters as one JSON line without the line end (docs/simulator.md, "Counters").
    QByteArray report() const;
    /// Lets the site run on to the present when nobody reads it, so that it never has much to make up for.
    void advance();

private:
    struct Device;

    Result<void> makeSite(const QString &profileFolder);
    std::unique_ptr<SimDevice> makeDevice(const DeviceScenario &device, int bulkIndex);
    Result<void> openListeners();

    SimScenario m_scenario;
    const Clock &m_clock;
    Poller m_poller;
    WireCounters m_wire;
    std::unique_ptr<SiteModel> m_site;
    std::vector<Device> m_devices; ///< as in the scenario
    std::vector<std::unique_ptr<Listener>> m_listeners;
};

} // namespace gridloom
