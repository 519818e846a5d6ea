// SPDX-License-Identifier: Apache-2.0
#include "faults/diskimages.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <cstring>

namespace gridloom::faults {

namespace {
constexpr qint64 kSector = 512;

QByteArray folderOf(const QByteArray &path)
{
    return path.left(path.lastIndexOf('/'));
}
} // namespace

std::optional<DiskEntry> DiskImages::next(QByteArrayView &path, QByteArrayView &data)
{
    DiskEntry entry{};
    const QByteArrayView rest = QByteArrayView(m_record).sliced(m_at);
    if (rest.size() < qsizetype{sizeof entry})
        return std::nullopt;
    std::memcpy(&entry, rest.data(), sizeof entry);
    const qsizetype whole = qsizetype{sizeof entry} + entry.pathBytes + entry.dataBytes;
    if (rest.size() < whole)
        return std::nullopt;
    path = rest.sliced(sizeof entry, entry.pathBytes);
    data = rest.sliced(qsizetype{sizeof entry} + entry.pathBytes, entry.dataBytes);
    m_at += whole;
    return entry;
}

std::size_t DiskImages::size()
{
    const qsizetype before = std::exchange(m_at, 0);
    std::size_t n = 0;
    QByteArrayView path, data;
    while (next(path, data))
        ++n;
    m_at = before;
    return n;
}

void DiskImages::goTo(std::size_t place)
{
    QByteArrayView path, data;
    while (m_place < place) {
        const auto entry = next(path, data);
        if (!entry)
            return;
        ++m_place;
        m_wallUs = entry->wallNs / 1'000;
        take(*entry, path.toByteArray(), data.toByteArray());
    }
}

void DiskImages::take(const DiskEntry &entry, const QByteArray &path, const QByteArray &data)
{
    const int file = m_fileOfInode.value(entry.inode, -1);
    switch (entry.change) {
    case DiskChange::Create:
        m_fileOfInode[entry.inode] = static_cast<int>(m_files.size());
        m_nameChanges.push_back({entry.change, path, {}, static_cast<int>(m_files.size())});
        m_files.emplace_back();
        break;
    case DiskChange::Write:
    case DiskChange::Resize:
        if (file >= 0)
            m_files[static_cast<std::size_t>(file)].pending.push_back(
                {entry.change == DiskChange::Resize, entry.offset, data});
        break;
    case DiskChange::Sync:
        if (file >= 0) {
            File &synced = m_files[static_cast<std::size_t>(file)];
            for (const Change &change : std::exchange(synced.pending, {}))
                apply(synced.durable, change, 1.0, *QRandomGenerator::global());
        }
        break;
    case DiskChange::SyncFolder:
        std::erase_if(m_nameChanges, [&](const NameChange &change) {
            if (folderOf(change.path) != path)
                return false;
            apply(m_names, change);
            return true;
        });
        break;
    case DiskChange::Rename:
    case DiskChange::Link:
    case DiskChange::Unlink: m_nameChanges.push_back({entry.change, path, data, -1}); break;
    case DiskChange::Told: takeTold(data); break;
    }
}

void DiskImages::takeTold(const QByteArray &data)
{
    m_told += data;
    const qsizetype end = m_told.lastIndexOf('\n');
    if (end < 0)
        return;
    m_lastLine = m_told.left(end).mid(m_told.lastIndexOf('\n', end - 1) + 1);
    m_told = m_told.mid(end + 1);
}

void DiskImages::apply(Names &names, const NameChange &change)
{
    switch (change.kind) {
    case DiskChange::Create: names[change.path] = change.file; break;
    case DiskChange::Rename:
        if (const auto it = names.find(change.path); it != names.end()) {
            const int file = *it;
            names.erase(it);
            names[change.other] = file;
        }
        break;
    case DiskChange::Link:
        if (names.contains(change.path))
            names[change.other] = names.value(change.path);
        break;
    case DiskChange::Unlink: names.remove(change.path); break;
    default: break;
    }
}

void DiskImages::apply(QByteArray &content, const Change &change, double chance, QRandomGenerator &random)
{
    const auto survives = [&] { return chance >= 1.0 || (chance > 0.0 && random.generateDouble() < chance); };
    if (change.isResize) {
        if (survives())
            content.resize(change.offset, '\0');
        return;
    }
    for (qint64 at = change.offset; at < change.offset + change.data.size();) {
        const qint64 end = std::min((at / kSector + 1) * kSector, change.offset + change.data.size());
        if (survives()) {
            if (content.size() < end)
                content.resize(end, '\0');
            std::memcpy(content.data() + at, change.data.constData() + (at - change.offset),
                        static_cast<std::size_t>(end - at));
        }
        at = end;
    }
}

void DiskImages::write(const QString &target, double chance, QRandomGenerator &random) const
{
    Names names = m_names;
    const auto surviving = chance >= 1.0 ? m_nameChanges.size()
                                         : static_cast<std::size_t>(random.bounded(
                                             static_cast<int>(static_cast<double>(m_nameChanges.size()) * chance) + 1));
    for (std::size_t i = 0; i < surviving; ++i)
        apply(names, m_nameChanges[i]);
    for (auto it = names.cbegin(); it != names.cend(); ++it) {
        // The index of SQLite's journal lives in memory and is made anew.
        if (it.key().endsWith("-shm"))
            continue;
        const File &file = m_files[static_cast<std::size_t>(it.value())];
        QByteArray content = file.durable;
        for (const Change &change : file.pending)
            apply(content, change, chance, random);
        const QString path = target + QString::fromLocal8Bit(it.key().mid(m_folder.size()));
        QDir().mkpath(QFileInfo(path).path());
        QFile out(path);
        if (!out.open(QIODevice::WriteOnly) || out.write(content) != content.size())
            qFatal("%s cannot be written", qPrintable(path));
    }
}

} // namespace gridloom::faults
