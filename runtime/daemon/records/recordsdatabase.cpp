// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordsdatabase.h"

#include "core/history/crc32.h"
#include "daemon/records/recordsschema.h"
#include "sdk/appendfile.h"

#include <QFile>
#include <QFileInfo>
#include <QSet>
#include <QSqlError>
#include <QUuid>

#include <set>

namespace gridloom {

namespace {
// What the calling thread has had written to disks so far, as the kernel counts it; 0 when it does not.
std::uint64_t bytesOfThread()
{
    QFile file(QStringLiteral("/proc/thread-self/io"));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    const QByteArray text = file.readAll();
    const qsizetype at = text.indexOf("\nwrite_bytes: ");
    return at < 0 ? 0 : text.mid(at + 14, text.indexOf('\n', at + 1) - at - 14).toULongLong();
}
} // namespace

RecordsDatabase::RecordsDatabase(const RecordsRetention &retention)
    : m_retention(retention), m_connection(QUuid::createUuid().toString())
{
}

RecordsDatabase::~RecordsDatabase()
{
    m_statements.reset(); // before the connection that they hold
    m_tables.reset();
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

    // What the next start asks for is worth a try: the damage may lie in any other page.
    const auto kept = isEmptied ? Result<KeptRecords>(prepared.error()) : database->kept();
    if (!isEmptied)
        static_cast<void>(database->readMeta());
    const IdBounds bounds = database->m_bounds;
    const bool hasBounds = database->m_hasBounds;
    const QString why = prepared.error().message;
    database.reset();

    const auto aside = keepAside(path, now);
    if (!aside)
        return aside.error();
    for (const QLatin1String suffix :
         {QLatin1String(""), QLatin1String("-journal"), QLatin1String("-wal"), QLatin1String("-shm")})
        QFile::remove(path + suffix);
    database.reset(new RecordsDatabase(retention));
    prepared = database->prepare(path, false);
    if (!prepared)
        return prepared.error();
    database->m_bounds.raise(bounds);
    database->m_hasBounds = hasBounds;
    if (const auto taken = database->takeOver(kept ? kept.value() : KeptRecords()); !taken)
        return taken.error();
    faults << QStringLiteral("%1 cannot be used (%2). The file is kept as %3 and an empty one is in its place; %4 "
                             "undelivered messages were saved.")
                  .arg(path, why, QFileInfo(aside.value()).fileName())
                  .arg(kept ? kept.value().outbox.size() : 0);
    return database;
}

template<typename Fill>
Result<void> RecordsDatabase::select(QLatin1String sql, const Fill &fill)
{
    QSqlQuery query(m_db);
    query.setForwardOnly(true);
    if (!query.exec(sql))
        return databaseError(m_db, query.lastError());
    while (query.next())
        fill(query);
    return {};
}

Result<void> RecordsDatabase::prepare(const QString &path, bool isChecked)
{
    m_path = path;
    m_db = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), m_connection);
    m_db.setDatabaseName(path);
    m_db.setConnectOptions(QStringLiteral("QSQLITE_BUSY_TIMEOUT=2000"));
    if (!m_db.open())
        return databaseError(m_db, m_db.lastError());
    if (auto checked = check(isChecked); !checked)
        return checked;
    // A rollback journal, since a WAL writes each page twice, and no zeros over removed rows: half of the bytes. FULL: a
    // log is removed as soon as its transaction is in, so that transaction must be on the disk.
    for (const auto &pragma : {QStringLiteral("PRAGMA journal_mode=TRUNCATE"),
                               QStringLiteral("PRAGMA synchronous=FULL"), QStringLiteral("PRAGMA secure_delete=OFF")}) {
        if (auto done = run(pragma); !done)
            return done;
    }
    for (const QLatin1String sql : schema::kCreate) {
        if (auto done = run(sql); !done)
            return done;
    }
    bool hasClass = false;
    if (auto done = select(schema::kHasOutboxClass, [&](const QSqlQuery &) { hasClass = true; }); !done)
        return done;
    if (!hasClass)
        if (auto done = run(schema::kAddOutboxClass); !done)
            return done;
    for (const auto &[table, column] : schema::kViews) {
        QString sql = schema::kCreateView;
        sql.replace(QLatin1String("%1"), table).replace(QLatin1String("%2"), column);
        if (auto done = run(sql); !done)
            return done;
    }
    m_statements = std::make_unique<RecordStatements>(m_db);
    if (auto prepared = m_statements->prepare(); !prepared)
        return prepared;
    if (auto migrated = migrate(); !migrated)
        return migrated;
    m_tables = std::make_unique<RecordTables>(m_db, m_retention);
    if (auto counted = m_tables->count(); !counted)
        return counted;
    return readMeta();
}

