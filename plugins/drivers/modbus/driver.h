// SPDX-License-Identifier: Apache-2.0
// ModbusDriver: one Modbus TCP channel: a connection, its units, and the order in which requests go out: writes and
// their read-backs first, then reads in the order of their polls. README.md tells how it behaves on faults.
// Everything runs in the thread that created it.
#pragma once

#include "connection.h"
#include "exchange.h"
#include "reader.h"
#include "sdk/deadlinetimer.h"
#include "writer.h"

namespace gridloom::modbus {

class ModbusDriver final : public Driver, private ExchangeClient {
public:
    ModbusDriver(DriverHost &host, const Clock &clock);
    ~ModbusDriver() override;

    Result<void> configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices) override;
    void start() override;
    void poll(std::span<const PointHandle> due) override;
    void write(const WriteRequest &request) override;
    void stop() override;
    DriverStatistics statistics() const override;

private:
    struct Reported {
        LinkHealth health = LinkHealth::Offline;
        QString message;
    };

    void finished(Job job, const Outcome &outcome) override;
    void answeredLate(std::uint8_t unit) override;

    void onOpened();
    void onFrame(const Frame &frame);
    void onLost(const Error &why);

    /// Sends what may be sent and sets the timer to what comes next.
    void pump();
    void send(std::unique_ptr<ReadJob> job, RealTime now);
    void send(std::unique_ptr<WriteJob> job, RealTime now);
    bool isLoneProbe(Unit &unit) const;
    void armTimer(RealTime now);
    Reader::Link link() const;
    void reportUnit(Unit &unit);
    void report(const Unit &unit, LinkHealth health, const Error &why);

    DriverHost &m_host;
    const Clock &m_clock;
    ChannelConfig m_config;
    std::vector<std::unique_ptr<Unit>> m_units;
    std::vector<Reported> m_reported; ///< by device
    Connection m_connection;
    Exchange m_exchange;
    Reader m_reader;
    Writer m_writer;
    DeadlineTimer m_timer;
    DriverStatistics m_sent; ///< reads, readBacks, writes, reconnects
    bool m_isRunning = false;
    bool m_isPumping = false;
    bool m_wasOpen = false;
};

} // namespace gridloom::modbus
