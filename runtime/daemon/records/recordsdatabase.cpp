// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordsdatabase.h"

#include "daemon/records/recordsschema.h"
#include "sdk/appendfile.h"

#include <QFile>
#include <QFileInfo>
#include <QSqlError>
#include <QUuid>

#include <set>

namespace gridloom {

namespace {
constexpr QLatin1String kDamaged("records.damaged");

Error databaseError(const QString &path, const QSqlError &error)
{
    // SQLITE_CORRUPT and SQLITE_NOTADB, with their extended codes.
    const int code = error.nativeErrorCode().toInt() & 0xFF;
    const bool isDamaged = code == 11 || code == 26;
    return {isDamaged ? QString(kDamaged) : QStringLiteral("records.database"),
            QStringLiteral("%1: %2; %3").arg(path, error.text(),
                isDamaged ? QStringLiteral("it will be kept aside") : QStringLiteral("check the disk, it is tried again")),
            true};
}

qlonglong micros(WallTime time) { return time.time_since_epoch().count(); }
qlonglong bits(std::uint64_t v) { return static_cast<qlonglong>(v); }
QString text(const QByteArray &utf8) { return utf8.isNull() ? QStringLiteral("") : QString::fromUtf8(utf8); }
QString text(const QString &s) { return s.isNull() ? QStringLiteral("") : s; }
QVariant stage(std::int64_t us) { return us < 0 ? QVariant(QMetaType::fromType<qlonglong>()) : QVariant(qlonglong{us}); }
QByteArray blob(const QByteArray &b) { return b.isNull() ? QByteArray("") : b; }

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

struct RecordsDatabase::Table {
    QLatin1String name;
    std::int64_t RecordsRetention::*kept;
};
const std::array<RecordsDatabase::Table, 3> RecordsDatabase::kTables{{
    {QLatin1String("alarm_transitions"), &RecordsRetention::alarmTransitions},
    {QLatin1String("control_records"), &RecordsRetention::controlRecords},
    {QLatin1String("run_records"), &RecordsRetention::runRecords},
}};

RecordsDatabase::RecordsDatabase(const RecordsRetention &retention)
    : m_retention(retention), m_connection(QUuid::createUuid().toString())
{
}

RecordsDatabase::~RecordsDatabase()
{
    for (QSqlQuery *query : {&m_insertAlarm, &m_insertControl, &m_insertRun, &m_insertOutbox, &m_removeOutbox, &m_setMeta})
        *query = QSqlQuery();
    m_db.close();
    m_db = QSqlDatabase();
    QSqlDatabase::removeDatabase(m_connection);
}

Result<std::unique_ptr<RecordsDatabase>> RecordsDatabase::open(const QString &path, const RecordsRetention &retention,
                                                               bool isChecked, WallTime now, QStringList &faults)
{
    // SQLite takes an empty file for a new database: after a power cut it is a lost one.
    const bool isEmptied = QFileInfo::exists(path) && QFileInfo(path).size() == 0;
    std::unique_ptr<RecordsDatabase> database(new RecordsDatabase(retention));
    auto prepared = isEmptied ? Result<void>(Error{kDamaged, QStringLiteral("%1 is empty").arg(path), true})
                              : database->prepare(path, isChecked);
    if (prepared)
        return database;
    if (prepared.error().code != kDamaged)
        return prepared.error();

    // Messages not delivered yet are worth a try: the damage may lie in any other page.
    const auto outbox = isEmptied ? Result<std::vector<OutboxEntry>>(prepared.error()) : database->outbox();
    if (!isEmptied)
        static_cast<void>(database->readMeta());
    const IdBounds bounds = database->m_bounds;
    const bool hasBounds = database->m_hasBounds;
    const QString why = prepared.error().message;
    database.reset();

    const auto aside = keepAside(path, now);
    if (!aside)
        return aside.error();
    for (const QLatin1String suffix : {QLatin1String(""), QLatin1String("-wal"), QLatin1String("-shm")})
        QFile::remove(path + suffix);
    database.reset(new RecordsDatabase(retention));
    prepared = database->prepare(path, false);
    if (!prepared)
        return prepared.error();
    if (const auto taken = database->takeOver(hasBounds ? bounds : IdBounds(),
                                              outbox ? outbox.value() : std::vector<OutboxEntry>()); !taken)
        return taken.error();
    database->m_hasBounds = hasBounds;
    faults << QStringLiteral("%1 was damaged (%2). The bad file is kept as %3 and an empty one is in its place; %4 "
                             "undelivered messages were saved.")
                  .arg(path, why, QFileInfo(aside.value()).fileName())
                  .arg(outbox ? outbox.value().size() : 0);
    return database;
}

Result<void> RecordsDatabase::prepare(const QString &path, bool isChecked)
{
    m_path = path;
    m_db = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), m_connection);
    m_db.setDatabaseName(path);
    m_db.setConnectOptions(QStringLiteral("QSQLITE_BUSY_TIMEOUT=2000"));
    if (!m_db.open())
        return databaseError(path, m_db.lastError());
    // FULL: a log is removed as soon as its transaction is in, so that transaction must be on the disk.
    for (const auto &pragma : {QStringLiteral("PRAGMA journal_mode=WAL"), QStringLiteral("PRAGMA synchronous=FULL"),
                               QStringLiteral("PRAGMA journal_size_limit=4000000")}) {
        if (auto done = run(pragma); !done)
            return done;
    }
    if (isChecked) {
        QSqlQuery check(m_db);
        if (!check.exec(QStringLiteral("PRAGMA quick_check(1)")) || !check.next())
            return databaseError(path, check.lastError());
        if (check.value(0).toString() != QLatin1String("ok"))
            return Error{kDamaged, check.value(0).toString(), true};
    }
    for (const QLatin1String sql : schema::kCreate) {
        if (auto done = run(sql); !done)
            return done;
    }
    for (const auto &[table, column] : schema::kViews) {
        QString sql = schema::kCreateView;
        sql.replace(QLatin1String("%1"), table).replace(QLatin1String("%2"), column);
        if (auto done = run(sql); !done)
            return done;
    }
    for (const auto &[query, sql] : {std::pair{&m_insertAlarm, schema::kInsertAlarm},
                                     {&m_insertControl, schema::kInsertControl},
                                     {&m_insertRun, schema::kInsertRun},
                                     {&m_insertOutbox, schema::kInsertOutbox},
                                     {&m_removeOutbox, schema::kRemoveOutbox},
                                     {&m_setMeta, schema::kSetMeta}}) {
        *query = QSqlQuery(m_db);
        if (!query->prepare(sql))
            return databaseError(path, query->lastError());
    }
    for (std::size_t i = 0; i < kTables.size(); ++i) {
        const auto rows = number(QStringLiteral("SELECT count(*) FROM ") + kTables[i].name);
        if (!rows)
            return rows.error();
        m_rowCounts[i] = rows.value();
    }
    return readMeta();
}

