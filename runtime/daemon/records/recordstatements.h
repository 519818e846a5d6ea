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

/// Of a severity in the database; Medium for one that is unknown.
Severity severityOf(const QString &text);

class RecordStatements {
public:
    explicit RecordStatements(const QSqlDatabase &database);
    /// Once, when the tables are there.
    Result<void> prepare();

    /// A row more; of an acknowledgement or an empty state: a row less. Audit rows are chained: the hash of each is the
    /// SHA-256 of the hash of the row before (32 zero bytes for the first) and of number, time in us, who, act, object,
    /// detail and allowed (0, 1), each as text in UTF-8 with a zero byte after it.
    Result<void> store(RecordNumber number, const Record &record);
    /// What an alarm is in since its newest transition; no row while that is Normal.
    Result<void> storeAlarmState(const AlarmTransition &newest);
    Result<void> setMeta(const QString &key, std::uint64_t value);

private:
    Result<void> insert(qlonglong number, const AlarmTransition &alarm);
    Result<void> insert(qlonglong number, const ControlRecord &control);
    Result<void> insert(qlonglong number, const RunRecord &trigger);
    Result<void> insert(qlonglong number, const OutboxEntry &entry);
    Result<void> insert(qlonglong number, const OutboxAcknowledged &acknowledged);
    Result<void> insert(qlonglong number, const StateRecord &state);
    Result<void> insert(qlonglong number, const AuditRecord &audit);
    Result<void> insert(qlonglong number, const DeploymentRecord &deployment);
    Result<void> insert(qlonglong number, const CoordinationRecord &task);
    Result<void> insert(qlonglong number, const CommandReply &reply);
    Result<void> insert(qlonglong number, const NumbersUsed &used);
    Result<QByteArray> auditHashBefore(qlonglong number);
    Result<void> run(QSqlQuery &query, std::initializer_list<QVariant> values);
    QSqlDatabase m_database;
    QSqlQuery m_insertAlarm, m_insertControl, m_insertRun, m_insertOutbox, m_removeOutbox, m_insertAlarmState,
        m_removeAlarmState, m_insertState, m_removeState, m_insertAudit, m_lastAuditHash, m_insertDeployment,
        m_insertCoordination, m_insertReply, m_setMeta;
};

} // namespace gridloom
