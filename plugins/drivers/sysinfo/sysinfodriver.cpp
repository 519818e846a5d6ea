// SPDX-License-Identifier: Apache-2.0
#include "sysinfodriver.h"

#include "reading.h"

#include <QDir>
#include <QFile>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cmath>

namespace gridloom {

namespace {

constexpr double kKbPerMb = 1024.0;

double rounded(double value)
{
    return std::round(value * 100.0) / 100.0;
}

} // namespace

SysInfoDriver::SysInfoDriver(DriverHost &host, const Clock &clock, QString root)
    : m_host(host), m_clock(clock), m_root(std::move(root))
{
}

std::optional<SysInfoDriver::Figure> SysInfoDriver::figureFromAddress(const QString &address)
{
    static constexpr std::pair<QLatin1String, Figure> kFigures[] = {
        {QLatin1String("cpuPercent"), Figure::CpuPercent},
        {QLatin1String("memoryPercent"), Figure::MemoryPercent},
        {QLatin1String("memoryMb"), Figure::MemoryMb},
        {QLatin1String("diskFreePercent"), Figure::DiskFreePercent},
        {QLatin1String("processCpuPercent"), Figure::ProcessCpuPercent},
        {QLatin1String("processRssMb"), Figure::ProcessRssMb},
        {QLatin1String("load1"), Figure::Load1},
        {QLatin1String("uptimeS"), Figure::UptimeS},
        {QLatin1String("temperature"), Figure::Temperature},
        {QLatin1String("writtenGbPerDay"), Figure::WrittenGbPerDay},
        {QLatin1String("diskWrittenGbPerDay"), Figure::DiskWrittenGbPerDay},
        {QLatin1String("flashYears"), Figure::FlashYears},
    };
    for (const auto &[name, figure] : kFigures) {
        if (address == name)
            return figure;
    }
    return std::nullopt;
}

Result<void> SysInfoDriver::configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices)
{
    m_points.clear();
    m_diskPath = QFile::encodeName(channelParams.value(QLatin1String("path")).toString(QStringLiteral("/")));
    m_enduranceTb = channelParams.value(QLatin1String("enduranceTb")).toDouble();
    m_deviceCount = static_cast<int>(devices.size());
    for (const DeviceBinding &device : devices) {
        for (const Point *point : device.points) {
            const auto figure = figureFromAddress(point->address);
            if (!figure)
                return Error{QStringLiteral("sysinfo.address"),
                             QStringLiteral("point %1 of device %2: \"%3\" is no figure of the gateway; the driver's "
                                            "manifest lists them")
                                 .arg(point->id, device.id, point->address)};
            if (*figure == Figure::FlashYears && m_enduranceTb <= 0)
                return Error{QStringLiteral("sysinfo.endurance"),
                             QStringLiteral("point %1 of device %2 needs the channel's parameter enduranceTb: what the "
                                            "maker of the disk says can be written in all, in TB")
                                 .arg(point->id, device.id)};
            BoundPoint bound;
            bound.handle = point->handle;
            bound.figure = *figure;
            bound.scale = point->format.scale;
            bound.offset = point->format.offset;
            m_points.push_back(bound);
        }
    }
    std::sort(m_points.begin(), m_points.end(),
              [](const BoundPoint &a, const BoundPoint &b) { return a.handle < b.handle; });
    return {};
}

void SysInfoDriver::start()
{
    m_isStarted = true;
    m_thermalFiles.clear();
    const QDir thermal(m_root + QLatin1String("/sys/class/thermal"));
    for (const QString &zone : thermal.entryList({QStringLiteral("thermal_zone*")}, QDir::Dirs | QDir::NoDotAndDotDot))
        m_thermalFiles.append(thermal.filePath(zone + QLatin1String("/temp")));
    struct stat disk {};
    if (::stat(m_diskPath.constData(), &disk) == 0)
        m_diskStat =
            QStringLiteral("%1/sys/dev/block/%2:%3/stat").arg(m_root).arg(major(disk.st_dev)).arg(minor(disk.st_dev));
    m_processWritten.reset();
    m_diskWritten.reset();
    Reading reading(*this);
    for (BoundPoint &point : m_points)
        takeBaseline(point, reading);
    for (DeviceHandle device = 0; device < m_deviceCount; ++device)
        m_host.deviceHealthChanged(device, LinkHealth::Online, {});
}

void SysInfoDriver::poll(std::span<const PointHandle> due)
{
    if (!m_isStarted)
        return;
    Reading reading(*this);
    m_batch.clear();
    for (const PointHandle handle : due) {
        if (BoundPoint *const point = find(handle))
            m_batch.push_back(sampleOf(*point, reading));
    }
    m_host.publish(m_batch);
}

void SysInfoDriver::write(const WriteRequest &request)
{
    WriteResult result;
    result.state = WriteResult::State::Rejected;
    result.error = Error{QStringLiteral("sysinfo.readOnly"),
                         QStringLiteral("figures of the gateway cannot be written; remove the write policy")};
    m_host.writeFinished(request.id, result);
}

