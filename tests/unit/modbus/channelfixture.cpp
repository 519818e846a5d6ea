// SPDX-License-Identifier: Apache-2.0
#include "channelfixture.h"

#include <QCoreApplication>

namespace gridloom::test {

namespace {
constexpr PointHandle kFirstHandle = 7; // handles of a channel need not begin at 0
}

ChannelFixture::ChannelFixture()
    : m_driver(std::make_unique<modbus::ModbusDriver>(static_cast<DriverHost &>(*this), clock))
{
}

ChannelFixture::~ChannelFixture()
{
    m_driver.reset();
}

void ChannelFixture::device(const QString &name, QJsonObject params)
{
    DeviceBinding binding;
    binding.id = name;
    binding.name = name;
    binding.params = std::move(params);
    m_devices << binding;
}

PointHandle ChannelFixture::point(const QString &address, RegisterType type, bool isWritable)
{
    if (m_devices.isEmpty())
        device(QStringLiteral("meter1"), {{QStringLiteral("unit"), 1}});
    Point p;
    p.handle = kFirstHandle + static_cast<PointHandle>(m_points.size());
    p.id = p.name = QStringLiteral("p%1").arg(m_points.size());
    p.address = address;
    p.format.type = type;
    if (isWritable)
        p.write = WritePolicy{};
    m_points.push_back(p);
    m_devices.last().points << &m_points.back();
    m_handles.push_back(p.handle);
    return p.handle;
}

Result<void> ChannelFixture::configure(QJsonObject channelParams)
{
    channelParams.insert(QStringLiteral("host"), QStringLiteral("127.0.0.1"));
    if (!channelParams.contains(QStringLiteral("timeoutMs")))
        channelParams.insert(QStringLiteral("timeoutMs"), static_cast<int>(kTimeout.count()));
    return m_driver->configure(channelParams, m_devices);
}

bool ChannelFixture::open(quint16 port, QJsonObject channelParams)
{
    channelParams.insert(QStringLiteral("port"), port);
    if (!configure(channelParams).ok())
        return false;
    m_driver->start();
    return true;
}

bool ChannelFixture::open(quint16 port, std::chrono::milliseconds timeout)
{
    return open(port, QJsonObject{{QStringLiteral("timeoutMs"), static_cast<int>(timeout.count())}});
}

void ChannelFixture::poll(std::initializer_list<PointHandle> handles)
{
    poll(std::vector(handles));
}

void ChannelFixture::poll(const std::vector<PointHandle> &handles)
{
    polled += handles.size();
    m_driver->poll(handles);
}

bool ChannelFixture::pollAllAndWait()
{
    pollAll();
    QTimer guard; // wakes the loop below when nothing comes
    guard.setSingleShot(true);
    guard.start(std::chrono::seconds(5));
    while (samples.size() < polled && guard.isActive())
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    return samples.size() >= polled;
}

WriteId ChannelFixture::write(PointHandle point, const Value &value, std::chrono::milliseconds deadline, bool verify)
{
    const auto id = ++m_writes;
    m_driver->write({id, point, value, verify, std::chrono::steady_clock::now() + deadline});
    return id;
}

bool ChannelFixture::isGood(PointHandle point, const Value &value) const
{
    const auto it = m_last.find(point);
    return it != m_last.end() && it->second.quality == Quality::Good && it->second.value == value;
}

void ChannelFixture::publish(std::span<const Sample> batch)
{
    batches.push_back(batch.size());
    for (const auto &sample : batch) {
        samples.push_back(sample);
        m_last[sample.point] = sample;
        if (isBad(sample.quality) && !sample.value.isNull())
            m_failure = QStringLiteral("a bad sample carries a number");
    }
    if (samples.size() > polled)
        m_failure = QStringLiteral("more samples than polls");
}

void ChannelFixture::deviceHealthChanged(DeviceHandle, LinkHealth state, const Error &why)
{
    health.emplace_back(state, why);
}

void ChannelFixture::writeFinished(WriteId id, const WriteResult &result)
{
    if (!results.emplace(id, result).second)
        m_failure = QStringLiteral("a write finished twice");
}

} // namespace gridloom::test
