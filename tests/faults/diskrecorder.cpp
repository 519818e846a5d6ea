// SPDX-License-Identifier: Apache-2.0
#include "faults/diskrecorder.h"

#include <climits>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gridloom::faults {

namespace {
int g_record = -1;
pthread_mutex_t g_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void append(DiskEntry entry, const char *path, const void *data)
{
    if (g_record < 0)
        return;
    timespec now = {};
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    entry.wallNs = now.tv_sec * 1'000'000'000LL + now.tv_nsec;
    const iovec parts[] = {{&entry, sizeof entry},
                           {const_cast<char *>(path), entry.pathBytes},
                           {const_cast<void *>(data), entry.dataBytes}};
    ::syscall(SYS_writev, g_record, parts, 3);
}

struct stat statusOf(int fd)
{
    struct stat s = {};
    ::fstat(fd, &s);
    return s;
}
} // namespace

void openDiskRecord(const char *path)
{
    g_record = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

bool isRecording()
{
    return g_record >= 0;
}

RecordLock::RecordLock()
{
    if (g_record >= 0)
        ::pthread_mutex_lock(&g_mutex);
}

RecordLock::~RecordLock()
{
    if (g_record >= 0)
        ::pthread_mutex_unlock(&g_mutex);
}

void recordCreate(int fd, const char *path)
{
    DiskEntry entry{DiskChange::Create, static_cast<std::uint32_t>(std::strlen(path)), 0, 0, statusOf(fd).st_ino, 0, 0};
    append(entry, path, nullptr);
}

void recordWrite(int fd, std::int64_t offset, const void *bytes, std::size_t size)
{
    append({DiskChange::Write, 0, static_cast<std::uint32_t>(size), 0, statusOf(fd).st_ino, offset, 0}, nullptr, bytes);
}

void recordResize(int fd, std::int64_t size)
{
    append({DiskChange::Resize, 0, 0, 0, statusOf(fd).st_ino, size, 0}, nullptr, nullptr);
}

void recordSync(int fd)
{
    const struct stat s = statusOf(fd);
    if (!S_ISDIR(s.st_mode)) {
        append({DiskChange::Sync, 0, 0, 0, s.st_ino, 0, 0}, nullptr, nullptr);
        return;
    }
    char link[64];
    char path[PATH_MAX];
    std::strcpy(link, "/proc/self/fd/");
    char digits[16];
    int n = 0;
    for (int rest = fd; rest > 0 || n == 0; rest /= 10)
        digits[n++] = static_cast<char>('0' + rest % 10);
    std::size_t at = std::strlen(link);
    while (n > 0)
        link[at++] = digits[--n];
    link[at] = '\0';
    const ssize_t length = ::readlink(link, path, sizeof path - 1);
    if (length > 0)
        append({DiskChange::SyncFolder, static_cast<std::uint32_t>(length), 0, 0, s.st_ino, 0, 0}, path, nullptr);
}

void recordPaths(DiskChange change, const char *path, const char *other)
{
    append({change, static_cast<std::uint32_t>(std::strlen(path)), static_cast<std::uint32_t>(std::strlen(other)), 0, 0,
            0, 0},
           path, other);
}

void recordTold(const void *bytes, std::size_t size)
{
    append({DiskChange::Told, 0, static_cast<std::uint32_t>(size), 0, 0, 0, 0}, nullptr, bytes);
}

} // namespace gridloom::faults
