// SPDX-License-Identifier: Apache-2.0
// FaultSwitch: the test's hand on the system calls of a process that has libgridloom_faults.so preloaded. Switching takes
// effect with the process's next call. One thread of the test.
#pragma once

#include "faults/faultcontrol.h"

#include <QStringList>
#include <QTemporaryDir>

namespace gridloom::faults {

class FaultSwitch {
public:
    /// Files below `folder` are touched. `recordPath`: where to record every change to them; empty: nowhere.
    explicit FaultSwitch(const QString &folder, const QString &recordPath = {});
    ~FaultSwitch();
    FaultSwitch(const FaultSwitch &) = delete;
    FaultSwitch &operator=(const FaultSwitch &) = delete;

    /// NAME=VALUE entries for the process to start with.
    QStringList environment() const;

    /// From now on the disk holds `freeBytes` more and no more.
    void fillDisk(std::int64_t freeBytes = 0);
    void makeReadOnly() { m_control->disk = Disk::ReadOnly; }
    void healDisk() { m_control->disk = Disk::Healthy; }
    void delaySyncs(std::chrono::milliseconds delay) { m_control->syncDelayMs = static_cast<int>(delay.count()); }
    /// The process's wall clock, off the real one by so much.
    void setWallOffset(std::chrono::nanoseconds offset) { m_control->wallOffsetNs = offset.count(); }

    struct Nth {
        std::int64_t n = 1; ///< 1: the next call of `kinds`
        std::uint32_t kinds = kAnyCall;
        int error = 5;        ///< errno
        bool isShort = false; ///< writes store half first
        bool isForGood = false;
    };
    void failNth(const Nth &nth);
    std::int64_t injected() const { return m_control->injected; }
    std::int64_t calls() const { return m_control->calls; }

private:
    QTemporaryDir m_folder;
    FaultControl *m_control = nullptr;
};

} // namespace gridloom::faults
