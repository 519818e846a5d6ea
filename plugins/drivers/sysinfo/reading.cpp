// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

#include <QFile>

#include <sys/statvfs.h>
#include <unistd.h>

namespace gridloom {

namespace {

constexpr qint64 kMaxBytes = 16'384; // of /proc/stat the first line alone is of interest
constexpr double kKbPerMb = 1024.0;

QByteArray readFile(const QString &path)
{
    QFile file(path);
    // Unbuffered: one read(2) gives one consistent text.
    return file.open(QIODevice::ReadOnly | QIODevice::Unbuffered) ? file.read(kMaxBytes) : QByteArray();
}

std::string_view text(const QByteArray &bytes)
{
    return {bytes.constData(), static_cast<std::size_t>(bytes.size())};
}

} // namespace

QByteArray SysInfoDriver::Reading::read(const char *path) const
{
    return readFile(m_driver.m_root + QLatin1String(path));
}

const std::optional<proc::CpuTicks> &SysInfoDriver::Reading::cpu()
{
    if (!m_cpu)
        m_cpu = proc::cpuTicks(text(read("/proc/stat")));
    return *m_cpu;
}

const std::optional<proc::Memory> &SysInfoDriver::Reading::memory()
{
    if (!m_memory)
        m_memory = proc::memory(text(read("/proc/meminfo")));
    return *m_memory;
}

std::optional<double> SysInfoDriver::Reading::processSeconds()
{
    const auto ticks = proc::processTicks(text(read("/proc/self/stat")));
    if (!ticks)
        return std::nullopt;
    return static_cast<double>(*ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<double> SysInfoDriver::Reading::residentMb()
{
    const auto kb = proc::residentKb(text(read("/proc/self/status")));
    return kb ? std::optional(static_cast<double>(*kb) / kKbPerMb) : std::nullopt;
}

std::optional<double> SysInfoDriver::Reading::uptime()
{
    return proc::firstNumber(text(read("/proc/uptime")));
}

std::optional<double> SysInfoDriver::Reading::load1()
{
    return proc::firstNumber(text(read("/proc/loadavg")));
}

std::optional<double> SysInfoDriver::Reading::temperature()
{
    std::optional<double> hottest;
    for (const QString &path : m_driver.m_thermalFiles) {
        const auto degrees = proc::temperature(text(readFile(path)));
        if (degrees && (!hottest || *degrees > *hottest))
            hottest = degrees;
    }
    return hottest;
}

std::optional<double> SysInfoDriver::Reading::diskFreePercent()
{
    struct statvfs disk {};
    if (::statvfs(m_driver.m_diskPath.constData(), &disk) != 0 || disk.f_blocks == 0)
        return std::nullopt;
    // f_bavail: what a process without privileges can still write.
    return 100.0 * static_cast<double>(disk.f_bavail) / static_cast<double>(disk.f_blocks);
}

std::optional<std::uint64_t> SysInfoDriver::Reading::writtenBytes()
{
    return proc::writtenBytes(text(read("/proc/self/io")));
}

std::optional<std::uint64_t> SysInfoDriver::Reading::diskWrittenBytes()
{
    return proc::diskWrittenBytes(text(readFile(m_driver.m_diskStat)));
}

} // namespace gridloom
