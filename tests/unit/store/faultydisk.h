// SPDX-License-Identifier: Apache-2.0
// FaultyDisk: makes system calls on files fail, in this process, for whoever calls them: write, pwrite, fdatasync,
// fsync, ftruncate, rename and link are replaced by wrappers (link the executable with ENABLE_EXPORTS). Pipes and the
// standard streams are never touched. Thread-safe.
#pragma once

namespace gridloom::test {

enum class Fault {
    NoSpace,     ///< ENOSPC
    InputOutput, ///< EIO
    ShortWrite,  ///< a write stores half and the next one fails with ENOSPC; other calls fail with ENOSPC
};

class FaultyDisk {
public:
    /// Counts from now; the nth call (1 = the next) fails once, or with `forGood` each from there on.
    static void failNth(int nth, Fault fault, bool forGood = false);
    /// Each fdatasync and fsync fails with EIO until heal().
    static void failSyncs();
    /// All is well again. Whether any call failed since failNth().
    static bool heal();
    /// Calls of fdatasync and fsync since the process began.
    static int syncs();
};

} // namespace gridloom::test
