// SPDX-License-Identifier: Apache-2.0
// The tables and views of records.db (docs/records.md) and the statements that fill them. Every value is a bound
// parameter; no name of a design ever becomes SQL text.
#pragma once

#include <QLatin1String>

#include <array>
#include <cstdint>

namespace gridloom::schema {

/// Stored in meta as schema_version; files without it are of version 1. Version 2 added tables and outbox.class.
inline constexpr std::int64_t kVersion = 2;

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
                  "retained INTEGER NOT NULL, created_us INTEGER NOT NULL, class INTEGER NOT NULL DEFAULT 0, "
                  "UNIQUE(sink, message_id))"),
    QLatin1String("CREATE TABLE IF NOT EXISTS alarm_states(alarm_id TEXT PRIMARY KEY, state TEXT NOT NULL, "
                  "severity TEXT NOT NULL, since_us INTEGER NOT NULL, text TEXT NOT NULL) WITHOUT ROWID"),
    QLatin1String("CREATE TABLE IF NOT EXISTS states(key TEXT PRIMARY KEY, value BLOB NOT NULL, "
                  "crc INTEGER NOT NULL) WITHOUT ROWID"),
    // hash: SHA-256 over the hash of the row before and the fields, see RecordStatements.
    QLatin1String("CREATE TABLE IF NOT EXISTS audit(number INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, "
                  "who TEXT NOT NULL, act TEXT NOT NULL, object TEXT NOT NULL, detail TEXT NOT NULL, "
                  "allowed INTEGER NOT NULL, hash BLOB NOT NULL)"),
    QLatin1String("CREATE TABLE IF NOT EXISTS deployments(number INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, "
                  "revision TEXT NOT NULL, state TEXT NOT NULL, who TEXT NOT NULL, detail TEXT NOT NULL)"),
    QLatin1String("CREATE TABLE IF NOT EXISTS coordination_records(number INTEGER PRIMARY KEY, run INTEGER NOT NULL, "
                  "task_id TEXT NOT NULL, outcome TEXT NOT NULL, error TEXT NOT NULL, due_us INTEGER NOT NULL, "
                  "done_us INTEGER, compensated INTEGER NOT NULL, steps TEXT NOT NULL)"),
    QLatin1String("CREATE TABLE IF NOT EXISTS command_replies(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, "
                  "reply BLOB NOT NULL, time_us INTEGER NOT NULL)"),
};

/// Of a file of version 1: what its alarms ended in. With max() the other columns are those of that row.
inline constexpr QLatin1String kFillAlarmStates(
    "INSERT INTO alarm_states SELECT alarm_id, to_state, severity, time_us, text FROM (SELECT alarm_id, to_state, "
    "severity, time_us, text, max(number) FROM alarm_transitions GROUP BY alarm_id) WHERE to_state <> 'Normal'");

// For people: the same rows with their time as RFC 3339 text, shortest fraction.
inline constexpr std::array kViews{
    std::array{QLatin1String("alarm_transitions"), QLatin1String("time_us")},
    std::array{QLatin1String("control_records"), QLatin1String("requested_us")},
    std::array{QLatin1String("run_records"), QLatin1String("due_us")},
    std::array{QLatin1String("outbox"), QLatin1String("created_us")},
    std::array{QLatin1String("alarm_states"), QLatin1String("since_us")},
    std::array{QLatin1String("audit"), QLatin1String("time_us")},
    std::array{QLatin1String("deployments"), QLatin1String("time_us")},
    std::array{QLatin1String("coordination_records"), QLatin1String("due_us")},
    std::array{QLatin1String("command_replies"), QLatin1String("time_us")},
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
inline constexpr QLatin1String kInsertOutbox("INSERT OR REPLACE INTO outbox VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kRemoveOutbox("DELETE FROM outbox WHERE sink = ? AND message_id = ?");
inline constexpr QLatin1String kInsertAlarmState("INSERT OR REPLACE INTO alarm_states VALUES(?, ?, ?, ?, ?)");
inline constexpr QLatin1String kRemoveAlarmState("DELETE FROM alarm_states WHERE alarm_id = ?");
inline constexpr QLatin1String kInsertState("INSERT OR REPLACE INTO states VALUES(?, ?, ?)");
inline constexpr QLatin1String kRemoveState("DELETE FROM states WHERE key = ?");
inline constexpr QLatin1String kInsertAudit("INSERT OR IGNORE INTO audit VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kLastAuditHash("SELECT hash FROM audit WHERE number < ? ORDER BY number DESC LIMIT 1");
inline constexpr QLatin1String kInsertDeployment("INSERT OR IGNORE INTO deployments VALUES(?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kInsertCoordination(
    "INSERT OR IGNORE INTO coordination_records VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
inline constexpr QLatin1String kInsertReply("INSERT OR REPLACE INTO command_replies VALUES(?, ?, ?, ?)");
inline constexpr QLatin1String kSetMeta("INSERT OR REPLACE INTO meta VALUES(?, ?)");
inline constexpr QLatin1String kSelectOutbox(
    "SELECT sink, message_id, topic, payload, qos, retained, created_us, class FROM outbox ORDER BY number");
inline constexpr QLatin1String kHasOutboxClass("SELECT 1 FROM pragma_table_info('outbox') WHERE name = 'class'");
inline constexpr QLatin1String kAddOutboxClass("ALTER TABLE outbox ADD COLUMN class INTEGER NOT NULL DEFAULT 0");
inline constexpr QLatin1String kSelectAlarmStates(
    "SELECT alarm_id, state, severity, since_us, text FROM alarm_states ORDER BY since_us");
inline constexpr QLatin1String kSelectStates("SELECT key, value, crc FROM states");
inline constexpr QLatin1String kSelectReplies("SELECT id, reply, time_us FROM command_replies ORDER BY number");
inline constexpr QLatin1String kSelectLastDeployment(
    "SELECT time_us, revision, state, who, detail FROM deployments ORDER BY number DESC LIMIT 1");

} // namespace gridloom::schema
