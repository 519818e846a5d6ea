// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/outside.h"

#include "core/history/segment.h"
#include "tools/procs/childprocess.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

#include <sqlite3.h>

#include <unordered_set>

namespace gridloom {

namespace {

constexpr std::chrono::minutes kCountTimeout{2};

Error storeError(const QString &message)
{
    return {QStringLiteral("bench.store"), message};
}

Result<void> countSegment(const QString &path, StoreCount &count, std::unordered_set<std::uint64_t> &runs)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return storeError(QStringLiteral("%1 cannot be read: %2").arg(path, file.errorString()));
    const QByteArray bytes = file.readAll();
    SegmentReader reader(bytes);
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item != SegmentReader::Item::Row)
            continue;
        ++count.rows;
        if (reader.row().trigger >= 0) {
            ++count.triggerRows;
            runs.insert(reader.row().run);
        }
    }
    if (reader.firstDamage() >= 0)
        return storeError(QStringLiteral("%1 is damaged at byte %2").arg(path).arg(reader.firstDamage()));
    return {};
}

} // namespace

Result<StoreCount> countStoreRows(const QString &storeFolder)
{
    const QDir folder(storeFolder);
    if (!folder.exists())
        return storeError(QStringLiteral("%1 is not there; name the folder of an embedded store").arg(storeFolder));
    StoreCount count;
    std::unordered_set<std::uint64_t> runs;
    for (const QString &name : folder.entryList({QStringLiteral("*.gls")}, QDir::Files, QDir::Name))
        if (const auto counted = countSegment(folder.filePath(name), count, runs); !counted)
            return counted.error();
    count.triggerRuns = runs.size();
    return count;
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
