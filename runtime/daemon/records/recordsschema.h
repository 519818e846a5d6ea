// SPDX-License-Identifier: Apache-2.0
// The tables and views of records.db (docs/records.md) and the statements that fill them. Every value is a bound
// parameter; no name of a design ever becomes SQL text.
#pragma once

#include <QLatin1String>

#include <array>

namespace gridloom::schema {

// Times are microseconds of UTC since 1970; integers of 64 bits keep their bit pattern.
inline constexpr std::array kCreate{
    QLatin1String("CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"),
    QLatin1String("CREATE TABLE IF NOT EXISTS alarm_transitions(number INTEGER PRIMARY KEY, alarm_id TEXT NOT NULL, "
                  "from_state TEXT NOT NULL, to_state TEXT NOT NULL, severity TEXT NOT NULL, time_us INTEGER NOT NULL, "
                  "text TEXT NOT NULL, value TEXT NOT NULL, run INTEGER NOT NULL)"),
    QLatin1String("CREATE TABLE IF NOT EXISTS control_records(number INTEGER PRIMARY KEY, command INTEGER NOT NULL, "
                  "point_id TEXT NOT NULL, value TEXT NOT NULL, read_back TEXT NOT NULL, reason TEXT NOT NULL, "
                  "priority TEXT NOT NULL, state TEXT NOT NULL, error TEXT NOT NULL, requested_us INTEGER NOT NULL, "
                  "duration_us INTEGER NOT NULL)"),
    QLatin1String("CREATE TABLE IF NOT EXISTS run_records(number INTEGER PRIMARY KEY, run INTEGER NOT NULL, "
                  "trigger_id TEXT NOT NULL, outcome TEXT NOT NULL, error TEXT NOT NULL, due_us INTEGER NOT NULL, "
                  "start_us INTEGER, eval_us INTEGER, control_us INTEGER, alarm_us INTEGER, mqtt_us INTEGER, "
                  "aggregation_us INTEGER, done_us INTEGER, detail TEXT NOT NULL)"),
    QLatin1String("CREATE TABLE IF NOT EXISTS outbox(number INTEGER PRIMARY KEY, sink TEXT NOT NULL, "
                  "message_id INTEGER NOT NULL, topic BLOB NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, "
                  "retained INTEGER NOT NULL, created_us INTEGER NOT NULL, UNIQUE(sink, message_id))"),
};

// For people: the same rows with their time as RFC 3339 text, shortest fraction.
inline constexpr std::array kViews{
    std::array{QLatin1String("alarm_transitions"), QLatin1String("time_us")},
    std::array{QLatin1String("control_records"), QLatin1String("requested_us")},
    std::array{QLatin1String("run_records"), QLatin1String("due_us")},
    std::array{QLatin1String("outbox"), QLatin1String("created_us")},
};
/// %1 table, %2 time column. The floor division keeps times before 1970 right as well.
inline constexpr QLatin1String kCreateView(
    "CREATE VIEW IF NOT EXISTS %1_text AS SELECT rtrim(rtrim(strftime('%Y-%m-%dT%H:%M:%S', "
    "(%2 - (%2 % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch') || "
    "printf('.%06d', (%2 % 1000000 + 1000000) % 1000000), '0'), '.') || 'Z' AS time, * FROM %1");

inline constexpr QLatin1String kInsertAlarm(
    "INSERT OR IGNORE INTO alarm_transitions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kInsertControl(
    "INSERT OR IGNORE INTO control_records VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kInsertRun(
    "INSERT OR IGNORE INTO run_records VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kInsertOutbox("INSERT OR REPLACE INTO outbox VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kRemoveOutbox("DELETE FROM outbox WHERE sink = ? AND message_id = ?");
inline constexpr QLatin1String kSetMeta("INSERT OR REPLACE INTO meta VALUES(?, ?)");
inline constexpr QLatin1String kSelectOutbox(
    "SELECT sink, message_id, topic, payload, qos, retained, created_us FROM outbox ORDER BY number");

} // namespace gridloom::schema
