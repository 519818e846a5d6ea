// SPDX-License-Identifier: Apache-2.0
#include "faults/faultycalls.h"

#include "faults/diskrecorder.h"
#include "faults/faultcontrol.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gridloom::faults {

namespace {
using ClockGetTime = int (*)(clockid_t, timespec *);

FaultControl *g_control = nullptr;
constexpr int kMostFiles = 65'536;
std::atomic<bool> g_isOurs[kMostFiles]; // by descriptor

__attribute__((constructor)) void attach()
{
    const char *path = std::getenv(kControlVariable);
    if (!path)
        return;
    const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    void *memory = ::mmap(nullptr, sizeof(FaultControl), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
    ::syscall(SYS_close, fd);
    if (memory == MAP_FAILED)
        return;
    g_control = static_cast<FaultControl *>(memory);
    if (g_control->recordPath[0] != '\0')
        openDiskRecord(g_control->recordPath);
}

bool isBelow(const char *path)
{
    if (!g_control || !path)
        return false;
    const std::size_t length = std::strlen(g_control->folder);
    return std::strncmp(path, g_control->folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// 0, or the errno that this call fails with. `isShort` is set when half of it is to be done first.
int faultOf(Call call, bool *isShort = nullptr)
{
    if (g_control->disk.load() == Disk::ReadOnly) {
        ++g_control->injected;
        return EROFS;
    }
    if ((g_control->nthKinds.load() & call) == 0)
        return 0;
    ++g_control->calls;
    const std::int64_t left = g_control->nth.fetch_sub(1);
    if (left != 1 && !(left < 1 && g_control->isNthForGood.load() != 0 && g_control->injected.load() > 0))
        return 0;
    ++g_control->injected;
    if (isShort)
        *isShort = g_control->isNthShort.load() != 0;
    return g_control->nthErrno.load();
}

std::int64_t heldBytes(const struct stat &s)
{
    return s.st_size > s.st_blocks * 512 ? s.st_size : s.st_blocks * 512;
}

// Takes what a growth up to `end` needs from the free space; how much of `wanted` bytes fits.
std::int64_t takeSpace(int fd, std::int64_t end, std::int64_t wanted)
{
    struct stat s = {};
    if (g_control->disk.load() != Disk::Full || ::fstat(fd, &s) != 0)
        return wanted;
    const std::int64_t growth = end - heldBytes(s);
    if (growth <= 0)
        return wanted;
    std::int64_t free = g_control->freeBytes.load();
    std::int64_t taken = 0;
    do
        taken = free < growth ? (free > 0 ? free : 0) : growth;
    while (!g_control->freeBytes.compare_exchange_weak(free, free - taken));
    if (taken < growth)
        ++g_control->injected;
    return wanted - (growth - taken);
}

void giveSpace(std::int64_t bytes)
{
    if (g_control->disk.load() == Disk::Full && bytes > 0)
        g_control->freeBytes.fetch_add(bytes);
}

std::int64_t heldByPath(const char *path)
{
    struct stat s = {};
    return ::stat(path, &s) == 0 && s.st_nlink == 1 ? heldBytes(s) : 0;
}

// A call that sends; what goes to a local socket is recorded.
template<typename Send>
long tell(int fd, const void *bytes, Send send)
{
    int domain = 0;
    socklen_t length = sizeof domain;
    if (!isRecording() || ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX)
        return send();
    const RecordLock lock;
    const long done = send();
    if (done > 0)
        recordTold(bytes, static_cast<std::size_t>(done));
    return done;
}

long realWrite(int fd, const void *bytes, std::size_t size, off64_t offset, bool isPositioned)
{
    if (isPositioned)
        return ::syscall(SYS_pwrite64, fd, bytes, size, offset);
    return ::syscall(SYS_write, fd, bytes, size);
}
} // namespace

int failed(int code)
{
    errno = code;
    return -1;
}

bool isOurs(int fd)
{
    return g_control && fd >= 0 && fd < kMostFiles && g_isOurs[fd].load(std::memory_order_relaxed);
}

void closed(int fd)
{
    if (fd >= 0 && fd < kMostFiles)
        g_isOurs[fd] = false;
}

ssize_t sent(int fd, const void *bytes, std::size_t size, int flags)
{
    return tell(fd, bytes, [&] { return ::syscall(SYS_sendto, fd, bytes, size, flags, nullptr, 0); });
}

ssize_t changedWrite(int fd, const void *bytes, std::size_t size, off64_t offset, bool isPositioned)
{
    if (!isOurs(fd))
        return tell(fd, bytes, [&] { return realWrite(fd, bytes, size, offset, isPositioned); });
    bool isShort = false;
    if (const int code = faultOf(kWrite, &isShort); code != 0 && !(isShort && size > 1))
        return failed(code);
    const off64_t begin =
        isPositioned ? offset : ::lseek(fd, 0, (::fcntl(fd, F_GETFL) & O_APPEND) ? SEEK_END : SEEK_CUR);
    std::int64_t fitting = isShort ? static_cast<std::int64_t>(size / 2) : static_cast<std::int64_t>(size);
    fitting = takeSpace(fd, begin + fitting, fitting);
    if (fitting <= 0 && size > 0)
        return failed(ENOSPC);
    const RecordLock lock;
    const long done = realWrite(fd, bytes, static_cast<std::size_t>(fitting), offset, isPositioned);
    if (done > 0)
        recordWrite(fd, begin, bytes, static_cast<std::size_t>(done));
    return done;
}

int changedSync(int fd, long call)
{
    if (!isOurs(fd))
        return static_cast<int>(::syscall(call, fd));
    if (const int delay = g_control->syncDelayMs.load(); delay > 0) {
        const timespec wait{delay / 1000, (delay % 1000) * 1'000'000L};
        ::nanosleep(&wait, nullptr);
    }
    if (const int code = faultOf(kSync); code != 0)
        return failed(code);
    if (!isRecording())
        return static_cast<int>(::syscall(call, fd));
    const RecordLock lock;
    recordSync(fd);
    return 0;
}

int openedAt(int folder, const char *path, int flags, mode_t mode)
{
    const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_ACCMODE) != O_RDONLY;
    const bool isBelowFolder = isBelow(path);
    if (!isBelowFolder)
        return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
    if (changes)
        if (const int code = faultOf(kOpen); code != 0)
            return failed(code);
    const RecordLock lock;
    struct stat before = {};
    const bool existed = ::stat(path, &before) == 0;
    if (existed && (flags & O_TRUNC) != 0)
        giveSpace(heldBytes(before));
    const int fd = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
    if (fd < 0 || fd >= kMostFiles)
        return fd;
    g_isOurs[fd] = true;
    if (!existed)
        recordCreate(fd, path);
    else if ((flags & O_TRUNC) != 0)
        recordResize(fd, 0);
    return fd;
}

int resized(int fd, off64_t size)
{
    if (!isOurs(fd))
        return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
    if (const int code = faultOf(kResize); code != 0)
        return failed(code);
    const RecordLock lock;
    struct stat before = {};
    ::fstat(fd, &before);
    const int done = static_cast<int>(::syscall(SYS_ftruncate, fd, size));
    if (done == 0) {
        giveSpace(before.st_blocks * 512 - size);
        recordResize(fd, size);
    }
    return done;
}

int allocated(int fd, int mode, off64_t offset, off64_t size)
{
    if (isOurs(fd)) {
        if (const int code = faultOf(kResize); code != 0)
            return code;
        if (takeSpace(fd, offset + size, size) < size)
            return ENOSPC;
    }
    const RecordLock lock;
    if (::syscall(SYS_fallocate, fd, mode, offset, size) != 0)
        return errno;
    if (struct stat s = {}; isOurs(fd) && (mode & FALLOC_FL_KEEP_SIZE) == 0 && ::fstat(fd, &s) == 0)
        recordResize(fd, s.st_size);
    return 0;
}

int renamedAt(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags)
{
    const bool ours = isBelow(from) || isBelow(to);
    if (ours)
        if (const int code = faultOf(kRename); code != 0)
            return failed(code);
    const RecordLock lock;
    const std::int64_t replaced = ours ? heldByPath(to) : 0;
    const int done = static_cast<int>(::syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
    if (done == 0 && ours) {
        giveSpace(replaced);
        recordPaths(DiskChange::Rename, from, to);
    }
    return done;
}

int linkedAt(int fromFolder, const char *from, int toFolder, const char *to, int flags)
{
    const bool ours = isBelow(to);
    if (ours)
        if (const int code = faultOf(kRename); code != 0)
            return failed(code);
    const RecordLock lock;
    const int done = static_cast<int>(::syscall(SYS_linkat, fromFolder, from, toFolder, to, flags));
    if (done == 0 && ours)
        recordPaths(DiskChange::Link, from, to);
    return done;
}

int unlinkedAt(int folder, const char *path, int flags)
{
    const bool ours = isBelow(path);
    if (ours)
        if (const int code = faultOf(kUnlink); code != 0)
            return failed(code);
    const RecordLock lock;
    const std::int64_t held = ours ? heldByPath(path) : 0;
    const int done = static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
    if (done == 0 && ours) {
        giveSpace(held);
        recordPaths(DiskChange::Unlink, path, "");
    }
    return done;
}

int changedTime(clockid_t clock, timespec *time)
{
    static const auto real = reinterpret_cast<ClockGetTime>(::dlsym(RTLD_NEXT, "clock_gettime"));
    const int done = real(clock, time);
    const std::int64_t offset = g_control ? g_control->wallOffsetNs.load(std::memory_order_relaxed) : 0;
    if (done != 0 || offset == 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return done;
    const std::int64_t ns = time->tv_sec * 1'000'000'000LL + time->tv_nsec + offset;
    time->tv_sec = ns / 1'000'000'000LL;
    time->tv_nsec = ns % 1'000'000'000LL;
    return done;
}

} // namespace gridloom::faults
