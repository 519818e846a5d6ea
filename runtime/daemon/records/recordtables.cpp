// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordtables.h"

#include "daemon/records/recordstatements.h"

#include <QSqlError>
#include <QVariant>

namespace gridloom {

namespace {
// Looked at for their age in one transaction: more than come in one, so that old ones never pile up.
constexpr qlonglong kAgedAtOnce = 20'000;

template<typename T, std::size_t at = 0>
constexpr std::size_t typeIndex()
{
    if constexpr (std::is_same_v<std::variant_alternative_t<at, Record>, T>)
        return at;
    else
        return typeIndex<T, at + 1>();
}
} // namespace

RecordTables::RecordTables(const QSqlDatabase &database, const RecordsRetention &r)
    : m_database(database),
      m_tables{{
          {QLatin1String("alarm_transitions"), QLatin1String("time_us"), typeIndex<AlarmTransition>(),
           r.alarmTransitions},
          {QLatin1String("control_records"), QLatin1String("requested_us"), typeIndex<ControlRecord>(),
           r.controlRecords},
          {QLatin1String("run_records"), QLatin1String("due_us"), typeIndex<RunRecord>(), r.runRecords},
          {QLatin1String("audit"), QLatin1String("time_us"), typeIndex<AuditRecord>(), r.audit},
          {QLatin1String("deployments"), QLatin1String("time_us"), typeIndex<DeploymentRecord>(), r.deployments},
          {QLatin1String("coordination_records"), QLatin1String("due_us"), typeIndex<CoordinationRecord>(),
           r.coordinationRecords},
          {QLatin1String("command_replies"), QLatin1String("time_us"), typeIndex<CommandReply>(), r.replies},
      }}
{
}

Result<void> RecordTables::count()
{
    for (std::size_t i = 0; i < m_tables.size(); ++i) {
        QSqlQuery query(m_database);
        if (!query.exec(QStringLiteral("SELECT count(*) FROM ") + m_tables[i].name) || !query.next())
            return databaseError(m_database, query.lastError());
        m_counts[i] = query.value(0).toLongLong();
    }
    return {};
}

void RecordTables::added(std::size_t recordType)
{
    for (std::size_t i = 0; i < m_tables.size(); ++i)
        m_counts[i] += m_tables[i].recordType == recordType ? 1 : 0;
}

// Among the oldest rows; mostly the very oldest says that there are none.
Result<std::int64_t> RecordTables::aged(const Table &table, WallTime now)
{
    std::int64_t count = 0;
    for (const qlonglong rows : {qlonglong{1}, kAgedAtOnce}) {
        QSqlQuery query(m_database);
        query.prepare(
            QStringLiteral("SELECT count(*) FROM (SELECT %2 AS t FROM %1 ORDER BY number LIMIT ?) WHERE t < ?")
                .arg(table.name, table.timeColumn));
        query.bindValue(0, rows);
        query.bindValue(1, qlonglong{(now - table.limit.age).time_since_epoch().count()});
        if (!query.exec() || !query.next())
            return databaseError(m_database, query.lastError());
        count = query.value(0).toLongLong();
        if (count == 0)
            break;
    }
    return count;
}

Result<void> RecordTables::removeOldRows(WallTime now)
{
    for (std::size_t i = 0; i < m_tables.size(); ++i) {
        const Table &table = m_tables[i];
        std::int64_t surplus = m_counts[i] - table.limit.rows;
        if (m_counts[i] > table.limit.atLeast) {
            const auto old = aged(table, now);
            if (!old)
                return old.error();
            surplus = std::max(surplus, std::min(old.value(), m_counts[i] - table.limit.atLeast));
        }
        if (surplus <= 0)
            continue;
        QSqlQuery query(m_database);
        query.prepare(QStringLiteral("DELETE FROM %1 WHERE number IN (SELECT number FROM %1 ORDER BY number LIMIT ?)")
                          .arg(table.name));
        query.bindValue(0, qlonglong{surplus});
        if (!query.exec())
            return databaseError(m_database, query.lastError());
        m_counts[i] -= query.numRowsAffected();
    }
    return {};
}

} // namespace gridloom
