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
/// A message has left its sink's queue: Done (acknowledged), Failed (it can never be sent), Discarded (the queue was full).
struct MessageEnded {
    QString sink;
    std::uint64_t messageId = 0;
    Outcome outcome = Outcome::Done;
    QString why; ///< unless Done
    SteadyTime at{};
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
                 RecordsCommitted, MessageEnded, RowsStored, RowsUnsynced, StateFault, DrainRequested>;
using EngineInbox = BoundedQueue<EngineEvent>;

} // namespace gridloom
