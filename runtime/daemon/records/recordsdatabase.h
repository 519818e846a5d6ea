// SPDX-License-Identifier: Apache-2.0
// RecordsDatabase: records.db, where people and tools read alarms, control and trigger runs. It is written from closed
// logs, one transaction each. Used on the thread that opened it; every call blocks on the disk.
#pragma once

#include "daemon/records/recordstatements.h"

#include <QSqlDatabase>
#include <QStringList>

#include <array>

namespace gridloom {

/// How many rows of each kind are kept; the oldest go first.
struct RecordsRetention {
    std::int64_t alarmTransitions = 500'000;
    std::int64_t controlRecords = 500'000;
    std::int64_t runRecords = 200'000;
};

class RecordsDatabase {
public:
    /// Opens or creates the database. With `isChecked` its pages are checked first. A damaged one is kept
    /// aside, replaced by an empty one, and a text is added to `faults`; messages of its outbox that can be
    /// read are taken over. Errors "records.database" (retryable).
    static Result<std::unique_ptr<RecordsDatabase>> open(const QString &path, const RecordsRetention &retention,
                                                         bool isChecked, WallTime now, QStringList &faults);
    ~RecordsDatabase();
    RecordsDatabase(const RecordsDatabase &) = delete;
    RecordsDatabase &operator=(const RecordsDatabase &) = delete;

    /// Records up to this number are in the database already.
    RecordNumber lastMoved() const { return m_lastMoved; }
    const IdBounds &bounds() const { return m_bounds; }
    /// Whether `bounds` was ever stored.
    bool hasBounds() const { return m_hasBounds; }
    /// Unacknowledged messages, oldest first.
    Result<std::vector<OutboxEntry>> outbox();

    /// Takes a log's records in, in one transaction. Records that are in already are left out, so that a crash
    /// between this and the removal of the log doubles nothing. Durable when it returns. Errors "records.database" and
    /// "records.damaged" (set aside by the next open()).
    Result<void> move(const LogContents &log);

    /// Bytes this object has written to the database and its journal.
    std::uint64_t bytesWritten() const { return m_bytesWritten; }

private:
    struct Table;
    static const std::array<Table, 3> kTables;

    explicit RecordsDatabase(const RecordsRetention &retention);
    Result<void> prepare(const QString &path, bool isChecked);
    Result<void> run(const QString &sql);
    Result<std::int64_t> number(const QString &sql);
    Result<void> readMeta();
    Result<void> writeMeta(const LogContents &log);
    Result<void> insert(const LogContents &log);
    Result<void> removeOldRows();
    Result<void> moveInTransaction(const LogContents &log);
    void flushJournal();
    Result<void> takeOver(const IdBounds &bounds, const std::vector<OutboxEntry> &outbox);

    const RecordsRetention m_retention;
    QString m_connection;
    QString m_path;
    QSqlDatabase m_db;
    std::unique_ptr<RecordStatements> m_statements;
    RecordNumber m_lastMoved = 0;
    IdBounds m_bounds;
    bool m_hasBounds = false;
    std::array<std::int64_t, 3> m_rowCounts{}; ///< of kTables
    std::uint64_t m_bytesWritten = 0;
};

} // namespace gridloom
