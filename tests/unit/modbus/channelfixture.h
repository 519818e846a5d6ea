// SPDX-License-Identifier: Apache-2.0
// ChannelFixture: a ModbusDriver with a host that keeps what it is told, and points made on the fly.
#pragma once

#include "driver.h"

#include <deque>

namespace gridloom::test {

class ChannelFixture : private DriverHost {
public:
    /// The time-out unless open() is told another: no stall of a busy machine lasts so long.
    static constexpr std::chrono::milliseconds kTimeout{5'000};

    ChannelFixture();
    ~ChannelFixture() override;

    /// Adds a device; the points that follow are its own.
    void device(const QString &name, QJsonObject params);
    /// Its handle. Addresses as in a design.
    PointHandle point(const QString &address, RegisterType type = RegisterType::UInt16, bool isWritable = false);
    /// The point made last, to change before open().
    Point &lastPoint() { return m_points.back(); }

    /// Configures and starts on 127.0.0.1.
    bool open(quint16 port, QJsonObject channelParams = {});
    bool open(quint16 port, std::chrono::milliseconds timeout);
    Result<void> configure(QJsonObject channelParams);
    Driver &driver() { return *m_driver; }
    FakeClock clock;

    void poll(std::initializer_list<PointHandle> handles);
    void poll(const std::vector<PointHandle> &handles);
    void pollAll() { poll(m_handles); }
    /// Polls all and waits for as many answers. False when they do not come within 5 s.
    bool pollAllAndWait();
    WriteId write(PointHandle point, const Value &value, std::chrono::milliseconds deadline = std::chrono::seconds(2),
                  bool verify = true);

    const Sample &last(PointHandle point) const { return m_last.at(point); }
    bool isGood(PointHandle point, const Value &value) const;
    const QString &failure() const { return m_failure; } ///< a broken promise of the driver: "" is none

    std::vector<Sample> samples;      ///< in the order of their publication
    std::vector<std::size_t> batches; ///< their sizes
    std::size_t polled = 0;           ///< handles that were due
    std::map<WriteId, WriteResult> results;
    std::vector<std::pair<LinkHealth, Error>> health;

private:
    void publish(std::span<const Sample> batch) override;
    void deviceHealthChanged(DeviceHandle device, LinkHealth state, const Error &why) override;
    void writeFinished(WriteId id, const WriteResult &result) override;

    std::deque<Point> m_points;
    QList<DeviceBinding> m_devices;
    std::vector<PointHandle> m_handles;
    std::map<PointHandle, Sample> m_last;
    std::unique_ptr<modbus::ModbusDriver> m_driver;
    WriteId m_writes = 0;
    QString m_failure;
};

} // namespace gridloom::test
