// SPDX-License-Identifier: Apache-2.0
// SysInfoDriver::Reading: the files of /proc and /sys as they were during one poll.
#pragma once

#include "sysinfodriver.h"

namespace gridloom {

struct SysInfoDriver::Reading {
    explicit Reading(const SysInfoDriver &driver) : m_driver(driver) {}

    const std::optional<proc::CpuTicks> &cpu();
    const std::optional<proc::Memory> &memory();
    std::optional<double> processSeconds(); ///< CPU time of this process
    std::optional<double> residentMb();
    std::optional<double> uptime();
    std::optional<double> load1();
    std::optional<double> temperature(); ///< of the hottest zone
    std::optional<double> diskFreePercent();
    std::optional<std::uint64_t> writtenBytes(); ///< by this process
    std::optional<std::uint64_t> diskWrittenBytes();

private:
    QByteArray read(const char *path) const;

    const SysInfoDriver &m_driver;
    std::optional<std::optional<proc::CpuTicks>> m_cpu;
    std::optional<std::optional<proc::Memory>> m_memory;
};

} // namespace gridloom
