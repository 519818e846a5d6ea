// SPDX-License-Identifier: Apache-2.0
// RecordStatements: the prepared statements by which records enter records.db. Used on the thread of the connection.
#pragma once

#include "daemon/records/recordlog.h"

#include <QSqlDatabase>
#include <QSqlQuery>

namespace gridloom {

/// Code of the errors that mean: the file is no longer a database.
inline constexpr QLatin1String kDamagedDatabase("records.damaged");
/// kDamagedDatabase or "records.database", with the file's name; retryable.
Error databaseError(const QSqlDatabase &database, const QSqlError &error);

class RecordStatements {
public:
    explicit RecordStatements(const QSqlDatabase &database);
    /// Once, when the tables are there.
    Result<void> prepare();

    /// A row more; of an acknowledgement: the message's row less.
    Result<void> store(RecordNumber number, const Record &record);
    Result<void> setMeta(const QString &key, std::uint64_t value);

private:
    Result<void> run(QSqlQuery &query);
    QSqlDatabase m_database;
    QSqlQuery m_insertAlarm, m_insertControl, m_insertRun, m_insertOutbox, m_removeOutbox, m_setMeta;
};

} // namespace gridloom
