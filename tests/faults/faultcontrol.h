// SPDX-License-Identifier: Apache-2.0
// FaultControl: what libgridloom_faults.so, preloaded into a process, does to its system calls. It lies in a file that the
// test and the process both map, so that a running process can be switched. Only files below `folder` are touched;
// clocks are those of the whole process.
#pragma once

#include <atomic>
#include <cstdint>

namespace gridloom::faults {

/// Names the control file to the preloaded library.
inline constexpr const char *kControlVariable = "GRIDLOOM_FAULTS_CONTROL";

enum class Disk : std::int32_t {
    Healthy,
    Full,     ///< what needs more space than `freeBytes` fails with ENOSPC; freed space counts
    ReadOnly, ///< whatever changes a file or folder fails with EROFS
};

/// Kinds of calls, as bits of `nthKinds`.
enum Call : std::uint32_t {
    kWrite = 1,
    kSync = 2,
    kRename = 4, ///< and link
    kOpen = 8,   ///< that creates or writes
    kResize = 16,
    kUnlink = 32,
    kAnyCall = 63,
};

struct FaultControl {
    char folder[512];
    char recordPath[512]; ///< not empty: every change is recorded there (diskrecord.h); nothing is really synced then

    std::atomic<Disk> disk;
    std::atomic<std::int64_t> freeBytes;    ///< while Full
    std::atomic<std::int32_t> syncDelayMs;  ///< each sync takes so much longer
    std::atomic<std::int64_t> wallOffsetNs; ///< added to the wall clock; the steady clock stays

    /// The nth call (1: the next) of the kinds in `nthKinds` fails with `nthErrno`, once or from there on.
    std::atomic<std::int64_t> nth;
    std::atomic<std::uint32_t> nthKinds;
    std::atomic<std::int32_t> nthErrno;
    std::atomic<std::int32_t> isNthShort; ///< a write stores half first
    std::atomic<std::int32_t> isNthForGood;

    // Counted by the library.
    std::atomic<std::int64_t> calls;    ///< that could have failed
    std::atomic<std::int64_t> injected; ///< that were made to fail
};

} // namespace gridloom::faults
