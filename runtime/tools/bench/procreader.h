// SPDX-License-Identifier: Apache-2.0
// What Linux says about the machine and one process. The parsers are pure; readings are taken by the sampler.
#pragma once

#include <QByteArray>
#include <QString>

#include <cstdint>
#include <optional>

namespace gridloom {

/// Sums over all cores since boot, in clock ticks (proc(5), /proc/stat).
struct DeviceCpu {
    std::uint64_t busy = 0;   ///< user, nice, system, irq, softirq, steal
    std::uint64_t ioWait = 0; ///< idle with an outstanding request
    std::uint64_t idle = 0;
};
/// One process (proc(5), /proc/PID/stat), with the children it has waited for.
struct ProcessUse {
    std::uint64_t cpuTicks = 0;
    std::uint64_t rssPages = 0;
    int threads = 0;
};

/// The first line of /proc/stat.
std::optional<DeviceCpu> parseDeviceCpu(const QByteArray &stat);
/// MemTotal - MemAvailable of /proc/meminfo, in kB.
std::optional<std::uint64_t> parseMemoryUsedKb(const QByteArray &meminfo);
/// The process's name may hold blanks and brackets.
std::optional<ProcessUse> parseProcessUse(const QByteArray &stat);

/// Bytes that a process has caused to be sent to disks: "write_bytes" of /proc/PID/io.
std::optional<std::uint64_t> parseWrittenBytes(const QByteArray &io);
/// Bytes written to a block device since boot: the seventh field of /sys/dev/block/MAJOR:MINOR/stat, sectors of 512 bytes.
std::optional<std::uint64_t> parseDiskWritten(const QByteArray &stat);
/// The path of that file for the device that a folder lies on.
QByteArray diskStatPath(const QString &folder);

/// All of a small file; empty when it cannot be read. Blocking, any thread.
QByteArray readWhole(const char *path);

} // namespace gridloom
