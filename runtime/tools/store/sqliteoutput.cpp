// SPDX-License-Identifier: Apache-2.0
#include "tools/store/rowoutput.h"

#include "historyio/sqlite.h"

#include <QFileInfo>

namespace gridloom {

namespace {
// A uint64 is stored as the int64 of the same bits: SQLite has no other. Its type tells, and the view shows its digits.
constexpr const char *kTables =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
    "CREATE TABLE series(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, unit TEXT NOT NULL);"
    "CREATE TABLE samples(series INTEGER NOT NULL REFERENCES series, time_ms INTEGER NOT NULL, type TEXT NOT NULL,"
    " value, quality INTEGER NOT NULL, quality_name TEXT NOT NULL, trigger TEXT, run INTEGER);"
    "CREATE VIEW history AS SELECT s.id AS series, s.name, s.unit,"
    " strftime('%Y-%m-%dT%H:%M:%S', floor_s, 'unixepoch') ||"
    " CASE WHEN ms = 0 THEN '' ELSE rtrim(printf('.%03d', ms), '0') END || 'Z' AS time, type,"
    " CASE type WHEN 'uint64' THEN printf('%llu', value) ELSE value END AS value, quality_name AS quality, trigger,"
    " printf('%llu', run) AS run FROM (SELECT *, ((time_ms % 1000) + 1000) % 1000 AS ms,"
    " (time_ms - ((time_ms % 1000) + 1000) % 1000) / 1000 AS floor_s FROM samples) JOIN series s ON s.number = series;";

class SqliteOutput final : public RowOutput {
public:
    Result<void> open(const QString &path)
    {
        if (QFileInfo::exists(path))
            return Error{QStringLiteral("store.exportFailed"),
                         QStringLiteral("%1 exists; name a new file or remove it").arg(path)};
        auto database = SqliteDatabase::open(path, SqliteDatabase::Mode::ReadWrite);
        if (!database)
            return database.error();
        m_database = std::make_unique<SqliteDatabase>(std::move(database).value());
        if (const auto made = m_database->execute(kTables); !made)
            return made;
        auto series = m_database->prepare("INSERT INTO series VALUES(?1, ?2, ?3, ?4)");
        auto sample = m_database->prepare("INSERT INTO samples VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        if (!series || !sample)
            return series ? sample.error() : series.error();
        m_series = std::move(series).value();
        m_sample = std::move(sample).value();
        return {};
    }
    Result<void> begin(const SegmentSeries &series) override
    {
        m_series.bind(1, ++m_number).bindText(2, series.id).bindText(3, series.name).bindText(4, series.unit);
        return m_series.run();
    }
    Result<void> row(const SegmentRow &row, const QByteArray &trigger) override
    {
        const auto name = qualityName(row.quality);
        m_sample.bind(1, m_number).bind(2, row.timeMs).bindText(3, typeName(row.value.type()));
        if (row.value.isNull())
            m_sample.bindNull(4);
        else if (row.value.type() == ValueType::Text)
            m_sample.bindText(4, row.value.text());
        else if (row.value.type() == ValueType::Double)
            m_sample.bind(4, row.value.real());
        else
            m_sample.bind(4, static_cast<std::int64_t>(row.value.bits()));
        m_sample.bind(5, std::int64_t{static_cast<std::uint8_t>(row.quality)});
        m_sample.bindText(6, {name.data(), static_cast<qsizetype>(name.size())});
        if (trigger.isEmpty())
            m_sample.bindNull(7).bindNull(8);
        else
            m_sample.bindText(7, trigger).bind(8, static_cast<std::int64_t>(row.run));
        return m_sample.run();
    }
    Result<void> end() override
    {
        // An export that was not finished is not to be trusted: it has no index, and its last bytes were not synced.
        return m_database->execute("COMMIT; PRAGMA synchronous=FULL;"
                                   "CREATE INDEX samples_of_series ON samples(series, time_ms);");
    }

private:
    std::unique_ptr<SqliteDatabase> m_database;
    SqliteStatement m_series, m_sample;
    std::int64_t m_number = 0;
};
} // namespace

Result<std::unique_ptr<RowOutput>> sqliteOutput(const QString &path)
{
    auto output = std::make_unique<SqliteOutput>();
    if (const auto opened = output->open(path); !opened)
        return opened.error();
    return std::unique_ptr<RowOutput>(std::move(output));
}

} // namespace gridloom
