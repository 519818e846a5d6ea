// SPDX-License-Identifier: Apache-2.0
// IoThread: the thread of all drivers, with one event loop and one timer for the polls of every channel. Its public
// functions are called from the engine's thread or from the thread that built it, never from the io thread itself.
#pragma once

#include "core/boundedqueue.h"
#include "engine/driverrunner.h"
#include "engine/eventloopwakeup.h"
#include "sdk/deadlinetimer.h"

#include <QThread>
#include <QTimer>

#include <memory>
#include <unordered_map>
#include <vector>

namespace gridloom {

class PluginHost;

class IoThread {
public:
    /// Builds one runner per enabled channel of the design. `design`, `inbox` and `clock` outlive it.
    IoThread(const Design &design, EngineInbox &inbox, const Clock &clock);
    ~IoThread();

    /// Starts the thread, opens and starts the drivers. The texts of what could not be opened; the rest runs.
    QList<Error> start(const PluginHost &plugins);
    /// Control goes ahead of telemetry: the loop takes writes first when it wakes.
    void write(const WriteRequest &request);
    /// No further polls; what is asked for is still answered.
    void stopPolling();
    /// Ends every open poll and write, closes all channels, ends the thread. Idempotent.
    void stop();

    const std::vector<std::unique_ptr<DriverRunner>> &runners() const { return m_runners; }
    const auto &queue() const { return m_tasks; }
    /// Of all channels together.
    DriverStatistics statistics() const;

private:
    void runQueued();
    void pollDue();
    void arm(std::optional<SteadyTime> due);

    struct StopPolling {};
    using Task = std::variant<WriteRequest, StopPolling>;
    EngineInbox &m_inbox;
    const Clock &m_clock;
    QThread m_thread;
    std::vector<std::unique_ptr<DriverRunner>> m_runners;
    std::unordered_map<PointHandle, DriverRunner *> m_runnerOf; ///< writable points
    BoundedQueue<Task> m_tasks{4096};
    std::vector<Task> m_taken;
    std::unique_ptr<EventLoopWakeUp> m_wakeUp;
    // Created and destroyed in the thread.
    std::unique_ptr<DeadlineTimer> m_pollTimer;
    std::unique_ptr<QTimer> m_statisticsTimer;
};

} // namespace gridloom
