// SPDX-License-Identifier: Apache-2.0
// DiskImages: what a disk may hold after the power went at some place of a record (diskrecord.h). What was synced is
// there; of the rest each sector of 512 bytes is there or not by chance, whatever the order of the writes, and so is
// each change of a size. Names follow a journal: of those not synced by their folder a first part is there.
#pragma once

#include "faults/diskrecord.h"

#include <QByteArray>
#include <QHash>
#include <QMap>
#include <QRandomGenerator>
#include <QString>

#include <optional>
#include <vector>

namespace gridloom::faults {

class DiskImages {
public:
    /// `folder` is the one that was recorded, and was empty when that began.
    DiskImages(QByteArray record, const QString &folder) : m_record(std::move(record)), m_folder(folder.toLocal8Bit())
    {
    }

    /// Entries of the record.
    std::size_t size();
    /// Moves on to the place after so many entries; never back.
    void goTo(std::size_t place);
    /// The wall clock there, in microseconds.
    qint64 wallUs() const { return m_wallUs; }
    /// The last whole line that was sent to a local socket before it.
    QByteArray lastLine() const { return m_lastLine; }
    /// Writes one disk of that moment into `target`, an empty folder. What was not synced survives with `chance`.
    void write(const QString &target, double chance, QRandomGenerator &random) const;

private:
    struct Change {
        bool isResize = false;
        qint64 offset = 0; ///< of a resize: the new size
        QByteArray data;
    };
    struct File {
        QByteArray durable;
        std::vector<Change> pending;
    };
    struct NameChange {
        DiskChange kind;
        QByteArray path, other;
        int file = -1; ///< of a Create
    };
    using Names = QMap<QByteArray, int>;

    std::optional<DiskEntry> next(QByteArrayView &path, QByteArrayView &data);
    void take(const DiskEntry &entry, const QByteArray &path, const QByteArray &data);
    void takeTold(const QByteArray &data);
    static void apply(Names &names, const NameChange &change);
    static void apply(QByteArray &content, const Change &change, double chance, QRandomGenerator &random);

    const QByteArray m_record;
    const QByteArray m_folder;
    qsizetype m_at = 0;
    std::size_t m_place = 0;
    std::vector<File> m_files;
    QHash<quint64, int> m_fileOfInode;
    Names m_names; ///< durable ones
    std::vector<NameChange> m_nameChanges;
    qint64 m_wallUs = 0;
    QByteArray m_told, m_lastLine;
};

} // namespace gridloom::faults
