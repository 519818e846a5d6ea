// SPDX-License-Identifier: Apache-2.0
// TextFileDriver: points that are numbers in text files, such as the kernel's sensors below /sys. Io thread.
#pragma once

#include "sdk/driver.h"

#include <unordered_map>
#include <vector>

namespace gridloom::textfile {

class TextFileDriver final : public Driver {
public:
    TextFileDriver(DriverHost &host, const Clock &clock) : m_host(host), m_clock(clock) {}

    Result<void> configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices) override;
    void start() override;
    void poll(std::span<const PointHandle> due) override;
    void write(const WriteRequest &request) override;
    void stop() override {} // nothing is ever open
    DriverStatistics statistics() const override { return m_statistics; }

private:
    Sample read(PointHandle point);
    WriteResult written(const WriteRequest &request);

    DriverHost &m_host;
    const Clock &m_clock;
    QString m_folder;
    int m_devices = 0;
    std::unordered_map<PointHandle, const Point *> m_points;
    std::vector<Sample> m_batch; ///< kept, so that a poll does not allocate
    DriverStatistics m_statistics;
};

} // namespace gridloom::textfile
