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

struct RecordsDatabase::Table {
    QLatin1String name;
    std::size_t recordType; ///< index in Record
    std::int64_t RecordsRetention::*kept;
};
const std::array<RecordsDatabase::Table, 3> RecordsDatabase::kTables{{
    {QLatin1String("alarm_transitions"), 0, &RecordsRetention::alarmTransitions},
    {QLatin1String("control_records"), 1, &RecordsRetention::controlRecords},
    {QLatin1String("run_records"), 2, &RecordsRetention::runRecords},
}};

RecordsDatabase::RecordsDatabase(const RecordsRetention &retention)
    : m_retention(retention), m_connection(QUuid::createUuid().toString())
{
}

RecordsDatabase::~RecordsDatabase()
{
    m_statements.reset(); // before the connection that they hold
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
    auto prepared = isEmptied
        ? Result<void>(Error{QString(kDamagedDatabase), QStringLiteral("%1 is empty").arg(path), true})
        : database->prepare(path, isChecked);
    if (prepared)
        return database;
    if (prepared.error().code != kDamagedDatabase)
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
    if (const auto taken =
            database->takeOver(hasBounds ? bounds : IdBounds(), outbox ? outbox.value() : std::vector<OutboxEntry>());
        !taken)
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
        return databaseError(m_db, m_db.lastError());
    // FULL: a log is removed as soon as its transaction is in, so that transaction must be on the disk.
    for (const auto &pragma : {QStringLiteral("PRAGMA journal_mode=WAL"), QStringLiteral("PRAGMA synchronous=FULL"),
                               QStringLiteral("PRAGMA journal_size_limit=4000000")}) {
        if (auto done = run(pragma); !done)
            return done;
    }
    if (isChecked) {
        QSqlQuery check(m_db);
        if (!check.exec(QStringLiteral("PRAGMA quick_check(1)")) || !check.next())
            return databaseError(m_db, check.lastError());
        if (check.value(0).toString() != QLatin1String("ok"))
            return Error{QString(kDamagedDatabase), check.value(0).toString(), true};
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
    m_statements = std::make_unique<RecordStatements>(m_db);
    if (auto prepared = m_statements->prepare(); !prepared)
        return prepared;
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
        return databaseError(m_db, query.lastError());
    return {};
}

Result<std::int64_t> RecordsDatabase::number(const QString &sql)
{
    QSqlQuery query(m_db);
    if (!query.exec(sql) || !query.next())
        return databaseError(m_db, query.lastError());
    return std::int64_t{query.value(0).toLongLong()};
}

Result<void> RecordsDatabase::readMeta()
{
    QSqlQuery query(m_db);
    if (!query.exec(QStringLiteral("SELECT key, value FROM meta")))
        return databaseError(m_db, query.lastError());
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
        return databaseError(m_db, query.lastError());
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
        if (auto done = m_statements->store(r.number, r.record); !done)
            return done;
        for (std::size_t i = 0; i < kTables.size(); ++i)
            m_rowCounts[i] += kTables[i].recordType == r.record.index() ? 1 : 0;
    }
    return {};
}

Result<void> RecordsDatabase::removeOldRows()
{
    for (std::size_t i = 0; i < kTables.size(); ++i) {
        const std::int64_t surplus = m_rowCounts[i] - m_retention.*kTables[i].kept;
        if (surplus <= 0)
            continue;
        QSqlQuery query(m_db);
        const QString table = kTables[i].name;
        query.prepare(QStringLiteral("DELETE FROM %1 WHERE number IN (SELECT number FROM %1 ORDER BY number LIMIT ?)")
                          .arg(table));
        query.bindValue(0, qlonglong{surplus});
        if (!query.exec())
            return databaseError(m_db, query.lastError());
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
        if (auto done = m_statements->setMeta(key, value); !done)
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
        if (auto done = m_statements->store(++n, entry); !done)
            return done;
    }
    if (auto done = writeMeta(log); !done)
        return done;
    m_bounds.raise(bounds);
    return run(QStringLiteral("COMMIT"));
}

} // namespace gridloom
