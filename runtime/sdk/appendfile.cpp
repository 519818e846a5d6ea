// SPDX-License-Identifier: Apache-2.0
#include "sdk/appendfile.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTimeZone>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gridloom {

namespace {
constexpr qsizetype kKeptAside = 5;

Error diskError(const char *step, const QString &path, int code)
{
    const bool isFull = code == ENOSPC || code == EDQUOT || code == EFBIG;
    const QString advice = isFull ? QStringLiteral("free space or lower the quota") : QStringLiteral("check the disk");
    return {isFull ? QStringLiteral("file.full") : QStringLiteral("file.failed"),
            QStringLiteral("%1: %2 failed: %3; %4")
                .arg(path, QLatin1String(step), QString::fromLocal8Bit(std::strerror(code)), advice),
            isFull || code == EINTR || code == EAGAIN};
}

// 0 or an errno.
int writeAll(int fd, QByteArrayView bytes, qint64 offset)
{
    while (!bytes.isEmpty()) {
        const ssize_t n = ::pwrite(fd, bytes.data(), static_cast<std::size_t>(bytes.size()), offset);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            return ENOSPC;
        if (n > 0) {
            bytes = bytes.sliced(n);
            offset += n;
        }
    }
    return 0;
}

void removeOldAsides(const QString &folder)
{
    // Newest first by the time in the name; a wrong clock costs at most the wrong one of them.
    QStringList names = QDir(folder).entryList({QStringLiteral("*.corrupt-*")}, QDir::Files);
    const auto stamp = [](const QString &name) { return name.section(QStringLiteral(".corrupt-"), -1); };
    std::sort(names.begin(), names.end(), [&](const auto &a, const auto &b) { return stamp(a) > stamp(b); });
    for (qsizetype i = kKeptAside; i < names.size(); ++i)
        QFile::remove(folder + QLatin1Char('/') + names[i]);
}
} // namespace

AppendFile::AppendFile(int fd, QString path, qint64 size) : m_fd(fd), m_size(size), m_path(std::move(path)) {}

Result<AppendFile> AppendFile::create(const QString &path, QByteArrayView head, qint64 reserve)
{
    const QByteArray target = QFile::encodeName(path);
    const QByteArray temporary = target + ".new";
    const int fd = ::open(temporary.constData(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0)
        return diskError("creating the file", path, errno);
    AppendFile file(fd, path, head.size());
    const char *step = "writing a new file";
    int code = writeAll(fd, head, 0);
    if (code == 0 && reserve > 0) {
        step = "reserving space";
        code = ::posix_fallocate(fd, head.size(), reserve);
    }
    if (code == 0) {
        step = "syncing a new file";
        code = ::fdatasync(fd) != 0 ? errno : 0;
    }
    if (code == 0) {
        step = "renaming a new file";
        code = ::rename(temporary.constData(), target.constData()) != 0 ? errno : 0;
    }
    if (code != 0) {
        ::unlink(temporary.constData());
        return diskError(step, path, code);
    }
    if (const auto synced = syncFolder(QFileInfo(path).path()); !synced)
        return synced.error();
    return file;
}

Result<AppendFile> AppendFile::open(const QString &path)
{
    const int fd = ::open(QFile::encodeName(path).constData(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return diskError("opening the file", path, errno);
    struct stat status = {};
    if (::fstat(fd, &status) != 0) {
        const int code = errno;
        ::close(fd);
        return diskError("opening the file", path, code);
    }
    return AppendFile(fd, path, status.st_size);
}

Result<AppendFile> AppendFile::open(const QString &path, qint64 size)
{
    auto file = open(path);
    if (file)
        file.value().m_size = size;
    return file;
}

AppendFile::~AppendFile()
{
    close();
}

AppendFile::AppendFile(AppendFile &&other) noexcept
    : m_fd(std::exchange(other.m_fd, -1)), m_size(other.m_size), m_isBroken(other.m_isBroken),
      m_path(std::move(other.m_path))
{
}

AppendFile &AppendFile::operator=(AppendFile &&other) noexcept
{
    if (this != &other) {
        close();
        m_fd = std::exchange(other.m_fd, -1);
        m_size = other.m_size;
        m_isBroken = other.m_isBroken;
        m_path = std::move(other.m_path);
    }
    return *this;
}

Result<void> AppendFile::append(QByteArrayView bytes)
{
    if (const int code = writeAll(m_fd, bytes, m_size); code != 0) {
        // A part may be in the file. What it reports is the reason of the write, also when cutting back fails.
        static_cast<void>(truncate(m_size));
        return diskError("appending", m_path, code);
    }
    m_size += bytes.size();
    return {};
}

Result<void> AppendFile::sync()
{
    if (::fdatasync(m_fd) == 0)
        return {};
    const int code = errno;
    m_isBroken = true;
    return diskError("fdatasync", m_path, code);
}

Result<void> AppendFile::truncate(qint64 size)
{
    if (::ftruncate(m_fd, size) != 0) {
        const int code = errno;
        m_isBroken = true;
        return diskError("cutting back the file", m_path, code);
    }
    m_size = size;
    return {};
}

void AppendFile::close()
{
    if (m_fd >= 0)
        ::close(m_fd);
    m_fd = -1;
}

Result<void> syncFolder(const QString &folder)
{
    const int fd = ::open(QFile::encodeName(folder).constData(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return diskError("opening the folder", folder, errno);
    const int code = ::fsync(fd) != 0 ? errno : 0;
    ::close(fd);
    if (code != 0)
        return diskError("syncing the folder", folder, code);
    return {};
}

Result<QString> keepAside(const QString &path, WallTime now)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    const QString stem = path + QStringLiteral(".corrupt-")
        + QDateTime::fromSecsSinceEpoch(seconds, QTimeZone::utc()).toString(QStringLiteral("yyyyMMddTHHmmssZ"));
    for (int attempt = 1; attempt < 100; ++attempt) {
        const QString aside = attempt == 1 ? stem : QStringLiteral("%1-%2").arg(stem).arg(attempt);
        const QByteArray from = QFile::encodeName(path);
        const QByteArray to = QFile::encodeName(aside);
        int code = ::link(from.constData(), to.constData()) != 0 ? errno : 0;
        // A file system without hard links (vfat): a copy does the same.
        if (code == EPERM || code == EOPNOTSUPP)
            code = QFile::copy(path, aside) ? 0 : EEXIST;
        if (code == EEXIST)
            continue;
        if (code != 0)
            return diskError("keeping a damaged file", path, code);
        removeOldAsides(QFileInfo(path).path());
        return aside;
    }
    return diskError("keeping a damaged file", path, EEXIST);
}

} // namespace gridloom