Result<void> RecordsDatabase::run(const QString &sql)
{
    QSqlQuery query(m_db);
    if (!query.exec(sql))
        return databaseError(m_path, query.lastError());
    return {};
}

Result<void> RecordsDatabase::runQuery(QSqlQuery &query)
{
    if (!query.exec())
        return databaseError(m_path, query.lastError());
    return {};
}

Result<std::int64_t> RecordsDatabase::number(const QString &sql)
{
    QSqlQuery query(m_db);
    if (!query.exec(sql) || !query.next())
        return databaseError(m_path, query.lastError());
    return std::int64_t{query.value(0).toLongLong()};
}

Result<void> RecordsDatabase::readMeta()
{
    QSqlQuery query(m_db);
    if (!query.exec(QStringLiteral("SELECT key, value FROM meta")))
        return databaseError(m_path, query.lastError());
    while (query.next()) {
        const QString key = query.value(0).toString();
        const auto value = static_cast<std::uint64_t>(query.value(1).toLongLong());
        if (key == QLatin1String("last_moved"))
            m_lastMoved = value;
        else if (key == QLatin1String("next_record"))
            m_bounds.record = value;
        else if (key == QLatin1String("next_message"))
            m_bounds.message = value;
        else if (key == QLatin1String("next_run"))
            m_bounds.run = value;
        else if (key == QLatin1String("next_command"))
            m_bounds.command = value;
        m_hasBounds = true;
    }
    return {};
}

