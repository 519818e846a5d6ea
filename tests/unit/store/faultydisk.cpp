// SPDX-License-Identifier: Apache-2.0
#include "faultydisk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace {
std::atomic<int> g_left{0}; // calls until the fault; 0: none planned
std::atomic<int> g_fault{0};
std::atomic<bool> g_forGood{false};
std::atomic<bool> g_noSyncs{false};
std::atomic<bool> g_hit{false};
std::atomic<bool> g_failNextWrite{false};
std::atomic<int> g_syncs{0};

// 0, or the errno that this call fails with.
int faultOfThisCall()
{
    if (g_left.load() <= 0 || (g_left.fetch_sub(1) != 1 && !g_hit.load()))
        return 0;
    g_hit = true;
    if (g_forGood)
        g_left = 1;
    return static_cast<gridloom::test::Fault>(g_fault.load()) == gridloom::test::Fault::InputOutput ? EIO : ENOSPC;
}

bool isFile(int fd)
{
    struct stat s = {};
    return fd > 2 && ::fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode));
}

ssize_t faultyWrite(int fd, const void *bytes, size_t size, off64_t offset, bool isPositioned)
{
    const auto real = [&](size_t n) {
        return isPositioned ? ::syscall(SYS_pwrite64, fd, bytes, n, offset) : ::syscall(SYS_write, fd, bytes, n);
    };
    if (!isFile(fd))
        return real(size);
    if (g_failNextWrite.exchange(false)) {
        errno = ENOSPC;
        return -1;
    }
    const int code = faultOfThisCall();
    if (code == 0)
        return real(size);
    if (static_cast<gridloom::test::Fault>(g_fault.load()) == gridloom::test::Fault::ShortWrite && size > 1) {
        g_failNextWrite = true;
        return real(size / 2);
    }
    errno = code;
    return -1;
}

int failing(int code)
{
    errno = code;
    return -1;
}

int faultySync(long call, int fd)
{
    if (!isFile(fd))
        return static_cast<int>(::syscall(call, fd));
    ++g_syncs;
    if (g_noSyncs)
        return failing(EIO);
    const int code = faultOfThisCall();
    return code != 0 ? failing(code) : static_cast<int>(::syscall(call, fd));
}
} // namespace

extern "C" {
ssize_t write(int fd, const void *bytes, size_t size)
{
    return faultyWrite(fd, bytes, size, 0, false);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return faultyWrite(fd, bytes, size, offset, true);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return faultyWrite(fd, bytes, size, offset, true);
}
int fdatasync(int fd)
{
    return faultySync(SYS_fdatasync, fd);
}
int fsync(int fd)
{
    return faultySync(SYS_fsync, fd);
}
int ftruncate(int fd, off_t size) noexcept
{
    const int code = faultOfThisCall();
    return code != 0 ? failing(code) : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}
int rename(const char *from, const char *to) noexcept
{
    const int code = faultOfThisCall();
    return code != 0 ? failing(code) : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int link(const char *from, const char *to) noexcept
{
    const int code = faultOfThisCall();
    return code != 0 ? failing(code) : static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace gridloom::test {

void FaultyDisk::failNth(int nth, Fault fault, bool forGood)
{
    g_fault = static_cast<int>(fault);
    g_forGood = forGood;
    g_hit = false;
    g_failNextWrite = false;
    g_left = nth;
}

void FaultyDisk::failSyncs()
{
    g_noSyncs = true;
}

bool FaultyDisk::heal()
{
    g_left = 0;
    g_noSyncs = false;
    g_failNextWrite = false;
    return g_hit.exchange(false);
}

int FaultyDisk::syncs()
{
    return g_syncs;
}

} // namespace gridloom::test
