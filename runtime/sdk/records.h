// SPDX-License-Identifier: Apache-2.0
// Records: what must survive a power cut once it is acknowledged: alarm transitions, control records, trigger and
// coordination runs, the outbox, answers to commands, audit, deployments, and the newest state of what outlives a
// restart. The engine appends; the records thread writes one append log with group commit (one fdatasync confirms
// everything appended before it) and moves it into records.db from time to time.
#pragma once

#include "core/clock.h"
#include "core/design/design.h"
#include "core/result.h"
#include "core/value.h"
#include "sdk/sink.h"

#include <QByteArray>
#include <QString>

#include <cstdint>
#include <functional>
#include <map>
#include <variant>
#include <vector>

namespace gridloom {

struct AlarmTransition {
    QString alarmId; ///< "set-id.alarm-id"
    QString from;    ///< ISA-18.2 state names: "Normal", "Unacknowledged", ...
    QString to;
    Severity severity = Severity::Medium;
    WallTime time;
    QString text;
    QByteArray value;      ///< digits of the value that caused it, "" when none did
    std::uint64_t run = 0; ///< trigger run that raised or cleared it, 0: none
};

struct ControlRecord {
    std::uint64_t command = 0;
    QString pointId;
    Value value;
    Value readBack;        ///< null: none
    QString reason;        ///< a trigger's id, a user, or what they said
    std::uint64_t run = 0; ///< of that trigger or task, 0: none. Log and database hold "reason#run"
    QString priority;
    QString state; ///< final: Confirmed, Mismatch, TimedOut, Superseded, NotNeeded, Rejected
    QString error;
    WallTime requested;
    std::int64_t durationUs = 0; ///< from the request to the final state

    QString reasonText() const { return run == 0 ? reason : reason + QLatin1Char('#') + QString::number(run); }
};

struct RunRecord {
    std::uint64_t run = 0;
    QString triggerId;
    QString outcome; ///< Ok, Failed, TimedOut, Discarded, Skipped
    QString error;
    WallTime due;
    /// Microseconds from due; -1: the stage did not happen.
    std::int64_t startUs = -1, evalUs = -1, controlUs = -1, alarmUs = -1, mqttUs = -1, aggregationUs = -1, doneUs = -1;
    QByteArray detail; ///< JSON: actions, log lines, failed stages
};

struct OutboxEntry {
    QString sink;
    OutboundMessage message;
    WallTime created;
};
struct OutboxAcknowledged {
    QString sink;
    std::uint64_t messageId = 0;
};

/// The newest state of something that outlives a restart. The last value of a key wins; an empty value removes it.
struct StateRecord {
    QString key; ///< "window/SET.AGG", "script/TRIGGER", "alarm/SET.ALARM", "coordination/TASK": by stable ids
    QByteArray value;
};

struct AuditRecord {
    WallTime time;
    QString who;
    QString act;
    QString object;
    QString detail;
    bool isAllowed = true;
};

struct DeploymentRecord {
    WallTime time;
    QString revision;
    QString state; ///< "Applied", ...
    QString who;   ///< a user, or "start"
    QString detail;
};

struct CoordinationRecord {
    std::uint64_t run = 0; ///< numbered with the trigger runs, from Records::nextRun()
    QString taskId;
    QString outcome;
    QString error;
    WallTime due;
    std::int64_t doneUs = -1; ///< microseconds from due; -1: it did not end
    bool isCompensated = false;
    QByteArray steps; ///< JSON array, one object a step
};

/// The answer that a command from outside got, so that a repeated id gets it again.
struct CommandReply {
    QByteArray id;
    QByteArray reply;
    WallTime time;
};

/// The last record of an orderly stop: the first numbers that were not given out. The next start goes on with them.
struct NumbersUsed {
    std::uint64_t nextMessage = 1;
    std::uint64_t nextRun = 1;
    std::uint64_t nextCommand = 1;
};

using Record = std::variant<AlarmTransition, ControlRecord, RunRecord, OutboxEntry, OutboxAcknowledged, StateRecord,
                            AuditRecord, DeploymentRecord, CoordinationRecord, CommandReply, NumbersUsed>;
/// Grows by one with each appended record.
using RecordNumber = std::uint64_t;

struct RecordsStatistics {
    std::uint64_t appended = 0;
    std::uint64_t committed = 0; ///< durable
    std::uint64_t failed = 0;    ///< could not be made durable (disk full, I/O error)
    std::uint64_t commits = 0;
    std::uint64_t bytesWritten = 0;
    std::uint64_t outboxEntries = 0; ///< unacknowledged now
    double lastCommitMs = 0;
};

/// The engine's end of it. append() is for the engine thread alone; it never blocks.
class Records {
public:
    virtual ~Records() = default;
    virtual RecordNumber append(Record record) = 0;
    /// Set once, before the first append: called on the records thread after each group commit with the number up to
    /// which everything is durable, or with the error that keeps the records (first, last] from being so.
    struct CommitReport {
        RecordNumber first = 0, last = 0;
        Result<void> result;
        bool isFromReserve = false; ///< the disk is full: these went to the space kept for alarms and audit
    };
    virtual void setCommitted(std::function<void(const CommitReport &)> committed) = 0;
    /// Outbox entries of earlier runs that were never acknowledged, oldest first. Before the first append.
    virtual std::vector<OutboxEntry> pendingOutbox() const = 0;
    /// They were taken over: an hour's outage need not stay in memory twice.
    virtual void releaseOutbox() {}
    /// The last value of each StateRecord's key, as earlier runs left them. Before the first append.
    virtual std::map<QString, QByteArray> states() const = 0;
    /// The newest transition of each alarm that is not Normal; `from`, `value` and `run` are not kept. Before the first
    /// append.
    virtual std::vector<AlarmTransition> openAlarms() const = 0;
    /// The newest answers to commands that earlier runs gave, oldest first. Before the first append.
    virtual std::vector<CommandReply> replies() const = 0;
    /// The first message id, run number and command number that were never used. Before the first append.
    virtual std::uint64_t nextMessageId() const = 0;
    virtual std::uint64_t nextRun() const = 0;
    virtual std::uint64_t nextCommand() const = 0;
    virtual RecordsStatistics statistics() const = 0; ///< any thread
};

} // namespace gridloom