// Whether this version can use the file at all; nothing in it is changed.
Result<void> RecordsDatabase::check(bool isWhole)
{
    QSqlQuery query(m_db);
    if (isWhole) {
        if (!query.exec(QStringLiteral("PRAGMA quick_check(1)")) || !query.next())
            return databaseError(m_db, query.lastError());
        if (query.value(0).toString() != QLatin1String("ok"))
            return Error{QString(kDamagedDatabase), query.value(0).toString(), true};
    }
    // A file without meta is new, one without the key is of version 1.
    if (!query.exec(QStringLiteral("SELECT 1 FROM sqlite_master WHERE name = 'meta'")))
        return databaseError(m_db, query.lastError());
    if (!query.next())
        return {};
    if (!query.exec(QStringLiteral("SELECT value FROM meta WHERE key = 'schema_version'")))
        return databaseError(m_db, query.lastError());
    m_isVersionOne = !query.next();
    if (!m_isVersionOne && query.value(0).toLongLong() > schema::kVersion)
        return Error{
            QString(kDamagedDatabase),
            QStringLiteral("it was written by a newer version of Gridloom: schema %1, this one knows up to %2; "
                           "install that version again to use it")
                .arg(query.value(0).toLongLong())
                .arg(schema::kVersion)};
    return {};
}

// The tables are there; what must be in them from what an older version wrote.
Result<void> RecordsDatabase::migrate()
{
    if (!m_isVersionOne)
        return {};
    if (auto begun = run(QStringLiteral("BEGIN IMMEDIATE")); !begun)
        return begun;
    auto done = run(schema::kFillAlarmStates);
    if (done)
        done = m_statements->setMeta(QStringLiteral("schema_version"), schema::kVersion);
    if (done)
        done = run(QStringLiteral("COMMIT"));
    if (!done)
        static_cast<void>(run(QStringLiteral("ROLLBACK")));
    return done;
}

Result<void> RecordsDatabase::run(const QString &sql)
{
    QSqlQuery query(m_db);
    if (!query.exec(sql))
        return databaseError(m_db, query.lastError());
    return {};
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
        m_hasBounds = m_hasBounds || key.startsWith(QLatin1String("next_"));
    }
    return {};
}

Result<KeptRecords> RecordsDatabase::kept()
{
    const auto time = [](const QVariant &us) { return WallTime(std::chrono::microseconds(us.toLongLong())); };
    // One text for all messages of a sink. A text for each would leave a hole between its messages' own texts, which what
    // lives longer fills, so that no page of memory comes free when the messages go.
    QSet<QString> sinks;
    KeptRecords kept;
    auto done = select(schema::kSelectOutbox, [&](const QSqlQuery &row) {
        OutboxEntry entry;
        entry.sink = *sinks.insert(row.value(0).toString());
        entry.message.id = static_cast<std::uint64_t>(row.value(1).toLongLong());
        entry.message.topic = row.value(2).toByteArray();
        entry.message.payload = row.value(3).toByteArray();
        entry.message.qos = static_cast<std::uint8_t>(row.value(4).toInt());
        entry.message.isRetained = row.value(5).toBool();
        entry.created = time(row.value(6));
        entry.message.kind = messageClass(row.value(7).toULongLong());
        kept.outbox.push_back(std::move(entry));
    });
    if (done)
        done = select(schema::kSelectAlarmStates, [&](const QSqlQuery &row) {
            AlarmTransition a;
            a.alarmId = row.value(0).toString();
            a.to = row.value(1).toString();
            a.severity = severityOf(row.value(2).toString());
            a.time = time(row.value(3));
            a.text = row.value(4).toString();
            kept.openAlarms.push_back(std::move(a));
        });
    if (done)
        done = select(schema::kSelectStates, [&](const QSqlQuery &row) {
            const QByteArray value = row.value(1).toByteArray();
            if (row.value(2).toLongLong() == qlonglong{crc32(value)})
                kept.states[row.value(0).toString()] = value;
            else
                kept.damagedStates << row.value(0).toString();
        });
    if (done)
        done = select(schema::kSelectReplies, [&](const QSqlQuery &row) {
            kept.replies.push_back({row.value(0).toByteArray(), row.value(1).toByteArray(), time(row.value(2))});
        });
    if (done)
        done = select(schema::kSelectLastDeployment, [&](const QSqlQuery &row) {
            kept.lastDeployment = DeploymentRecord{time(row.value(0)), row.value(1).toString(), row.value(2).toString(),
                                                   row.value(3).toString(), row.value(4).toString()};
        });
    if (!done)
        return done.error();
    return kept;
}

