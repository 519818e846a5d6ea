// SPDX-License-Identifier: Apache-2.0
// RecordTables: how many rows the tables of records.db have, and which of them are old enough to go. Used on the thread
// of the connection.
#pragma once

#include "sdk/records.h"

#include <QLatin1String>
#include <QSqlDatabase>

#include <array>

namespace gridloom {

/// How long rows of each kind are kept: the oldest go when there are more than `rows`, and when they are older than
/// `age`, but for the newest `atLeast`: a wall clock that jumps ahead must not empty a table.
struct RecordsRetention {
    struct Limit {
        std::int64_t rows;
        std::chrono::hours age;
        std::int64_t atLeast;
    };
    static constexpr std::chrono::hours kDay{24};
    Limit alarmTransitions{500'000, 1'095 * kDay, 50'000};
    Limit controlRecords{500'000, 365 * kDay, 10'000};
    Limit runRecords{200'000, 90 * kDay, 10'000};
    Limit audit{500'000, 1'095 * kDay, 50'000};
    Limit deployments{10'000, 3'650 * kDay, 1'000};
    Limit coordinationRecords{200'000, 365 * kDay, 10'000};
    /// Far more than come within the validity of a command.
    Limit replies{5'000, 2 * kDay, 500};
};

class RecordTables {
public:
    RecordTables(const QSqlDatabase &database, const RecordsRetention &retention);
    /// Counts the rows. Once, when the tables are there.
    Result<void> count();
    /// A row was added for a record of this alternative of Record.
    void added(std::size_t recordType);
    Result<void> removeOldRows(WallTime now);

    using Counts = std::array<std::int64_t, 7>;
    const Counts &counts() const { return m_counts; }
    /// After a transaction that was rolled back.
    void restore(const Counts &counts) { m_counts = counts; }

private:
    struct Table {
        QLatin1String name;
        QLatin1String timeColumn;
        std::size_t recordType; ///< index in Record
        RecordsRetention::Limit limit;
    };
    Result<std::int64_t> aged(const Table &table, WallTime now);

    QSqlDatabase m_database;
    std::array<Table, 7> m_tables;
    Counts m_counts{};
};

} // namespace gridloom
