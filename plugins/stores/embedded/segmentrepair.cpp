// SPDX-License-Identifier: Apache-2.0
#include "segmentrepair.h"

#include "sdk/appendfile.h"

#include <QFile>
#include <QFileInfo>

namespace gridloom {

namespace {
struct Scan {
    SegmentState state;
    qsizetype firstDamage = -1;
    qsizetype damagedBytes = 0;
};

Scan scan(const QByteArray &file)
{
    Scan result;
    result.state.bytes = file.size();
    SegmentReader reader(file);
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item == SegmentReader::Item::Row)
            result.state.summary.include(reader.row().timeMs);
    }
    result.firstDamage = reader.firstDamage();
    result.damagedBytes = reader.damagedBytes();
    return result;
}

Result<void> removeFile(const QString &path)
{
    if (QFile::remove(path))
        return {};
    return Error{QStringLiteral("file.failed"), QStringLiteral("%1 cannot be removed; check the disk").arg(path), true};
}

QString faultText(const QString &path, const QString &aside, const QString &what)
{
    return QStringLiteral("%1 was damaged: %2. The bad file is kept as %3; examine or delete it.")
        .arg(path, what, QFileInfo(aside).fileName());
}

Result<SegmentState> discard(const QString &path, WallTime now, QStringList &faults)
{
    const auto aside = keepAside(path, now);
    if (!aside)
        return aside.error();
    if (const auto removed = removeFile(path); !removed)
        return removed.error();
    faults << faultText(path, aside.value(),
                        QStringLiteral("its start is not that of a history file, its rows are lost"));
    return SegmentState();
}

// Both in one file that replaces the old one in a single step: a crash leaves the old or the new one.
Result<void> replace(const QString &path, const QByteArray &content)
{
    const auto written = AppendFile::create(path, content);
    return written ? Result<void>() : Result<void>(written.error());
}
} // namespace

Result<QByteArray> readSegmentFile(const QString &path)
{
    QFile file(path);
    if (file.open(QIODevice::ReadOnly)) {
        const QByteArray bytes = file.readAll();
        if (file.error() == QFileDevice::NoError)
            return bytes;
    }
    return Error{QStringLiteral("store.readFailed"),
                 QStringLiteral("%1 cannot be read: %2; check the disk").arg(path, file.errorString()), true};
}

Result<SegmentState> openSegment(const QString &path, WallTime now, QStringList &faults)
{
    QFile file(path);
    if (file.open(QIODevice::ReadOnly) && isSegment(file.read(kFileHeaderSize))
        && file.seek(std::max<qint64>(0, file.size() - SegmentReader::kSummarySize))) {
        SegmentState state;
        state.bytes = file.size();
        if (SegmentReader::summaryAtEnd(file.read(SegmentReader::kSummarySize), state.summary))
            return state;
    }
    return mendSegment(path, now, faults);
}

Result<SegmentState> scanSegment(const QString &path)
{
    const auto file = readSegmentFile(path);
    return file ? Result<SegmentState>(scan(file.value()).state) : file.error();
}

Result<SegmentState> mendSegment(const QString &path, WallTime now, QStringList &faults)
{
    const auto file = readSegmentFile(path);
    if (!file)
        return file.error();
    if (!isSegment(file.value()))
        return discard(path, now, faults);

    Scan found = scan(file.value());
    if (found.firstDamage < 0)
        return found.state;
    QByteArray content = salvageSegment(file.value());
    SegmentEncoder(content).summary(found.state.summary);
    const auto aside = keepAside(path, now);
    if (!aside)
        return aside.error();
    if (const auto written = replace(path, content); !written)
        return written.error();
    faults << faultText(
        path, aside.value(),
        QStringLiteral("%1 bytes from offset %2 on cannot be read").arg(found.damagedBytes).arg(found.firstDamage));
    found.state.bytes = content.size();
    return found.state;
}

} // namespace gridloom
