// SPDX-License-Identifier: Apache-2.0
// RecordsDatabase: records.db, where people and tools read alarms, control and trigger runs. It is written from closed
// logs, one transaction each. Used on the thread that opened it; every call blocks on the disk.
#pragma once

#include "daemon/records/recordstatements.h"
#include "daemon/records/recordtables.h"

#include <QSqlDatabase>
#include <QStringList>

#include <map>
#include <memory>
#include <optional>

namespace gridloom {

/// What the next start asks for: all that must not be lost with a damaged database when it can still be read.
struct KeptRecords {
    std::vector<OutboxEntry> outbox; ///< unacknowledged messages, oldest first
    std::vector<AlarmTransition> openAlarms;
    std::map<QString, QByteArray> states;
    QStringList damagedStates;         ///< keys; SQLite keeps no checksum of its own
    std::vector<CommandReply> replies; ///< oldest first
    std::optional<DeploymentRecord> lastDeployment;
};

class RecordsDatabase {
public:
    /// Opens or creates the database; one of an older version gets what it lacks. With `isChecked` its pages are checked
    /// first. A damaged one, or one of a newer version, is kept aside, replaced by an empty one, and a text is added to
    /// `faults`; what of kept() can be read is taken over. Errors "records.database" (retryable).
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
    Result<KeptRecords> kept();

    /// Takes a log's records in, in one transaction. Records that are in already are left out, so that a crash
    /// between this and the removal of the log doubles nothing. Durable when it returns. Errors "records.database" and
    /// "records.damaged" (set aside by the next open()).
    Result<void> move(const LogContents &log, WallTime now);

    /// Bytes this object has written to the database and its journal.
    std::uint64_t bytesWritten() const { return m_bytesWritten; }

private:
    explicit RecordsDatabase(const RecordsRetention &retention);
    Result<void> prepare(const QString &path, bool isChecked);
    Result<void> run(const QString &sql);
    Result<void> check(bool isWhole);
    Result<void> migrate();
    Result<void> readMeta();
    Result<void> writeMeta(const LogContents &log);
    Result<void> insert(const LogContents &log);
    Result<void> moveInTransaction(const LogContents &log, WallTime now);
    IdBounds boundsAfter(const LogContents &log) const;
    Result<void> takeOver(const KeptRecords &kept);
    template<typename Fill>
    Result<void> select(QLatin1String sql, const Fill &fill);

    const RecordsRetention m_retention;
    QString m_connection;
    QString m_path;
    QSqlDatabase m_db;
    std::unique_ptr<RecordStatements> m_statements;
    std::unique_ptr<RecordTables> m_tables;
    RecordNumber m_lastMoved = 0;
    IdBounds m_bounds;
    bool m_hasBounds = false;
    bool m_isVersionOne = false;
    std::uint64_t m_bytesWritten = 0;
};

} // namespace gridloom
