// SPDX-License-Identifier: Apache-2.0
#include "blockwriter.h"

#include "sdk/appendfile.h"

#include <QFile>
#include <QFileInfo>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gridloom {

namespace {
// A transaction of this size is over before the next batch of rows needs the disk.
constexpr std::int64_t kSliceBytes = 1'000'000;
constexpr std::int64_t kPageBytes = 16'384;

// A file that exists is whole: its tables are made under another name. So an empty one has lost its content, where SQLite
// would take it for a new one.
Result<void> create(const QString &path)
{
    const QString made = path + QStringLiteral(".new");
    // What a crash left of an earlier try, and a log of a file that is gone.
    for (const QString &leftover :
         {made, made + QStringLiteral("-journal"), path + QStringLiteral("-wal"), path + QStringLiteral("-shm")})
        QFile::remove(leftover);
    {
        const auto database = SqliteDatabase::open(made, SqliteDatabase::Mode::ReadWrite);
        if (!database)
            return database.error();
        const QByteArray sql = QByteArray("PRAGMA page_size=16384; PRAGMA auto_vacuum=INCREMENTAL; BEGIN;")
            + kBlockTablesSql + "PRAGMA user_version=1; COMMIT;";
        if (const auto created = database.value().execute(sql.constData()); !created)
            return created;
    }
    if (std::rename(QFile::encodeName(made).constData(), QFile::encodeName(path).constData()) != 0)
        return Error{QStringLiteral("store.failed"),
                     QStringLiteral("%1 cannot be created: %2").arg(path, QString::fromLocal8Bit(std::strerror(errno))),
                     true};
    return syncFolder(QFileInfo(path).path());
}
} // namespace

Result<BlockWriter> BlockWriter::open(const QString &path, const QByteArray &zone)
{
    const QFileInfo file(path);
    if (!file.exists()) {
        if (const auto created = create(path); !created)
            return created.error();
    } else if (file.size() == 0) {
        return Error{QStringLiteral("store.damaged"),
                     QStringLiteral("%1 has lost its content: it is empty.").arg(path)};
    }
    auto database = SqliteDatabase::open(path, SqliteDatabase::Mode::ReadWrite);
    if (!database)
        return database.error();
    BlockWriter writer(std::move(database).value());
    if (const auto prepared = writer.prepare(zone); !prepared)
        return prepared.error();
    return writer;
}

