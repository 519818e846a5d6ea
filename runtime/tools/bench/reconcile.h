// SPDX-License-Identifier: Apache-2.0
// Reconciliation: the accounts of a runtime that has stopped, against themselves and against what simulator,
// subscriber and database counted on their own. Pure.
#pragma once

#include "tools/bench/runtimestatus.h"

#include <optional>
#include <vector>

namespace gridloom {

/// Counted outside of the runtime.
struct OutsideCounts {
    std::uint64_t simReads = 0;           ///< read requests that reached the simulator
    std::uint64_t simWrites = 0;          ///< write requests that reached it
    std::uint64_t subscriberMessages = 0; ///< QoS >= 1 messages, duplicates by id removed
    std::uint64_t subscriberDuplicates = 0;
    std::uint64_t storeRows = 0;          ///< rows in the store's segments
    std::uint64_t dbAggregationRows = 0;  ///< those of them with a trigger id
    std::uint64_t dbAggregationRuns = 0;  ///< different runs among these; one run may write several rows
    std::uint64_t dbAlarmRows = 0;        ///< rows of alarm_transitions in records.db
    std::uint64_t dbCoordinationRows = 0; ///< rows of coordination_records of runs that were begun
    /// Writes that reached the outputs of coordination tasks; none where triggers write these as well.
    std::optional<std::uint64_t> simCoordinationWrites;
};

/// One equation that must hold exactly.
struct Identity {
    QString text; ///< "simReads = reads + readBacks"
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    bool holds() const { return left == right; }
};

/// All equations, in a fixed order. `final` is the last status line, after everything in flight has ended; a ledger
/// with something left in flight is an equation that does not hold.
std::vector<Identity> reconcile(const RuntimeStatus &final, const OutsideCounts &outside);

/// Whether all of them hold.
bool allHold(const std::vector<Identity> &identities);

} // namespace gridloom