Result<std::vector<OutboxEntry>> RecordsDatabase::outbox()
{
    QSqlQuery query(m_db);
    query.setForwardOnly(true);
    if (!query.exec(schema::kSelectOutbox))
        return databaseError(m_path, query.lastError());
    std::vector<OutboxEntry> entries;
    while (query.next()) {
        OutboxEntry entry;
        entry.sink = query.value(0).toString();
        entry.message.id = static_cast<std::uint64_t>(query.value(1).toLongLong());
        entry.message.topic = query.value(2).toByteArray();
        entry.message.payload = query.value(3).toByteArray();
        entry.message.qos = static_cast<std::uint8_t>(query.value(4).toInt());
        entry.message.isRetained = query.value(5).toBool();
        entry.created = WallTime(std::chrono::microseconds(query.value(6).toLongLong()));
        entries.push_back(std::move(entry));
    }
    return entries;
}

Result<void> RecordsDatabase::move(const LogContents &log)
{
    const bool isNew = !log.records.empty() && log.records.back().number > m_lastMoved;
    if (!isNew && !log.bounds.exceeds(m_bounds))
        return {};
    const auto countsBefore = m_rowCounts;
    if (const auto begun = run(QStringLiteral("BEGIN IMMEDIATE")); !begun)
        return begun;
    auto moved = moveInTransaction(log);
    if (moved)
        moved = run(QStringLiteral("COMMIT"));
    if (!moved) {
        static_cast<void>(run(QStringLiteral("ROLLBACK")));
        m_rowCounts = countsBefore;
        return moved;
    }
    if (isNew)
        m_lastMoved = log.records.back().number;
    m_bounds.raise(log.bounds);
    m_hasBounds = true;
    flushJournal();
    return {};
}

Result<void> RecordsDatabase::moveInTransaction(const LogContents &log)
{
    if (auto inserted = insert(log); !inserted)
        return inserted;
    if (auto removed = removeOldRows(); !removed)
        return removed;
    return writeMeta(log);
}

Result<void> RecordsDatabase::insert(const LogContents &log)
{
    // Messages that were acknowledged while they were in this log never enter the table.
    std::set<MessageKey> acknowledged;
    for (const NumberedRecord &r : log.records) {
        if (const auto *a = std::get_if<OutboxAcknowledged>(&r.record))
            acknowledged.emplace(a->sink, a->messageId);
    }
    for (const NumberedRecord &r : log.records) {
        if (r.number <= m_lastMoved)
            continue;
        if (const auto *entry = std::get_if<OutboxEntry>(&r.record)) {
            if (acknowledged.count({entry->sink, entry->message.id}) > 0)
                continue;
        }
        if (auto done = insertRecord(r.number, r.record); !done)
            return done;
    }
    return {};
}