Result<void> BlockWriter::prepare(const QByteArray &zone)
{
    const auto version = m_database.integer("PRAGMA user_version");
    if (!version)
        return version.error();
    if (version.value() > kBlocksVersion)
        return Error{QStringLiteral("store.version"),
                     QStringLiteral("%1 is of version %2, this program writes %3; use the program that wrote it, or "
                                    "move the file away")
                         .arg(m_database.path())
                         .arg(version.value())
                         .arg(kBlocksVersion)};
    if (version.value() == 0)
        return Error{QStringLiteral("store.damaged"),
                     QStringLiteral("%1 is no history of this program: it has no version.").arg(m_database.path())};
    // secure_delete would write every freed page once more.
    if (const auto set = m_database.execute("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
                                            "PRAGMA secure_delete=OFF; PRAGMA cache_size=-1000;"
                                            "PRAGMA synchronous=NORMAL;");
        !set)
        return set;
    struct Prepared {
        SqliteStatement *statement;
        QByteArray sql;
    };
    std::vector<Prepared> all{
        {&m_insertSeries,
         "INSERT INTO series(id, name, unit) VALUES(?1, ?2, ?3)"
         " ON CONFLICT(id) DO UPDATE SET name = ?2, unit = ?3 WHERE name <> ?2 OR unit <> ?3"},
        {&m_findSeries, "SELECT number FROM series WHERE id = ?1"},
        {&m_insertTrigger, "INSERT OR IGNORE INTO triggers(id) VALUES(?1)"},
        {&m_findTrigger, "SELECT number FROM triggers WHERE id = ?1"},
        {&m_insertGroup, "INSERT INTO groups VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
        {&m_insertSegment, "INSERT OR IGNORE INTO segments VALUES(?1)"},
    };
    for (std::size_t kind = 0; kind < kBlockKinds; ++kind)
        all.push_back(
            {&m_insert[kind], QByteArray("INSERT INTO ") + kBlockTables[kind] + " VALUES(?1, ?2, ?3, ?4, ?5)"});
    for (const Prepared &one : all) {
        auto statement = m_database.prepare(one.sql.constData());
        if (!statement)
            return statement.error();
        *one.statement = std::move(statement).value();
    }
    auto setZone = m_database.prepare("INSERT INTO meta VALUES('zone', ?1) ON CONFLICT(key) DO UPDATE SET value = ?1"
                                      " WHERE value <> ?1");
    if (!setZone)
        return setZone.error();
    if (const auto set = setZone.value().bindText(1, zone).run(); !set)
        return set;
    m_hasUnfinished = true;
    return removeUnfinished();
}

// Blocks beyond the last group that was committed: of a group that a crash, or an error, has ended.
Result<void> BlockWriter::removeUnfinished()
{
    if (!m_hasUnfinished)
        return {};
    const auto last = m_database.integer("SELECT max(number) FROM groups");
    if (!last)
        return last.error();
    m_nextGroup = std::max(m_nextGroup, last.value() + 1);
    for (const char *table : kBlockTables) {
        const QByteArray sql = QByteArray("DELETE FROM ") + table
            + " WHERE key >= " + QByteArray::number(static_cast<qlonglong>(blockKey(last.value() + 1, 0, 0)));
        if (const auto removed = m_database.execute(sql.constData()); !removed)
            return removed;
    }
    m_hasUnfinished = false;
    return {};
}

Result<void> BlockWriter::begin()
{
    const auto begun = m_database.execute("BEGIN IMMEDIATE");
    m_isInTransaction = begun.ok();
    m_sliceBytes = 0;
    return begun;
}

Result<void> BlockWriter::commit()
{
    const auto committed = m_database.execute("COMMIT");
    if (committed)
        m_isInTransaction = false;
    return committed;
}

Result<std::int64_t> BlockWriter::numberOf(SqliteStatement &insert, SqliteStatement &find, const QByteArray &id)
{
    if (const auto inserted = insert.run(); !inserted)
        return inserted.error();
    const auto found = find.bindText(1, id).step();
    if (!found)
        return found.error();
    const std::int64_t number = find.integer(0);
    find.reset();
    return number;
}

Result<std::int64_t> BlockWriter::seriesNumber(const SegmentSeries &series)
{
    const QByteArray key = series.id + '\0' + series.name + '\0' + series.unit;
    if (const auto known = m_seriesNumbers.constFind(key); known != m_seriesNumbers.constEnd())
        return known.value();
    m_insertSeries.bindText(1, series.id).bindText(2, series.name).bindText(3, series.unit);
    const auto number = numberOf(m_insertSeries, m_findSeries, series.id);
    if (number && number.value() >= kMostSeries)
        return Error{QStringLiteral("store.full"),
                     QStringLiteral("%1 has no number left for another series; begin a "
                                    "new store")
                         .arg(m_database.path())};
    if (number)
        m_seriesNumbers.insert(key, number.value());
    return number;
}

Result<std::int64_t> BlockWriter::triggerNumber(const QByteArray &id)
{
    if (const auto known = m_triggerNumbers.constFind(id); known != m_triggerNumbers.constEnd())
        return known.value();
    m_insertTrigger.bindText(1, id);
    const auto number = numberOf(m_insertTrigger, m_findTrigger, id);
    if (number)
        m_triggerNumbers.insert(id, number.value());
    return number;
}

Result<void> BlockWriter::beginGroup(std::uint64_t segment)
{
    if (const auto clean = removeUnfinished(); !clean)
        return clean;
    BlockGroup group;
    group.number = m_nextGroup;
    group.segment = static_cast<std::int64_t>(segment);
    m_group.fill(group);
    m_lastSeries.fill(-1);
    m_places.fill(0);
    m_hasUnfinished = true;
    return begin();
}

Result<void> BlockWriter::add(BlockKind kind, std::int64_t series, const PackedBlock &block)
{
    const auto i = static_cast<std::size_t>(kind);
    m_places[i] = m_lastSeries[i] == series ? m_places[i] + 1 : 0;
    m_lastSeries[i] = series;
    if (m_places[i] >= kMostPlaces)
        return Error{QStringLiteral("store.failed"),
                     QStringLiteral("%1: too many blocks of one series at once").arg(m_database.path())};
    BlockGroup &group = m_group[i];
    m_insert[i]
        .bind(1, blockKey(group.number, series, m_places[i]))
        .bind(2, block.t0)
        .bind(3, block.t1)
        .bind(4, static_cast<std::int64_t>(block.count))
        .bindBlob(5, block.data);
    if (const auto inserted = m_insert[i].run(); !inserted)
        return inserted;
    group.firstMs = group.count == 0 ? block.t0 : std::min(group.firstMs, block.t0);
    group.lastMs = group.count == 0 ? block.t1 : std::max(group.lastMs, block.t1);
    group.count += static_cast<std::int64_t>(block.count);
    group.bytes += block.data.size();
    m_sliceBytes += block.data.size();
    if (m_sliceBytes < kSliceBytes)
        return {};
    if (const auto committed = commit(); !committed)
        return committed;
    return begin();
}

Result<void> BlockWriter::commitGroup(std::span<const std::uint64_t> segments)
{
    if (const auto committed = commit(); !committed)
        return committed;
    // This commit syncs the log, and with it every slice before it.
    if (const auto set = m_database.execute("PRAGMA synchronous=FULL"); !set)
        return set;
    auto done = begin();
    if (done)
        done = insertGroups(segments);
    if (done)
        done = commit();
    static_cast<void>(
        m_database.execute(m_isInTransaction ? "ROLLBACK; PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=NORMAL"));
    m_isInTransaction = false;
    if (!done)
        return done;
    m_nextGroup = m_group[0].number + 1;
    m_hasUnfinished = false;
    return {};
}

Result<void> BlockWriter::insertGroups(std::span<const std::uint64_t> segments)
{
    for (const std::uint64_t segment : segments) {
        if (const auto inserted = m_insertSegment.bind(1, static_cast<std::int64_t>(segment)).run(); !inserted)
            return inserted;
    }
    for (std::size_t kind = 0; kind < kBlockKinds; ++kind) {
        const BlockGroup &g = m_group[kind];
        if (g.count == 0 && g.dropped == 0)
            continue;
        m_insertGroup.bind(1, static_cast<std::int64_t>(kind)).bind(2, g.number).bind(3, g.segment);
        m_insertGroup.bind(4, g.firstMs).bind(5, g.lastMs).bind(6, g.count).bind(7, g.dropped).bind(8, g.bytes);
        if (const auto inserted = m_insertGroup.run(); !inserted)
            return inserted;
    }
    return {};
}

void BlockWriter::abandonGroup()
{
    if (m_isInTransaction)
        static_cast<void>(m_database.execute("ROLLBACK"));
    m_isInTransaction = false;
    // Numbers that were given out in the transaction are gone with it.
    m_seriesNumbers.clear();
    m_triggerNumbers.clear();
}

Result<BlockWriter::Oldest> BlockWriter::oldest(BlockKind kind)
{
    auto statement = m_database.prepare("SELECT last_ms FROM groups WHERE kind = ?1 ORDER BY number LIMIT 1");
    if (!statement)
        return statement.error();
    const auto stepped = statement.value().bind(1, static_cast<std::int64_t>(kind)).step();
    if (!stepped)
        return stepped.error();
    return stepped.value() ? Oldest{true, statement.value().integer(0)} : Oldest{};
}

Result<bool> BlockWriter::removeOldest(BlockKind kind)
{
    const QByteArray ofKind = QByteArray::number(static_cast<int>(kind));
    const auto number =
        m_database.integer(("SELECT coalesce(min(number), -1) FROM groups WHERE kind = " + ofKind).constData());
    if (!number)
        return number.error();
    if (number.value() < 0)
        return false;
    const auto text = [](std::int64_t v) { return QByteArray::number(static_cast<qlonglong>(v)); };
    const QByteArray sql = QByteArray("BEGIN IMMEDIATE; DELETE FROM ") + kBlockTables[static_cast<std::size_t>(kind)]
        + " WHERE key < " + text(blockKey(number.value() + 1, 0, 0)) + "; DELETE FROM groups WHERE kind = " + ofKind
        + " AND number = " + text(number.value()) + "; COMMIT";
    if (const auto removed = m_database.execute(sql.constData()); !removed) {
        static_cast<void>(m_database.execute("ROLLBACK"));
        return removed.error();
    }
    return true;
}

Result<void> BlockWriter::setAside(BlockKind kind, std::int64_t key)
{
    const QByteArray table = kBlockTables[static_cast<std::size_t>(kind)];
    const QByteArray where = " WHERE key = " + QByteArray::number(static_cast<qlonglong>(key));
    const QByteArray sql = "BEGIN IMMEDIATE; INSERT OR REPLACE INTO damaged_blocks SELECT "
        + QByteArray::number(static_cast<int>(kind)) + ", * FROM " + table + where + "; DELETE FROM " + table + where
        + "; COMMIT";
    const auto done = m_database.execute(sql.constData());
    if (!done)
        static_cast<void>(m_database.execute("ROLLBACK"));
    return done;
}

Result<std::set<std::uint64_t>> BlockWriter::segments() const
{
    return readCompactedSegments(m_database);
}

Result<void> BlockWriter::forgetSegments(std::uint64_t below)
{
    return m_database.execute(
        ("DELETE FROM segments WHERE number < " + QByteArray::number(static_cast<qulonglong>(below))).constData());
}

Result<void> BlockWriter::shrink(std::int64_t bytes)
{
    return m_database.execute(
        ("PRAGMA incremental_vacuum(" + QByteArray::number(static_cast<qlonglong>(bytes / kPageBytes + 1)) + ")")
            .constData());
}

Result<bool> BlockWriter::checkpoint()
{
    return m_database.checkpoint();
}

Result<BlockWriter::Size> BlockWriter::size() const
{
    const auto pages = m_database.integer("PRAGMA page_count");
    const auto free = m_database.integer("PRAGMA freelist_count");
    if (!pages || !free)
        return pages ? free.error() : pages.error();
    return Size{pages.value() * kPageBytes, free.value() * kPageBytes};
}

} // namespace gridloom
