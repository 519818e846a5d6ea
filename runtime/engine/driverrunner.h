// SPDX-License-Identifier: Apache-2.0
// DriverRunner: one channel at run time. It owns the due times of the channel's points and hands writes to the driver;
// the driver owns its transactions. Lives on an io thread; offered() and dropped() may be read from any thread.
#pragma once

#include "engine/events.h"
#include "engine/schedule.h"
#include "sdk/driver.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace gridloom {

class DriverRunner final : public DriverHost {
public:
    /// `devices` are those of the channel in the design. `inbox` and `clock` outlive the runner.
    DriverRunner(const Channel &channel, std::vector<const Device *> devices, EngineInbox &inbox, const Clock &clock);
    ~DriverRunner() override;

    /// Creates and configures the driver; no I/O. On an error every point of the channel is answered bad at each poll.
    Result<void> open(DriverFactory &factory);
    void start();
    /// Polls what is due and answers when it must be called again; nothing when polling has stopped.
    std::optional<SteadyTime> poll(SteadyTime now);
    void write(const WriteRequest &request);
    /// No further poll; writes go on.
    void stopPolling() { m_isPolling = false; }
    void stop();
    /// Destroys the driver, in its thread, after stop().
    void release() { m_driver.reset(); }
    /// Copies the driver's counters to where statistics() reads them.
    void publishStatistics();

    const QString &driverId() const { return m_channel.driver; }
    /// Points that fell due since start, and answers the engine's full inbox refused.
    std::uint64_t offered() const { return m_offered.load(std::memory_order_acquire); }
    std::uint64_t dropped() const { return m_dropped.load(std::memory_order_acquire); }
    /// Poll dues that passed while the io thread was late, in points; they are part of offered().
    std::uint64_t missed() const { return m_missed.load(std::memory_order_acquire); }
    DriverStatistics statistics() const;

    void publish(std::span<const Sample> batch) override;
    void deviceHealthChanged(DeviceHandle device, LinkHealth health, const Error &why) override;
    void writeFinished(WriteId id, const WriteResult &result) override;

private:
    struct PollGroup {
        Nanoseconds period{};
        Nanoseconds phase{};
        std::vector<PointHandle> points;
    };
    void buildGroups();
    void answerWithoutDriver(std::span<const PointHandle> due);

    const Channel &m_channel;
    std::vector<const Device *> m_devices;
    BufferPool<Sample> m_buffers;
    EngineInbox &m_inbox;
    const Clock &m_clock;
    std::unique_ptr<Driver> m_driver;
    std::vector<PollGroup> m_groups;
    Schedule<std::size_t> m_schedule; ///< of indices of m_groups
    bool m_isPolling = false;
    std::size_t m_asked = 0; ///< points polled and not answered yet
    PointHandle m_firstPoint = kNoPoint, m_lastPoint = 0;
    std::atomic<std::uint64_t> m_offered{0};
    std::atomic<std::uint64_t> m_dropped{0};
    std::atomic<std::uint64_t> m_missed{0};
    mutable std::mutex m_statisticsMutex;
    DriverStatistics m_statistics;
};

} // namespace gridloom
