// SPDX-License-Identifier: Apache-2.0
// Counts what a run left behind, without the runtime's help. Blocking.
#pragma once

#include "core/result.h"

#include <QString>

#include <cstdint>

namespace gridloom {

struct StoreCount {
    std::uint64_t rows = 0;
    std::uint64_t triggerRows = 0; ///< with a trigger id
    std::uint64_t triggerRuns = 0; ///< different runs among them
};

/// Decodes all segments and blocks of an embedded store. Error "bench.store" when one cannot be read or is damaged.
Result<StoreCount> countStoreRows(const QString &storeFolder);
/// The same, in a process of its own: `program` is gridloom-bench, which answers `count-rows`.
Result<StoreCount> countStoreRowsApart(const QString &program, const QString &storeFolder);

struct RecordsCount {
    std::uint64_t alarmRows = 0;
    std::uint64_t coordinationRows = 0; ///< of runs that were begun
};
/// Rows of records.db, opened read-only. Error "bench.records".
Result<RecordsCount> countRecords(const QString &recordsDb);

} // namespace gridloom
