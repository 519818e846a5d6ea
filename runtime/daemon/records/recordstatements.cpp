// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordstatements.h"

#include "core/history/crc32.h"
#include "daemon/records/recordsschema.h"

#include <QCryptographicHash>
#include <QSqlError>
#include <QVariant>

namespace gridloom {

namespace {
qlonglong micros(WallTime time)
{
    return time.time_since_epoch().count();
}
qlonglong bits(std::uint64_t v)
{
    return static_cast<qlonglong>(v);
}
QString text(const QByteArray &utf8)
{
    return utf8.isNull() ? QStringLiteral("") : QString::fromUtf8(utf8);
}
QString text(const QString &s)
{
    return s.isNull() ? QStringLiteral("") : s;
}
QVariant stage(std::int64_t us)
{
    return us < 0 ? QVariant(QMetaType::fromType<qlonglong>()) : QVariant(qlonglong{us});
}
QByteArray blob(const QByteArray &b)
{
    return b.isNull() ? QByteArray("") : b;
}

constexpr std::array kSeverities{QLatin1String("diagnostic"), QLatin1String("low"), QLatin1String("medium"),
                                 QLatin1String("high"), QLatin1String("critical")}; // by Severity

QString severityText(Severity severity)
{
    const auto index = static_cast<std::size_t>(severity);
    return index < kSeverities.size() ? QString(kSeverities[index]) : QString::number(index);
}
} // namespace

Error databaseError(const QSqlDatabase &database, const QSqlError &error)
{
    // SQLITE_CORRUPT and SQLITE_NOTADB, with their extended codes.
    const int code = error.nativeErrorCode().toInt() & 0xFF;
    const bool isDamaged = code == 11 || code == 26;
    const QString advice =
        isDamaged ? QStringLiteral("it will be kept aside") : QStringLiteral("check the disk, it is tried again");
    return {isDamaged ? QString(kDamagedDatabase) : QStringLiteral("records.database"),
            QStringLiteral("%1: %2; %3").arg(database.databaseName(), error.text(), advice), true};
}

Severity severityOf(const QString &text)
{
    const auto *const found = std::find(kSeverities.begin(), kSeverities.end(), text);
    return found == kSeverities.end() ? Severity::Medium : static_cast<Severity>(found - kSeverities.begin());
}

RecordStatements::RecordStatements(const QSqlDatabase &database)
    : m_database(database), m_insertAlarm(database), m_insertControl(database), m_insertRun(database),
      m_insertOutbox(database), m_removeOutbox(database), m_insertAlarmState(database), m_removeAlarmState(database),
      m_insertState(database), m_removeState(database), m_insertAudit(database), m_lastAuditHash(database),
      m_insertDeployment(database), m_insertCoordination(database), m_insertReply(database), m_setMeta(database)
{
}

Result<void> RecordStatements::prepare()
{
    for (const auto &[query, sql] : {std::pair{&m_insertAlarm, schema::kInsertAlarm},
                                     {&m_insertControl, schema::kInsertControl},
                                     {&m_insertRun, schema::kInsertRun},
                                     {&m_insertOutbox, schema::kInsertOutbox},
                                     {&m_removeOutbox, schema::kRemoveOutbox},
                                     {&m_insertAlarmState, schema::kInsertAlarmState},
                                     {&m_removeAlarmState, schema::kRemoveAlarmState},
                                     {&m_insertState, schema::kInsertState},
                                     {&m_removeState, schema::kRemoveState},
                                     {&m_insertAudit, schema::kInsertAudit},
                                     {&m_lastAuditHash, schema::kLastAuditHash},
                                     {&m_insertDeployment, schema::kInsertDeployment},
                                     {&m_insertCoordination, schema::kInsertCoordination},
                                     {&m_insertReply, schema::kInsertReply},
                                     {&m_setMeta, schema::kSetMeta}}) {
        if (!query->prepare(sql))
            return databaseError(m_database, query->lastError());
    }
    return {};
}

Result<void> RecordStatements::store(RecordNumber number, const Record &record)
{
    return std::visit([&](const auto &r) { return insert(bits(number), r); }, record);
}

Result<void> RecordStatements::insert(qlonglong number, const AlarmTransition &a)
{
    return run(m_insertAlarm,
               {number, text(a.alarmId), text(a.from), text(a.to), severityText(a.severity), micros(a.time),
                text(a.text), text(a.value), bits(a.run)});
}

Result<void> RecordStatements::storeAlarmState(const AlarmTransition &a)
{
    if (a.to == QLatin1String("Normal"))
        return run(m_removeAlarmState, {text(a.alarmId)});
    return run(m_insertAlarmState,
               {text(a.alarmId), text(a.to), severityText(a.severity), micros(a.time), text(a.text)});
}

Result<void> RecordStatements::insert(qlonglong number, const ControlRecord &c)
{
    return run(m_insertControl,
               {number, bits(c.command), text(c.pointId), text(c.value.toText()),
                text(c.readBack.isNull() ? QByteArray() : c.readBack.toText()), text(c.reasonText()), text(c.priority),
                text(c.state), text(c.error), micros(c.requested), qlonglong{c.durationUs}});
}

Result<void> RecordStatements::insert(qlonglong number, const RunRecord &t)
{
    return run(m_insertRun,
               {number, bits(t.run), text(t.triggerId), text(t.outcome), text(t.error), micros(t.due), stage(t.startUs),
                stage(t.evalUs), stage(t.controlUs), stage(t.alarmUs), stage(t.mqttUs), stage(t.aggregationUs),
                stage(t.doneUs), text(t.detail)});
}

Result<void> RecordStatements::insert(qlonglong number, const OutboxEntry &e)
{
    const OutboundMessage &m = e.message;
    return run(m_insertOutbox,
               {number, text(e.sink), bits(m.id), blob(m.topic), blob(m.payload), int{m.qos}, m.isRetained,
                micros(e.created), static_cast<int>(m.kind)});
}

Result<void> RecordStatements::insert(qlonglong, const OutboxAcknowledged &acknowledged)
{
    return run(m_removeOutbox, {text(acknowledged.sink), bits(acknowledged.messageId)});
}

Result<void> RecordStatements::insert(qlonglong, const StateRecord &state)
{
    if (state.value.isEmpty())
        return run(m_removeState, {text(state.key)});
    return run(m_insertState, {text(state.key), state.value, qlonglong{crc32(state.value)}});
}

Result<void> RecordStatements::insert(qlonglong number, const AuditRecord &a)
{
    const auto before = auditHashBefore(number);
    if (!before)
        return before.error();
    QCryptographicHash hash(QCryptographicHash::Sha256);
    hash.addData(before.value());
    for (const QByteArray &field :
         {QByteArray::number(number), QByteArray::number(micros(a.time)), a.who.toUtf8(), a.act.toUtf8(),
          a.object.toUtf8(), a.detail.toUtf8(), QByteArray::number(a.isAllowed ? 1 : 0)})
        hash.addData(field + '\0');
    return run(
        m_insertAudit,
        {number, micros(a.time), text(a.who), text(a.act), text(a.object), text(a.detail), a.isAllowed, hash.result()});
}

Result<QByteArray> RecordStatements::auditHashBefore(qlonglong number)
{
    if (auto asked = run(m_lastAuditHash, {number}); !asked)
        return asked.error();
    const QByteArray hash = m_lastAuditHash.next() ? m_lastAuditHash.value(0).toByteArray() : QByteArray(32, '\0');
    m_lastAuditHash.finish();
    return hash;
}

Result<void> RecordStatements::insert(qlonglong number, const DeploymentRecord &d)
{
    return run(m_insertDeployment,
               {number, micros(d.time), text(d.revision), text(d.state), text(d.who), text(d.detail)});
}

Result<void> RecordStatements::insert(qlonglong number, const CoordinationRecord &c)
{
    return run(m_insertCoordination,
               {number, bits(c.run), text(c.taskId), text(c.outcome), text(c.error), micros(c.due), stage(c.doneUs),
                c.isCompensated, text(c.steps)});
}

Result<void> RecordStatements::insert(qlonglong number, const CommandReply &r)
{
    return run(m_insertReply, {number, blob(r.id), blob(r.reply), micros(r.time)});
}

// The bounds in meta, which the database writes with each transaction.
Result<void> RecordStatements::insert(qlonglong, const NumbersUsed &)
{
    return {};
}

Result<void> RecordStatements::setMeta(const QString &key, std::uint64_t value)
{
    return run(m_setMeta, {key, bits(value)});
}

Result<void> RecordStatements::run(QSqlQuery &query, std::initializer_list<QVariant> values)
{
    int at = 0;
    for (const QVariant &value : values)
        query.bindValue(at++, value);
    if (!query.exec())
        return databaseError(m_database, query.lastError());
    return {};
}

} // namespace gridloom
