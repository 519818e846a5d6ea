// SPDX-License-Identifier: Apache-2.0
#include "storefolder.h"

#include <QDir>
#include <QFile>

namespace gridloom::test {

using std::chrono::milliseconds;

HistoryRow row(PointHandle point, std::int64_t atMs, Value value, int trigger, std::uint64_t run)
{
    return {point, Quality::Good, std::move(value), kStart + milliseconds(atMs), trigger, run};
}

std::vector<HistoryRow> numbers(int first, int count, PointHandle point)
{
    std::vector<HistoryRow> rows;
    for (int i = first; i < first + count; ++i)
        rows.push_back(row(point, i, Value(i)));
    return rows;
}

std::vector<HistoryRow> all(EmbeddedStore &store, const QString &id, WallTime from, WallTime to)
{
    std::vector<HistoryRow> rows;
    const auto read = store.reader()->query(id, from, to, [&](const HistoryRow &r) {
        rows.push_back(r);
        return true;
    });
    return read ? rows : std::vector<HistoryRow>();
}

bool areNumbers(const std::vector<HistoryRow> &rows, int first, int count)
{
    if (rows.size() != static_cast<std::size_t>(count))
        return false;
    for (int i = 0; i < count; ++i) {
        const HistoryRow &r = rows[static_cast<std::size_t>(i)];
        if (r.value != Value(first + i) || r.time != kStart + milliseconds(first + i))
            return false;
    }
    return true;
}

QByteArray readFile(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}
void writeFile(const QString &path, const QByteArray &bytes)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", qPrintable(path));
}

void StoreFolder::renew()
{
    // In memory where possible: what is tested here does not depend on the disk, and its syncs take their time.
    m_dir = std::make_unique<QTemporaryDir>(QStringLiteral("/dev/shm/gridloom-store-XXXXXX"));
    if (!m_dir->isValid())
        m_dir = std::make_unique<QTemporaryDir>();
    m_folder = m_dir->filePath(QStringLiteral("history"));
}

Result<void> StoreFolder::open(EmbeddedStore &store, int segmentMb, int quotaMb)
{
    return store.open({{{QStringLiteral("segmentMb"), segmentMb}, {QStringLiteral("quotaMb"), quotaMb}},
                       m_folder,
                       kSeries,
                       kTriggers,
                       "Europe/Vienna"});
}

QString StoreFolder::path(int number) const
{
    return QStringLiteral("%1/%2.gls").arg(m_folder).arg(number, 8, 10, QLatin1Char('0'));
}

QStringList StoreFolder::files(const char *pattern) const
{
    return QDir(m_folder).entryList({QLatin1String(pattern)}, QDir::Files);
}

} // namespace gridloom::test