Result<void> RecordsDatabase::insertRecord(RecordNumber recordNumber, const Record &record)
{
    const qlonglong n = bits(recordNumber);
    if (const auto *a = std::get_if<AlarmTransition>(&record)) {
        bind(m_insertAlarm, {n, text(a->alarmId), text(a->from), text(a->to), severityText(a->severity), micros(a->time),
                             text(a->text), text(a->value), bits(a->run)});
        ++m_rowCounts[0];
        return runQuery(m_insertAlarm);
    }
    if (const auto *c = std::get_if<ControlRecord>(&record)) {
        bind(m_insertControl, {n, bits(c->command), text(c->pointId), text(c->value), text(c->readBack), text(c->reason),
                               text(c->priority), text(c->state), text(c->error), micros(c->requested),
                               qlonglong{c->durationUs}});
        ++m_rowCounts[1];
        return runQuery(m_insertControl);
    }
    if (const auto *t = std::get_if<RunRecord>(&record)) {
        bind(m_insertRun, {n, bits(t->run), text(t->triggerId), text(t->outcome), text(t->error), micros(t->due),
                           stage(t->startUs), stage(t->evalUs), stage(t->controlUs), stage(t->alarmUs),
                           stage(t->mqttUs), stage(t->aggregationUs), stage(t->doneUs), text(t->detail)});
        ++m_rowCounts[2];
        return runQuery(m_insertRun);
    }
    if (const auto *e = std::get_if<OutboxEntry>(&record)) {
        const OutboundMessage &m = e->message;
        bind(m_insertOutbox, {n, text(e->sink), bits(m.id), blob(m.topic), blob(m.payload), int{m.qos}, m.isRetained,
                              micros(e->created)});
        return runQuery(m_insertOutbox);
    }
    const auto &acknowledged = std::get<OutboxAcknowledged>(record);
    bind(m_removeOutbox, {text(acknowledged.sink), bits(acknowledged.messageId)});
    return runQuery(m_removeOutbox);
}

Result<void> RecordsDatabase::removeOldRows()
{
    for (std::size_t i = 0; i < kTables.size(); ++i) {
        const std::int64_t surplus = m_rowCounts[i] - m_retention.*kTables[i].kept;
        if (surplus <= 0)
            continue;
        QSqlQuery query(m_db);
        const QString table = kTables[i].name;
        query.prepare(QStringLiteral("DELETE FROM %1 WHERE number IN (SELECT number FROM %1 ORDER BY number LIMIT ?)").arg(table));
        query.bindValue(0, qlonglong{surplus});
        if (auto done = runQuery(query); !done)
            return done;
        m_rowCounts[i] -= query.numRowsAffected();
    }
    return {};
}

Result<void> RecordsDatabase::writeMeta(const LogContents &log)
{
    IdBounds bounds = m_bounds;
    bounds.raise(log.bounds);
    const RecordNumber last = log.records.empty() ? m_lastMoved : std::max(m_lastMoved, log.records.back().number);
    for (const auto &[key, value] : {std::pair{QStringLiteral("last_moved"), last},
                                     {QStringLiteral("next_record"), bounds.record},
                                     {QStringLiteral("next_message"), bounds.message},
                                     {QStringLiteral("next_run"), bounds.run},
                                     {QStringLiteral("next_command"), bounds.command}}) {
        bind(m_setMeta, {key, bits(value)});
        if (auto done = runQuery(m_setMeta); !done)
            return done;
    }
    return {};
}

// Moves SQLite's journal into the database now: the journal stays small, and a journal lost later costs nothing.
void RecordsDatabase::flushJournal()
{
    const auto journal = static_cast<std::uint64_t>(QFileInfo(m_path + QStringLiteral("-wal")).size());
    m_bytesWritten += journal;
    if (run(QStringLiteral("PRAGMA wal_checkpoint(TRUNCATE)")))
        m_bytesWritten += journal; // each of its pages once more; an upper bound
}

Result<void> RecordsDatabase::takeOver(const IdBounds &bounds, const std::vector<OutboxEntry> &outbox)
{
    LogContents log;
    log.bounds = bounds;
    // Numbers from 1 on are older than any that can come: only their order matters, and last_moved stays 0.
    if (auto begun = run(QStringLiteral("BEGIN IMMEDIATE")); !begun)
        return begun;
    RecordNumber n = 0;
    for (const OutboxEntry &entry : outbox) {
        if (auto done = insertRecord(++n, entry); !done)
            return done;
    }
    if (auto done = writeMeta(log); !done)
        return done;
    m_bounds.raise(bounds);
    return run(QStringLiteral("COMMIT"));
}

} // namespace gridloom
