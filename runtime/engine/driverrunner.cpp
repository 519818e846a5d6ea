// SPDX-License-Identifier: Apache-2.0
#include "engine/driverrunner.h"

#include <QLoggingCategory>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcDriver, "gridloom.driver")
}

DriverRunner::DriverRunner(const Channel &channel, std::vector<const Device *> devices, EngineInbox &inbox,
                           const Clock &clock)
    : m_channel(channel), m_devices(std::move(devices)), m_inbox(inbox), m_clock(clock)
{
    buildGroups();
}

DriverRunner::~DriverRunner()
{
    stop();
}

// Points of one device with one period are polled together. Each channel starts at another point of the first 40 %
// of the period, so that reads spread out and the second half of each period is free of poll dues.
void DriverRunner::buildGroups()
{
    const double spread = 0.4 * static_cast<double>(qHash(m_channel.id) % 1024U) / 1024.0;
    for (const Device *device : m_devices) {
        std::map<Nanoseconds, PollGroup> byPeriod;
        for (const Point &point : device->points) {
            if (point.kind == PointKind::Computed)
                continue;
            PollGroup &group = byPeriod[point.period];
            group.period = point.period;
            group.phase = Nanoseconds(
                static_cast<Nanoseconds::rep>(spread * static_cast<double>(Nanoseconds(point.period).count())));
            group.points.push_back(point.handle);
            m_firstPoint = std::min(m_firstPoint, point.handle);
            m_lastPoint = std::max(m_lastPoint, point.handle);
        }
        for (auto &[period, group] : byPeriod)
            m_groups.push_back(std::move(group));
    }
}

Result<void> DriverRunner::open(DriverFactory &factory)
{
    m_driver = factory.createDriver(*this, m_clock);
    QList<DeviceBinding> bindings;
    for (const Device *device : m_devices) {
        DeviceBinding binding{device->id, device->name, device->params, {}};
        for (const Point &point : device->points)
            if (point.kind != PointKind::Computed)
                binding.points.append(&point);
        bindings.append(binding);
    }
    const Result<void> configured = m_driver->configure(m_channel.params, bindings);
    if (!configured)
        m_driver.reset();
    return configured;
}

void DriverRunner::start()
{
    if (m_driver)
        m_driver->start();
    m_isPolling = true;
    const SteadyTime now = m_clock.steadyNow();
    for (std::size_t i = 0; i < m_groups.size(); ++i)
        m_schedule.add(nextOnGrid(now, m_groups[i].period, m_groups[i].phase), i);
}

std::optional<SteadyTime> DriverRunner::poll(SteadyTime now)
{
    if (!m_isPolling)
        return std::nullopt;
    while (const auto item = m_schedule.take(now)) {
        const auto &[due, index] = *item;
        const PollGroup &group = m_groups[index];
        const SteadyTime next = nextOnGrid(now, group.period, group.phase);
        const auto missed = static_cast<std::uint64_t>((next - due) / group.period - 1) * group.points.size();
        // In this order, and read in the other one: what is missed is never seen before it is offered.
        m_offered.fetch_add(group.points.size() + missed, std::memory_order_release);
        m_missed.fetch_add(missed, std::memory_order_release);
        m_schedule.add(next, index);
        m_asked += group.points.size();
        if (m_driver)
            m_driver->poll(group.points);
        else
            answerWithoutDriver(group.points);
    }
    return m_schedule.next();
}

void DriverRunner::answerWithoutDriver(std::span<const PointHandle> due)
{
    std::vector<Sample> samples;
    samples.reserve(due.size());
    for (const PointHandle point : due)
        samples.push_back({point, Quality::BadConfigurationError, {}, m_clock.wallNow(), m_clock.steadyNow()});
    publish(samples);
}

void DriverRunner::write(const WriteRequest &request)
{
    if (m_driver) {
        m_driver->write(request);
        return;
    }
    writeFinished(request.id,
                  {WriteResult::State::Rejected,
                   {},
                   {QStringLiteral("driver.unavailable"),
                    QStringLiteral("Channel \"%1\" has no working driver.").arg(m_channel.name)}});
}

void DriverRunner::stop()
{
    m_isPolling = false;
    if (m_driver)
        m_driver->stop();
    publishStatistics();
}

void DriverRunner::publishStatistics()
{
    if (!m_driver)
        return;
    const std::lock_guard lock(m_statisticsMutex);
    m_statistics = m_driver->statistics();
}

DriverStatistics DriverRunner::statistics() const
{
    const std::lock_guard lock(m_statisticsMutex);
    return m_statistics;
}

void DriverRunner::publish(std::span<const Sample> batch)
{
    // What was never asked, or is none of this channel's points, would spoil the account or the image.
    const bool isForeign = std::any_of(batch.begin(), batch.end(), [this](const Sample &sample) {
        return sample.point < m_firstPoint || sample.point > m_lastPoint;
    });
    if (batch.size() > m_asked || isForeign) {
        qCCritical(lcDriver).noquote() << "Driver" << m_channel.driver << "of channel" << m_channel.name
                                       << "answered points that it was not asked for; the answer was dropped.";
        return;
    }
    m_asked -= batch.size();
    auto samples = m_buffers.take();
    samples->assign(batch.begin(), batch.end());
    if (!m_inbox.push(SamplesArrived{std::move(samples)}))
        m_dropped.fetch_add(batch.size(), std::memory_order_release);
}

void DriverRunner::deviceHealthChanged(DeviceHandle device, LinkHealth health, const Error &why)
{
    m_inbox.pushAlways(HealthChanged{m_devices[static_cast<std::size_t>(device)]->id, health, why.message});
}

void DriverRunner::writeFinished(WriteId id, const WriteResult &result)
{
    m_inbox.pushAlways(WriteFinished{id, result, m_clock.steadyNow()});
}

} // namespace gridloom
