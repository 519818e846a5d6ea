// SPDX-License-Identifier: Apache-2.0
// The little of SQLite's C interface that a store needs. A connection and its statements belong to one thread at a
// time; every call may block on the disk.
// Error codes: "store.full" (no space; retryable), "store.damaged" (the file is not what SQLite wrote), "store.failed".
#pragma once

#include "core/result.h"

#include <QByteArrayView>

#include <cstdint>
#include <memory>

struct sqlite3;
struct sqlite3_stmt;

namespace gridloom {

class SqliteStatement {
public:
    SqliteStatement() = default;
    /// Parameters from 1 on, as in SQL.
    SqliteStatement &bind(int index, std::int64_t value);
    SqliteStatement &bind(int index, double value);
    SqliteStatement &bindText(int index, QByteArrayView utf8);
    /// The bytes must live until the next step().
    SqliteStatement &bindBlob(int index, QByteArrayView bytes);
    SqliteStatement &bindNull(int index);

    /// True: there is a row, whose columns (from 0 on) can be read until the next step() or reset().
    Result<bool> step();
    /// For statements without rows: executes and resets.
    Result<void> run();
    void reset();
    std::int64_t integer(int column) const;
    QByteArrayView bytes(int column) const; ///< of a text or blob

private:
    friend class SqliteDatabase;
    struct Deleter {
        void operator()(sqlite3_stmt *statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Deleter> m_statement;
};

class SqliteDatabase {
public:
    enum class Mode { ReadOnly, ReadWrite };
    /// ReadWrite creates a missing file.
    static Result<SqliteDatabase> open(const QString &path, Mode mode);

    Result<SqliteStatement> prepare(const char *sql) const;
    /// Runs statements without parameters, skipping what they answer.
    Result<void> execute(const char *sql) const;
    /// The integer that a statement answers, 0 when it answers nothing.
    Result<std::int64_t> integer(const char *sql) const;
    /// Moves what is in the write-ahead log to the file, synced, and empties the log. False when a reader keeps it
    /// from getting empty: what was committed is durable all the same.
    Result<bool> checkpoint() const;
    const QString &path() const { return m_path; }

private:
    struct Closer {
        void operator()(sqlite3 *database) const;
    };
    Error error(const char *what) const;
    std::unique_ptr<sqlite3, Closer> m_database;
    QString m_path;
};

} // namespace gridloom