SysInfoDriver::BoundPoint *SysInfoDriver::find(PointHandle handle)
{
    const auto isBefore = [](const BoundPoint &point, PointHandle wanted) { return point.handle < wanted; };
    const auto found = std::lower_bound(m_points.begin(), m_points.end(), handle, isBefore);
    return found != m_points.end() && found->handle == handle ? &*found : nullptr;
}

void SysInfoDriver::takeBaseline(BoundPoint &point, Reading &reading)
{
    if (point.figure == Figure::CpuPercent) {
        point.cpuBefore = reading.cpu().value_or(proc::CpuTicks{});
    } else if (point.figure == Figure::ProcessCpuPercent) {
        point.processSecondsBefore = reading.processSeconds().value_or(0.0);
        point.uptimeBefore = reading.uptime().value_or(0.0);
    } else if (point.figure == Figure::WrittenGbPerDay) {
        perDay(m_processWritten, reading.writtenBytes(), reading);
    } else if (isOfDisk(point.figure)) {
        perDay(m_diskWritten, reading.diskWrittenBytes(), reading);
    }
    point.lastShare.reset();
}

std::optional<double> SysInfoDriver::evaluate(BoundPoint &point, Reading &reading)
{
    switch (point.figure) {
    case Figure::CpuPercent: {
        const auto &now = reading.cpu();
        if (!now)
            return std::nullopt;
        if (const auto share = proc::cpuPercent(point.cpuBefore, *now)) {
            point.lastShare = share;
            point.cpuBefore = *now;
        }
        return point.lastShare;
    }
    case Figure::MemoryPercent:
        return reading.memory() ? std::optional(proc::memoryPercent(*reading.memory())) : std::nullopt;
    case Figure::MemoryMb:
        if (!reading.memory())
            return std::nullopt;
        return static_cast<double>(reading.memory()->totalKb - reading.memory()->availableKb) / kKbPerMb;
    case Figure::DiskFreePercent: return reading.diskFreePercent();
    case Figure::ProcessCpuPercent: return processShare(point, reading);
    case Figure::ProcessRssMb: return reading.residentMb();
    case Figure::Load1: return reading.load1();
    case Figure::UptimeS: return reading.uptime();
    case Figure::Temperature: return reading.temperature();
    case Figure::WrittenGbPerDay: return perDay(m_processWritten, reading.writtenBytes(), reading);
    case Figure::DiskWrittenGbPerDay: return perDay(m_diskWritten, reading.diskWrittenBytes(), reading);
    case Figure::FlashYears: return flashYears(reading);
    }
    return std::nullopt;
}

/// Of one core. The kernel's uptime is the measure of time, since CPU time is real time whatever the clock's speed.
std::optional<double> SysInfoDriver::processShare(BoundPoint &point, Reading &reading)
{
    const auto seconds = reading.processSeconds();
    const auto uptime = reading.uptime();
    if (!seconds || !uptime)
        return std::nullopt;
    if (*uptime > point.uptimeBefore) {
        point.lastShare = 100.0 * std::max(0.0, *seconds - point.processSecondsBefore) / (*uptime - point.uptimeBefore);
        point.processSecondsBefore = *seconds;
        point.uptimeBefore = *uptime;
    }
    return point.lastShare;
}

std::optional<double> SysInfoDriver::perDay(WriteRate &rate, std::optional<std::uint64_t> bytes, Reading &reading)
{
    const auto uptime = reading.uptime();
    if (!bytes || !uptime)
        return std::nullopt;
    rate.note(*uptime, *bytes);
    return rate.gbPerDay();
}

std::optional<double> SysInfoDriver::flashYears(Reading &reading)
{
    const auto gbPerDay = perDay(m_diskWritten, reading.diskWrittenBytes(), reading);
    return gbPerDay ? std::optional(yearsOfLife(m_enduranceTb, *gbPerDay)) : std::nullopt;
}

bool SysInfoDriver::isShareBegun(const BoundPoint &point, Reading &reading)
{
    if (point.figure == Figure::CpuPercent)
        return reading.cpu().has_value();
    if (point.figure == Figure::WrittenGbPerDay)
        return reading.writtenBytes() && reading.uptime();
    if (isOfDisk(point.figure))
        return reading.diskWrittenBytes() && reading.uptime();
    return point.figure == Figure::ProcessCpuPercent && reading.processSeconds() && reading.uptime();
}

Sample SysInfoDriver::sampleOf(BoundPoint &point, Reading &reading)
{
    Sample sample;
    sample.point = point.handle;
    const auto value = evaluate(point, reading);
    sample.sourceTime = m_clock.wallNow();
    sample.gatewayTime = m_clock.steadyNow();
    if (value) {
        sample.value = Value(rounded(*value * point.scale + point.offset));
        sample.quality = Quality::Good;
    } else if (point.figure == Figure::Temperature && m_thermalFiles.isEmpty()) {
        sample.quality = Quality::BadNotSupported; // the machine has no sensor
    } else if (isShareBegun(point, reading)) {
        sample.quality = Quality::BadWaitingForInitialData; // not long enough since start()
    } else if (isOfDisk(point.figure)) {
        sample.quality = Quality::BadNotSupported; // no block device: memory, network, an overlay
    } else {
        sample.quality = Quality::BadDeviceFailure;
    }
    return sample;
}

} // namespace gridloom
