// SPDX-License-Identifier: Apache-2.0
// Parsers of the texts of /proc (proc(5)) that the sysinfo driver reads, and the arithmetic on them. Pure.
// A text that does not hold what is asked for gives nothing, never a zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gridloom::proc {

/// Clock ticks since boot, of all cores together.
struct CpuTicks {
    std::uint64_t busy = 0;
    std::uint64_t total = 0;
};
/// First line of /proc/stat. Busy is everything but idle and iowait; guest time is part of user time already.
std::optional<CpuTicks> cpuTicks(std::string_view stat);
/// Busy share between two readings, 0 to 100; nothing when no tick passed or the counters went back.
std::optional<double> cpuPercent(const CpuTicks &before, const CpuTicks &now);

struct Memory {
    std::uint64_t totalKb = 0;
    std::uint64_t availableKb = 0; ///< what programs could still get without swapping
};
/// /proc/meminfo.
std::optional<Memory> memory(std::string_view meminfo);
/// 100 * (total - available) / total.
double memoryPercent(const Memory &memory);

/// User and system ticks of a process: fields 14 and 15 of /proc/PID/stat. Its name (field 2) may hold anything.
std::optional<std::uint64_t> processTicks(std::string_view stat);
/// VmRSS of /proc/PID/status, kB.
std::optional<std::uint64_t> residentKb(std::string_view status);
/// "write_bytes" of /proc/PID/io: bytes the process has caused to be sent to disks.
std::optional<std::uint64_t> writtenBytes(std::string_view io);
/// Bytes written to a block device since boot: the seventh field of its "stat" below /sys, in sectors of 512 bytes.
std::optional<std::uint64_t> diskWrittenBytes(std::string_view stat);
/// The first figure of /proc/loadavg (mean runnable tasks of the last minute) or /proc/uptime (seconds).
std::optional<double> firstNumber(std::string_view text);
/// /sys/class/thermal/thermal_zone*/temp: thousandths of a degree Celsius, to degrees.
std::optional<double> temperature(std::string_view text);

} // namespace gridloom::proc
