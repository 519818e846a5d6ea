// SPDX-License-Identifier: Apache-2.0
// What reaches the engine thread: every other thread speaks to it only by pushing one of these into its inbox.
#pragma once

#include "core/boundedqueue.h"
#include "core/bufferpool.h"
#include "core/ledger.h"
#include "core/sample.h"
#include "script/scripttypes.h"
#include "sdk/driver.h"
#include "sdk/records.h"

#include <variant>
#include <vector>

namespace gridloom {

/// Answers of a driver to its polls.
struct SamplesArrived {
    BufferPool<Sample>::Buffer samples;
};
struct WriteFinished {
    WriteId id = 0;
    WriteResult result;
    SteadyTime at{};
};
struct HealthChanged {
    QString deviceId;
    LinkHealth health = LinkHealth::Offline;
    QString why;
};
struct ScriptFinished {
    int trigger = -1;
    std::uint64_t run = 0;
    ScriptResult result;
    SteadyTime imageTime{}; ///< freeze time of the image it read
    SteadyTime started{};
    SteadyTime ended{};
};
/// The `state` of a script at an orderly stop.
struct ScriptStateSaved {
    int trigger = -1;
    QByteArray state;
};
/// A record that another thread wants to have written.
struct RecordAsked {
    Record record;
};
/// The outcome of a group commit of the records.
struct RecordsCommitted {
    Records::CommitReport report;
    SteadyTime at{};
};
/// A message has left its sink's outbox: Done (acknowledged), Failed (it can never be sent), Discarded (the outbox was full,
/// or a newer state took its place).
struct MessageEnded {
    QString sink;
    std::uint64_t messageId = 0;
    Outcome outcome = Outcome::Done;
    QString why; ///< unless Done
    SteadyTime at{};
    bool isBacklog = false; ///< the sink waits for settled(), once its receipt is durable
};
/// A sink has a new connection.
struct SinkConnected {
    QString sink;
};
/// The outbox of a sink is at 80 % of its quota, or below 60 % again.
struct OutboxLevelChanged {
    QString sink;
    bool isFilling = false;
    qint64 bytes = 0, quota = 0;
};
/// A message below the sink's "cmd/"; `payload` is cut when it is too long.
struct CommandArrived {
    QString sink;
    QByteArray verb; ///< last level of its topic: "write"
    QByteArray payload;
    bool isRetained = false;
    bool isTooLong = false;
};
/// Commands that nobody looked at, since too many came at once.
struct CommandsBeyondRate {
    QString sink;
    std::uint64_t commands = 0;
};
/// A batch of history rows was appended, or refused whole. `runs` are the trigger runs that wrote rows of it.
struct RowsStored {
    std::size_t rows = 0;
    std::size_t triggerRows = 0;
    BufferPool<std::uint64_t>::Buffer runs;
    bool isStored = true;
    bool isSynced = true; ///< what was stored before it could be synced
    QString error;
    SteadyTime at{};
};
/// Rows that were stored and could not be made to survive a power cut.
struct RowsUnsynced {
    std::size_t rows = 0;
    QString error;
};
/// Damage of the state found by the surroundings (records, files), to be raised as an alarm.
struct StateFault {
    QString text;
};
/// Stop making work due; end what is in flight.
struct DrainRequested {};

using EngineEvent =
    std::variant<SamplesArrived, WriteFinished, HealthChanged, ScriptFinished, ScriptStateSaved, RecordAsked,
                 RecordsCommitted, MessageEnded, SinkConnected, OutboxLevelChanged, CommandArrived, CommandsBeyondRate,
                 RowsStored, RowsUnsynced, StateFault, DrainRequested>;
using EngineInbox = BoundedQueue<EngineEvent>;

} // namespace gridloom
