// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordstatements.h"

#include "daemon/records/recordsschema.h"

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

QString severityText(Severity severity)
{
    switch (severity) {
    case Severity::Diagnostic: return QStringLiteral("diagnostic");
    case Severity::Low: return QStringLiteral("low");
    case Severity::Medium: return QStringLiteral("medium");
    case Severity::High: return QStringLiteral("high");
    case Severity::Critical: return QStringLiteral("critical");
    }
    return QString::number(static_cast<int>(severity));
}

void bind(QSqlQuery &query, std::initializer_list<QVariant> values)
{
    int at = 0;
    for (const QVariant &value : values)
        query.bindValue(at++, value);
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

RecordStatements::RecordStatements(const QSqlDatabase &database)
    : m_database(database), m_insertAlarm(database), m_insertControl(database), m_insertRun(database),
      m_insertOutbox(database), m_removeOutbox(database), m_setMeta(database)
{
}

Result<void> RecordStatements::prepare()
{
    for (const auto &[query, sql] : {std::pair{&m_insertAlarm, schema::kInsertAlarm},
                                     {&m_insertControl, schema::kInsertControl},
                                     {&m_insertRun, schema::kInsertRun},
                                     {&m_insertOutbox, schema::kInsertOutbox},
                                     {&m_removeOutbox, schema::kRemoveOutbox},
                                     {&m_setMeta, schema::kSetMeta}}) {
        if (!query->prepare(sql))
            return databaseError(m_database, query->lastError());
    }
    return {};
}

Result<void> RecordStatements::store(RecordNumber number, const Record &record)
{
    const qlonglong n = bits(number);
    if (const auto *a = std::get_if<AlarmTransition>(&record)) {
        bind(m_insertAlarm,
             {n, text(a->alarmId), text(a->from), text(a->to), severityText(a->severity), micros(a->time),
              text(a->text), text(a->value), bits(a->run)});
        return run(m_insertAlarm);
    }
    if (const auto *c = std::get_if<ControlRecord>(&record)) {
        bind(m_insertControl,
             {n, bits(c->command), text(c->pointId), text(c->value), text(c->readBack), text(c->reason),
              text(c->priority), text(c->state), text(c->error), micros(c->requested), qlonglong{c->durationUs}});
        return run(m_insertControl);
    }
    if (const auto *t = std::get_if<RunRecord>(&record)) {
        bind(m_insertRun,
             {n, bits(t->run), text(t->triggerId), text(t->outcome), text(t->error), micros(t->due), stage(t->startUs),
              stage(t->evalUs), stage(t->controlUs), stage(t->alarmUs), stage(t->mqttUs), stage(t->aggregationUs),
              stage(t->doneUs), text(t->detail)});
        return run(m_insertRun);
    }
    if (const auto *e = std::get_if<OutboxEntry>(&record)) {
        const OutboundMessage &m = e->message;
        bind(m_insertOutbox,
             {n, text(e->sink), bits(m.id), blob(m.topic), blob(m.payload), int{m.qos}, m.isRetained,
              micros(e->created)});
        return run(m_insertOutbox);
    }
    const auto &acknowledged = std::get<OutboxAcknowledged>(record);
    bind(m_removeOutbox, {text(acknowledged.sink), bits(acknowledged.messageId)});
    return run(m_removeOutbox);
}

Result<void> RecordStatements::setMeta(const QString &key, std::uint64_t value)
{
    bind(m_setMeta, {key, bits(value)});
    return run(m_setMeta);
}

Result<void> RecordStatements::run(QSqlQuery &query)
{
    if (!query.exec())
        return databaseError(m_database, query.lastError());
    return {};
}

} // namespace gridloom
