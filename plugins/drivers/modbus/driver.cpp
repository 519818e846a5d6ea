// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <algorithm>

namespace gridloom::modbus {

namespace {
RealTime realNow()
{
    return std::chrono::steady_clock::now();
}
} // namespace

ModbusDriver::ModbusDriver(DriverHost &host, const Clock &clock)
    : m_host(host), m_clock(clock), m_exchange(m_connection, *this), m_reader(host, clock), m_writer(host, clock),
      m_timer([this] { pump(); })
{
    QObject::connect(&m_connection, &Connection::opened, &m_connection, [this] { onOpened(); });
    QObject::connect(&m_connection, &Connection::frameReceived, &m_connection, [this](const Frame &f) { onFrame(f); });
    QObject::connect(&m_connection, &Connection::lost, &m_connection, [this](const Error &why) { onLost(why); });
}

ModbusDriver::~ModbusDriver()
{
    stop();
}

Result<void> ModbusDriver::configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices)
{
    auto config = parseConfig(channelParams, devices);
    if (!config)
        return config.error();
    m_config = std::move(config).value();
    m_units.clear();
    const bool isSole = m_config.units.size() == 1;
    for (auto &unit : m_config.units)
        m_units.push_back(std::make_unique<Unit>(std::move(unit), static_cast<DeviceHandle>(m_units.size()), isSole));
    m_reported.assign(m_units.size(), {});
    m_reader.configure(m_units);
    m_exchange.configure(m_config.maxInFlight, m_config.delay);
    return {};
}

void ModbusDriver::start()
{
    if (std::exchange(m_isRunning, true))
        return;
    m_connection.open(m_config.host, m_config.port, m_config.connectTimeout);
}

void ModbusDriver::poll(std::span<const PointHandle> due)
{
    m_reader.poll(due, link());
    pump();
}

void ModbusDriver::write(const WriteRequest &request)
{
    if (!m_isRunning) {
        m_host.writeFinished(request.id,
                             {WriteResult::State::Rejected,
                              {},
                              {QStringLiteral("driver.stopped"), QStringLiteral("The channel is stopped."), true}});
        return;
    }
    const auto [unit, point] = m_reader.find(request.point);
    m_writer.write(request, unit, point);
    pump();
}

void ModbusDriver::stop()
{
    if (!std::exchange(m_isRunning, false))
        return;
    m_timer.cancel();
    m_connection.close();
    m_exchange.connectionLost();
    m_reader.abandonAll(Reader::Link::Down);
    m_writer.abandonAll();
}

DriverStatistics ModbusDriver::statistics() const
{
    auto statistics = m_sent;
    statistics.timeouts = m_exchange.timeouts();
    statistics.exceptions = m_exchange.exceptions();
    statistics.droppedFrames = m_exchange.droppedFrames();
    return statistics;
}

Reader::Link ModbusDriver::link() const
{
    if (m_connection.isConnected() || (m_isRunning && m_connection.isConnecting()))
        return Reader::Link::Open;
    return m_isRunning && !m_connection.isDown() ? Reader::Link::Lost : Reader::Link::Down;
}

void ModbusDriver::pump()
{
    if (m_isPumping || !m_isRunning) // a host that writes from within writeFinished() is served by the loop below
        return;
    m_isPumping = true;
    auto now = realNow();
    if (const auto why = m_exchange.expire(now))
        m_connection.drop(*why);
    m_writer.expire(now);
    while (m_exchange.canSend(now)) {
        if (auto job = m_writer.next(now))
            send(std::move(job), now);
        else if (auto readJob = m_reader.next(now))
            send(std::move(readJob), now);
        else
            break;
    }
    m_isPumping = false;
    armTimer(now);
}

bool ModbusDriver::isLoneProbe(Unit &unit) const
{
    return unit.scan().isOffScan()
        && std::any_of(m_units.begin(), m_units.end(), [](const auto &u) { return !u->scan().isOffScan(); });
}

void ModbusDriver::send(std::unique_ptr<ReadJob> job, RealTime now)
{
    auto &unit = *job->unit;
    const auto &plan = job->block->plan;
    ++m_sent.reads;
    m_exchange.send(std::move(job), unit, {readFunction(plan.table), plan.address, plan.count, {}},
                    now + unit.config().timeout, isLoneProbe(unit), now);
}

void ModbusDriver::send(std::unique_ptr<WriteJob> job, RealTime now)
{
    auto &unit = *job->unit;
    ++(job->isReadBack ? m_sent.readBacks : m_sent.writes);
    const auto deadline = std::min(now + unit.config().timeout, job->request.deadline);
    auto request = Writer::requestOf(*job);
    m_exchange.send(std::move(job), unit, std::move(request), deadline, isLoneProbe(unit), now);
}

void ModbusDriver::armTimer(RealTime now)
{
    std::optional<RealTime> due = m_exchange.nextDue(now);
    for (const auto other : {m_reader.nextDue(now), m_writer.nextDue(now)})
        if (other && (!due || *other < *due))
            due = other;
    if (!due || !m_isRunning)
        return m_timer.cancel();
    m_timer.set(*due);
}

void ModbusDriver::finished(Job job, const Outcome &outcome)
{
    Unit *unit = nullptr;
    if (auto *read = std::get_if<std::unique_ptr<ReadJob>>(&job)) {
        unit = (*read)->unit;
        m_reader.finished(std::move(*read), outcome, link());
    } else {
        auto &write = std::get<std::unique_ptr<WriteJob>>(job);
        unit = write->unit;
        m_writer.finished(std::move(write), outcome);
        if (unit->scan().isOffScan())
            m_reader.abandon(*unit);
    }
    if (outcome.kind != Outcome::Kind::ConnectionLost)
        reportUnit(*unit);
}

void ModbusDriver::answeredLate(std::uint8_t unitId)
{
    for (const auto &unit : m_units)
        if (unit->config().unit == unitId)
            unit->scan().answeredLate();
}

void ModbusDriver::onOpened()
{
    if (std::exchange(m_wasOpen, true))
        ++m_sent.reconnects;
    for (const auto &unit : m_units)
        unit->scan().reconnected();
    pump();
}

void ModbusDriver::onFrame(const Frame &frame)
{
    m_exchange.received(frame, realNow());
    pump();
}

void ModbusDriver::onLost(const Error &why)
{
    if (why.code == QLatin1String("modbus.brokenStream"))
        m_exchange.countDroppedFrame();
    m_exchange.connectionLost();
    m_reader.abandonAll(link());
    for (const auto &unit : m_units)
        report(*unit, LinkHealth::Offline, why);
    pump();
}

void ModbusDriver::reportUnit(Unit &unit)
{
    if (unit.scan().isOffScan())
        return report(unit, LinkHealth::BackingOff,
                      {QStringLiteral("modbus.offScan"),
                       QStringLiteral("%1 (unit %2) does not answer and is only probed now and then. Check the device.")
                           .arg(unit.config().name)
                           .arg(unit.config().unit),
                       true});
    const auto refusal = unit.refusal();
    report(unit, refusal.code.isEmpty() ? LinkHealth::Online : LinkHealth::Degraded, refusal);
}

void ModbusDriver::report(const Unit &unit, LinkHealth health, const Error &why)
{
    auto &last = m_reported[static_cast<std::size_t>(unit.handle())];
    if (last.health == health && last.message == why.message)
        return;
    last = {health, why.message};
    m_host.deviceHealthChanged(unit.handle(), health, why);
}

} // namespace gridloom::modbus
