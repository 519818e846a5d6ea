// SPDX-License-Identifier: Apache-2.0
// SysInfoDriver: the gateway's own health as points. Each poll reads the files it needs once and answers at once:
// /proc and /sys answer from memory, in microseconds. Shares of CPU are means since the same point's previous poll (the
// first since start()), bytes written a day are means of the last day. Figures are rounded to 0.01, so that an idle
// gateway does not look like one that changes.
#pragma once

#include "procparse.h"
#include "sdk/driver.h"
#include "writerate.h"

#include <QByteArray>
#include <QString>

#include <optional>
#include <vector>

namespace gridloom {

class SysInfoDriver : public Driver {
public:
    /// `root` stands before /proc and /sys: recorded files in tests.
    SysInfoDriver(DriverHost &host, const Clock &clock, QString root = {});

    /// Errors: "sysinfo.address", an address that the manifest does not know; "sysinfo.endurance", years of life are
    /// wanted but not what the disk endures.
    Result<void> configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices) override;
    void start() override;
    void poll(std::span<const PointHandle> due) override;
    /// Always Rejected, "sysinfo.readOnly".
    void write(const WriteRequest &request) override;
    void stop() override { m_isStarted = false; }
    /// All zero: it reads files, no request goes over a wire.
    DriverStatistics statistics() const override { return {}; }

private:
    enum class Figure : std::uint8_t {
        CpuPercent,
        MemoryPercent,
        MemoryMb,
        DiskFreePercent,
        ProcessCpuPercent,
        ProcessRssMb,
        Load1,
        UptimeS,
        Temperature,
        WrittenGbPerDay,
        DiskWrittenGbPerDay,
        FlashYears
    };
    /// What is read at one moment; each file at most once per poll, and only when a due point needs it.
    struct Reading;
    struct BoundPoint {
        PointHandle handle = kNoPoint;
        Figure figure = Figure::CpuPercent;
        double scale = 1.0;
        double offset = 0.0;
        // Since when a share is taken, and the last one: two polls within one clock tick tell nothing new.
        proc::CpuTicks cpuBefore;
        double processSecondsBefore = 0.0;
        double uptimeBefore = 0.0;
        std::optional<double> lastShare;
    };

    static std::optional<Figure> figureFromAddress(const QString &address);
    BoundPoint *find(PointHandle handle);
    void takeBaseline(BoundPoint &point, Reading &reading);
    std::optional<double> evaluate(BoundPoint &point, Reading &reading);
    std::optional<double> processShare(BoundPoint &point, Reading &reading);
    std::optional<double> perDay(WriteRate &rate, std::optional<std::uint64_t> bytes, Reading &reading);
    std::optional<double> flashYears(Reading &reading);
    static bool isOfDisk(Figure figure)
    {
        return figure == Figure::DiskWrittenGbPerDay || figure == Figure::FlashYears;
    }
    static bool isShareBegun(const BoundPoint &point, Reading &reading);
    Sample sampleOf(BoundPoint &point, Reading &reading);

    DriverHost &m_host;
    const Clock &m_clock;
    const QString m_root;
    QByteArray m_diskPath{"/"};
    QString m_diskStat; ///< the "stat" below /sys of the block device it lies on
    double m_enduranceTb = 0;
    WriteRate m_processWritten;
    WriteRate m_diskWritten;
    std::vector<BoundPoint> m_points; ///< sorted by handle
    QList<QString> m_thermalFiles;
    int m_deviceCount = 0;
    std::vector<Sample> m_batch;
    bool m_isStarted = false;
};

} // namespace gridloom