Result<void> RecordsDatabase::move(const LogContents &log, WallTime now)
{
    const bool isNew = !log.records.empty() && log.records.back().number > m_lastMoved;
    if (!isNew && !log.bounds.exceeds(m_bounds))
        return {};
    const RecordTables::Counts countsBefore = m_tables->counts();
    const std::uint64_t writtenBefore = bytesOfThread();
    if (const auto begun = run(QStringLiteral("BEGIN IMMEDIATE")); !begun)
        return begun;
    auto moved = moveInTransaction(log, now);
    if (moved)
        moved = run(QStringLiteral("COMMIT"));
    if (!moved) {
        static_cast<void>(run(QStringLiteral("ROLLBACK")));
        m_tables->restore(countsBefore);
        return moved;
    }
    m_bounds = boundsAfter(log);
    m_hasBounds = true;
    if (isNew)
        m_lastMoved = log.records.back().number;
    m_bytesWritten += bytesOfThread() - writtenBefore;
    return {};
}

Result<void> RecordsDatabase::moveInTransaction(const LogContents &log, WallTime now)
{
    if (auto inserted = insert(log); !inserted)
        return inserted;
    if (auto removed = m_tables->removeOldRows(now); !removed)
        return removed;
    return writeMeta(log);
}

Result<void> RecordsDatabase::insert(const LogContents &log)
{
    // Messages that were acknowledged while they were in this log never enter the table, nor do states that a later
    // one replaced.
    std::set<MessageKey> acknowledged;
    std::map<QString, RecordNumber> lastStates;
    std::map<QString, const AlarmTransition *> newestTransitions;
    for (const NumberedRecord &r : log.records) {
        if (const auto *a = std::get_if<OutboxAcknowledged>(&r.record))
            acknowledged.emplace(a->sink, a->messageId);
        else if (const auto *state = std::get_if<StateRecord>(&r.record))
            lastStates[state->key] = r.number;
        else if (const auto *alarm = std::get_if<AlarmTransition>(&r.record); alarm && r.number > m_lastMoved)
            newestTransitions[alarm->alarmId] = alarm;
    }
    for (const NumberedRecord &r : log.records) {
        if (r.number <= m_lastMoved)
            continue;
        if (const auto *entry = std::get_if<OutboxEntry>(&r.record))
            if (acknowledged.count({entry->sink, entry->message.id}) > 0)
                continue;
        if (const auto *state = std::get_if<StateRecord>(&r.record))
            if (lastStates[state->key] != r.number)
                continue;
        if (auto done = m_statements->store(r.number, r.record); !done)
            return done;
        m_tables->added(r.record.index());
    }
    for (const auto &[id, transition] : newestTransitions)
        if (auto done = m_statements->storeAlarmState(*transition); !done)
            return done;
    return {};
}

// After an orderly end nothing lies ahead of what was given out.
IdBounds RecordsDatabase::boundsAfter(const LogContents &log) const
{
    if (log.isExact && log.records.back().number > m_lastMoved)
        return log.bounds;
    IdBounds bounds = m_bounds;
    bounds.raise(log.bounds);
    return bounds;
}

Result<void> RecordsDatabase::writeMeta(const LogContents &log)
{
    const IdBounds bounds = boundsAfter(log);
    const RecordNumber last = log.records.empty() ? m_lastMoved : std::max(m_lastMoved, log.records.back().number);
    for (const auto &[key, value] : {std::pair{QStringLiteral("schema_version"), std::uint64_t{schema::kVersion}},
                                     {QStringLiteral("last_moved"), last},
                                     {QStringLiteral("next_record"), bounds.record},
                                     {QStringLiteral("next_message"), bounds.message},
                                     {QStringLiteral("next_run"), bounds.run},
                                     {QStringLiteral("next_command"), bounds.command}}) {
        if (auto done = m_statements->setMeta(key, value); !done)
            return done;
    }
    return {};
}

Result<void> RecordsDatabase::takeOver(const KeptRecords &kept)
{
    std::vector<Record> records(kept.outbox.begin(), kept.outbox.end());
    for (const auto &[key, value] : kept.states)
        records.push_back(StateRecord{key, value});
    records.insert(records.end(), kept.replies.begin(), kept.replies.end());
    if (kept.lastDeployment)
        records.push_back(*kept.lastDeployment);
    if (auto begun = run(QStringLiteral("BEGIN IMMEDIATE")); !begun)
        return begun;
    // Numbers from 1 on are older than any that can come: only their order matters, and last_moved stays 0.
    RecordNumber n = 0;
    for (const Record &record : records) {
        if (auto done = m_statements->store(++n, record); !done)
            return done;
        m_tables->added(record.index());
    }
    for (const AlarmTransition &alarm : kept.openAlarms)
        if (auto done = m_statements->storeAlarmState(alarm); !done)
            return done;
    if (auto done = writeMeta({}); !done)
        return done;
    return run(QStringLiteral("COMMIT"));
}

} // namespace gridloom
