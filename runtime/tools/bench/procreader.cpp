// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/procreader.h"

#include <QFile>
#include <QList>

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gridloom {

std::optional<DeviceCpu> parseDeviceCpu(const QByteArray &stat)
{
    // "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; guest is part of user already.
    const QList<QByteArray> fields = stat.left(stat.indexOf('\n')).simplified().split(' ');
    if (fields.size() < 9 || fields[0] != "cpu")
        return {};
    const auto ticks = [&fields](int i) { return fields[i].toULongLong(); };
    return DeviceCpu{ticks(1) + ticks(2) + ticks(3) + ticks(6) + ticks(7) + ticks(8), ticks(5), ticks(4)};
}

std::optional<std::uint64_t> parseMemoryUsedKb(const QByteArray &meminfo)
{
    std::optional<std::uint64_t> total, available;
    for (const QByteArray &line : meminfo.split('\n')) {
        const QList<QByteArray> fields = line.simplified().split(' ');
        if (fields.size() < 2)
            continue;
        if (fields[0] == "MemTotal:")
            total = fields[1].toULongLong();
        else if (fields[0] == "MemAvailable:")
            available = fields[1].toULongLong();
    }
    if (!total || !available)
        return {};
    return *total - *available;
}

std::optional<ProcessUse> parseProcessUse(const QByteArray &stat)
{
    // Fields are numbered from 1 in proc(5); the second is the name in brackets, so count from the last bracket.
    const QList<QByteArray> fields = stat.mid(stat.lastIndexOf(')') + 1).simplified().split(' ');
    constexpr int kFirst = 3;
    const auto field = [&fields](int number) { return fields[number - kFirst].toULongLong(); };
    if (fields.size() < 24 - kFirst + 1)
        return {};
    return ProcessUse{field(14) + field(15) + field(16) + field(17), field(24), static_cast<int>(field(20))};
}

std::optional<std::uint64_t> parseWrittenBytes(const QByteArray &io)
{
    for (const QByteArray &line : io.split('\n')) {
        const QList<QByteArray> fields = line.split(' ');
        if (fields.value(0) == "write_bytes:")
            return fields.value(1).toULongLong();
    }
    return {};
}

std::optional<std::uint64_t> parseDiskWritten(const QByteArray &stat)
{
    constexpr int kSectorsWritten = 6;
    constexpr std::uint64_t kSector = 512;
    const QList<QByteArray> fields = stat.simplified().split(' ');
    if (fields.size() <= kSectorsWritten)
        return {};
    return fields[kSectorsWritten].toULongLong() * kSector;
}

QByteArray diskStatPath(const QString &folder)
{
    struct stat status {};
    if (::stat(QFile::encodeName(folder).constData(), &status) != 0)
        return {};
    return "/sys/dev/block/" + QByteArray::number(major(status.st_dev)) + ':' + QByteArray::number(minor(status.st_dev))
        + "/stat";
}

QByteArray readWhole(const char *path)
{
    QFile file(QString::fromLocal8Bit(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace gridloom
