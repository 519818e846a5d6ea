// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/outside.h"

#include "historyio/historyfolder.h"
#include "tools/procs/childprocess.h"

#include <QJsonDocument>
#include <QJsonObject>

#include <sqlite3.h>

namespace gridloom {

namespace {

constexpr std::chrono::minutes kCountTimeout{2};

Error storeError(const QString &message)
{
    return {QStringLiteral("bench.store"), message};
}

} // namespace

Result<StoreCount> countStoreRows(const QString &storeFolder)
{
    const auto folder = HistoryFolder::open(storeFolder);
    if (!folder)
        return storeError(folder.error().message);
    const auto count = folder.value()->count();
    if (!count)
        return storeError(count.error().message);
    if (!folder.value()->damage().isEmpty())
        return storeError(folder.value()->damage().join(QStringLiteral("; ")));
    return StoreCount{count.value().rows, count.value().triggerRows, count.value().triggerRuns};
}

Result<StoreCount> countStoreRowsApart(const QString &program, const QString &storeFolder)
{
    ChildProcess counter;
    const auto started = counter.start(program, {QStringLiteral("count-rows"), storeFolder});
    if (!started)
        return started.error();
    const bool ended = counter.waitForExit(kCountTimeout);
    const QJsonObject json = QJsonDocument::fromJson(counter.output()).object();
    const auto number = [&json](const char *key) { return json.value(QLatin1String(key)).toInteger(-1); };
    const qint64 rows = number("rows"), triggerRows = number("triggerRows"), triggerRuns = number("triggerRuns");
    if (!ended || counter.exitCode() != 0 || rows < 0 || triggerRows < 0 || triggerRuns < 0)
        return storeError(QStringLiteral("rows of %1 could not be counted: %2")
                              .arg(storeFolder, QString::fromUtf8(counter.output()).trimmed()));
    return StoreCount{static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(triggerRows),
                      static_cast<std::uint64_t>(triggerRuns)};
}

Result<RecordsCount> countRecords(const QString &recordsDb)
{
    sqlite3 *raw = nullptr;
    const int opened = sqlite3_open_v2(recordsDb.toUtf8().constData(), &raw, SQLITE_OPEN_READONLY, nullptr);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db(raw, sqlite3_close);
    sqlite3_busy_timeout(raw, 5'000); // the runtime may be moving a log
    sqlite3_stmt *rawStatement = nullptr;
    if (opened == SQLITE_OK)
        sqlite3_prepare_v2(raw,
                           "SELECT (SELECT count(*) FROM alarm_transitions), "
                           "(SELECT count(*) FROM coordination_records WHERE outcome <> 'Discarded')",
                           -1, &rawStatement, nullptr);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(rawStatement, sqlite3_finalize);
    if (!statement || sqlite3_step(rawStatement) != SQLITE_ROW)
        return Error{QStringLiteral("bench.records"),
                     QStringLiteral("%1: records could not be counted: %2")
                         .arg(recordsDb, QString::fromUtf8(sqlite3_errmsg(raw)))};
    return RecordsCount{static_cast<std::uint64_t>(sqlite3_column_int64(rawStatement, 0)),
                        static_cast<std::uint64_t>(sqlite3_column_int64(rawStatement, 1))};
}

} // namespace gridloom
