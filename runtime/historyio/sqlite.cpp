// SPDX-License-Identifier: Apache-2.0
#include "historyio/sqlite.h"

#include <sqlite3.h>

namespace gridloom {

namespace {
// A reader holds a lock for as long as it reads a handful of pages.
constexpr int kBusyMs = 5'000;

Error sqliteError(sqlite3 *database, const QString &path, const char *what)
{
    const int code = sqlite3_extended_errcode(database);
    const int primary = code & 0xFF;
    QString reason = QStringLiteral("store.failed");
    const char *advice = "check the disk";
    if (primary == SQLITE_FULL) {
        reason = QStringLiteral("store.full");
        advice = "free space or lower the quota";
    } else if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
        reason = QStringLiteral("store.damaged");
        advice = "the store sets it aside; restore a copy if there is one";
    }
    return {reason,
            QStringLiteral("%1: %2 failed: %3 (SQLite %4); %5")
                .arg(path, QLatin1String(what), QString::fromUtf8(sqlite3_errmsg(database)))
                .arg(code)
                .arg(QLatin1String(advice)),
            primary == SQLITE_FULL || primary == SQLITE_BUSY};
}
} // namespace

void SqliteStatement::Deleter::operator()(sqlite3_stmt *statement) const
{
    sqlite3_finalize(statement);
}

SqliteStatement &SqliteStatement::bind(int index, std::int64_t value)
{
    sqlite3_bind_int64(m_statement.get(), index, value);
    return *this;
}

SqliteStatement &SqliteStatement::bind(int index, double value)
{
    sqlite3_bind_double(m_statement.get(), index, value);
    return *this;
}

SqliteStatement &SqliteStatement::bindText(int index, QByteArrayView utf8)
{
    sqlite3_bind_text64(m_statement.get(), index, utf8.isNull() ? "" : utf8.data(),
                        static_cast<sqlite3_uint64>(utf8.size()), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
}

SqliteStatement &SqliteStatement::bindBlob(int index, QByteArrayView bytes)
{
    sqlite3_bind_blob64(m_statement.get(), index, bytes.data(), static_cast<sqlite3_uint64>(bytes.size()),
                        SQLITE_STATIC);
    return *this;
}

SqliteStatement &SqliteStatement::bindNull(int index)
{
    sqlite3_bind_null(m_statement.get(), index);
    return *this;
}

Result<bool> SqliteStatement::step()
{
    const int code = sqlite3_step(m_statement.get());
    if (code == SQLITE_ROW)
        return true;
    if (code == SQLITE_DONE)
        return false;
    sqlite3 *const database = sqlite3_db_handle(m_statement.get());
    Error error = sqliteError(database, QString::fromUtf8(sqlite3_db_filename(database, "main")), "a statement");
    reset();
    return error;
}

Result<void> SqliteStatement::run()
{
    const auto stepped = step();
    reset();
    return stepped ? Result<void>() : Result<void>(stepped.error());
}

void SqliteStatement::reset()
{
    sqlite3_reset(m_statement.get());
}

std::int64_t SqliteStatement::integer(int column) const
{
    return sqlite3_column_int64(m_statement.get(), column);
}

QByteArrayView SqliteStatement::bytes(int column) const
{
    const void *const data = sqlite3_column_blob(m_statement.get(), column);
    return {static_cast<const char *>(data), sqlite3_column_bytes(m_statement.get(), column)};
}

void SqliteDatabase::Closer::operator()(sqlite3 *database) const
{
    sqlite3_close_v2(database);
}

Result<SqliteDatabase> SqliteDatabase::open(const QString &path, Mode mode)
{
    const int access = mode == Mode::ReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3 *raw = nullptr;
    const int code = sqlite3_open_v2(path.toUtf8().constData(), &raw, access | SQLITE_OPEN_NOMUTEX, nullptr);
    SqliteDatabase database;
    database.m_database.reset(raw);
    database.m_path = path;
    if (code != SQLITE_OK)
        return database.error("opening");
    sqlite3_busy_timeout(raw, kBusyMs);
    return database;
}

Error SqliteDatabase::error(const char *what) const
{
    return sqliteError(m_database.get(), m_path, what);
}

Result<SqliteStatement> SqliteDatabase::prepare(const char *sql) const
{
    sqlite3_stmt *raw = nullptr;
    const int code = sqlite3_prepare_v2(m_database.get(), sql, -1, &raw, nullptr);
    SqliteStatement statement;
    statement.m_statement.reset(raw);
    if (code != SQLITE_OK)
        return error("preparing a statement");
    return statement;
}

Result<void> SqliteDatabase::execute(const char *sql) const
{
    if (sqlite3_exec(m_database.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        return error("a statement");
    return {};
}

Result<std::int64_t> SqliteDatabase::integer(const char *sql) const
{
    auto statement = prepare(sql);
    if (!statement)
        return statement.error();
    const auto stepped = statement.value().step();
    if (!stepped)
        return stepped.error();
    return stepped.value() ? statement.value().integer(0) : 0;
}

Result<bool> SqliteDatabase::checkpoint() const
{
    // A busy reader must not hold up the writer: what it keeps is written the next time.
    sqlite3_busy_timeout(m_database.get(), 0);
    int code = sqlite3_wal_checkpoint_v2(m_database.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    bool isWhole = code == SQLITE_OK;
    if ((code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED)
        code = sqlite3_wal_checkpoint_v2(m_database.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    sqlite3_busy_timeout(m_database.get(), kBusyMs);
    if (code != SQLITE_OK)
        return error("a checkpoint");
    return isWhole;
}

} // namespace gridloom
