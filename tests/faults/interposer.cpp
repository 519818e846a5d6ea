// SPDX-License-Identifier: Apache-2.0
// libgridloom_faults.so: stands in for system calls of a process that it is preloaded into (LD_PRELOAD); what they do is
// in faultycalls.h.
#include "faults/faultycalls.h"

#include <cerrno>
#include <cstdarg>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace gridloom::faults;

namespace {
mode_t modeOf(int flags, va_list arguments)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}
} // namespace

extern "C" {
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = modeOf(flags, arguments);
    va_end(arguments);
    return openedAt(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = modeOf(flags, arguments);
    va_end(arguments);
    return openedAt(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = modeOf(flags, arguments);
    va_end(arguments);
    return openedAt(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = modeOf(flags, arguments);
    va_end(arguments);
    return openedAt(folder, path, flags | O_LARGEFILE, mode);
}
int close(int fd)
{
    closed(fd);
    return static_cast<int>(::syscall(SYS_close, fd));
}
ssize_t write(int fd, const void *bytes, size_t size)
{
    return changedWrite(fd, bytes, size, 0, false);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return changedWrite(fd, bytes, size, offset, true);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return changedWrite(fd, bytes, size, offset, true);
}
ssize_t writev(int fd, const iovec *parts, int count)
{
    if (!isOurs(fd))
        return ::syscall(SYS_writev, fd, parts, count);
    ssize_t all = 0; // for files one part after the other says the same
    for (int i = 0; i < count; ++i) {
        const ssize_t done = changedWrite(fd, parts[i].iov_base, parts[i].iov_len, 0, false);
        if (done < 0)
            return all > 0 ? all : done;
        all += done;
        if (static_cast<size_t>(done) < parts[i].iov_len)
            break;
    }
    return all;
}
int fdatasync(int fd)
{
    return changedSync(fd, SYS_fdatasync);
}
int fsync(int fd)
{
    return changedSync(fd, SYS_fsync);
}
int ftruncate(int fd, off_t size) noexcept
{
    return resized(fd, size);
}
int ftruncate64(int fd, off64_t size) noexcept
{
    return resized(fd, size);
}
int posix_fallocate(int fd, off_t offset, off_t size)
{
    return allocated(fd, 0, offset, size);
}
int posix_fallocate64(int fd, off64_t offset, off64_t size)
{
    return allocated(fd, 0, offset, size);
}
int fallocate(int fd, int mode, off_t offset, off_t size)
{
    const int code = allocated(fd, mode, offset, size);
    return code != 0 ? failed(code) : 0;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t size)
{
    const int code = allocated(fd, mode, offset, size);
    return code != 0 ? failed(code) : 0;
}
int rename(const char *from, const char *to) noexcept
{
    return renamedAt(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat2(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags) noexcept
{
    return renamedAt(fromFolder, from, toFolder, to, flags);
}
int link(const char *from, const char *to) noexcept
{
    return linkedAt(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int fromFolder, const char *from, int toFolder, const char *to, int flags) noexcept
{
    return linkedAt(fromFolder, from, toFolder, to, flags);
}
int unlink(const char *path) noexcept
{
    return unlinkedAt(AT_FDCWD, path, 0);
}
int unlinkat(int folder, const char *path, int flags) noexcept
{
    return unlinkedAt(folder, path, flags);
}
int remove(const char *path) noexcept
{
    const int done = unlinkedAt(AT_FDCWD, path, 0);
    return done == 0 || errno != EISDIR ? done : ::rmdir(path);
}
ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    return sent(fd, bytes, size, flags);
}
int clock_gettime(clockid_t clock, timespec *time) noexcept
{
    return changedTime(clock, time);
}
int gettimeofday(timeval *time, void *) noexcept
{
    timespec now = {};
    const int done = changedTime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return done;
}
time_t time(time_t *out) noexcept
{
    timespec now = {};
    changedTime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
}
