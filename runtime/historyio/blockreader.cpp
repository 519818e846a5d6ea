// SPDX-License-Identifier: Apache-2.0
#include "historyio/blockreader.h"

#include <QFileInfo>

namespace gridloom {

namespace {
QByteArray copyOf(QByteArrayView bytes)
{
    return bytes.toByteArray();
}

std::size_t indexOf(BlockKind kind)
{
    return static_cast<std::size_t>(kind);
}
} // namespace

Result<BlockReader> BlockReader::open(const QString &path)
{
    if (!QFileInfo::exists(path))
        return Error{QStringLiteral("store.absent"), QStringLiteral("%1 does not exist").arg(path)};
    auto database = SqliteDatabase::open(path, SqliteDatabase::Mode::ReadOnly);
    if (!database)
        return database.error();
    BlockReader reader(std::move(database).value());
    const auto version = reader.m_database.integer("PRAGMA user_version");
    if (!version)
        return version.error();
    if (version.value() == 0) // created a moment ago, or not finished
        return Error{QStringLiteral("store.absent"), QStringLiteral("%1 has no blocks yet").arg(path), true};
    if (version.value() > kBlocksVersion)
        return Error{QStringLiteral("store.version"),
                     QStringLiteral("%1 is of version %2, this program reads up to %3; use the program that wrote it")
                         .arg(path)
                         .arg(version.value())
                         .arg(kBlocksVersion)};
    if (const auto prepared = reader.prepare(); !prepared)
        return prepared.error();
    return reader;
}

Result<void> BlockReader::prepare()
{
    for (std::size_t kind = 0; kind < kBlockKinds; ++kind) {
        const QByteArray table = kBlockTables[kind];
        auto find = m_database.prepare(
            ("SELECT key, t0, t1, count FROM " + table + " WHERE key BETWEEN ?1 AND ?2 AND t0 < ?3 AND t1 >= ?4")
                .constData());
        auto load = m_database.prepare(("SELECT data FROM " + table + " WHERE key = ?1").constData());
        if (!find || !load)
            return find ? load.error() : find.error();
        m_find[kind] = std::move(find).value();
        m_load[kind] = std::move(load).value();
    }
    auto number = m_database.prepare("SELECT number FROM series WHERE id = ?1");
    if (!number)
        return number.error();
    m_seriesNumber = std::move(number).value();
    return {};
}

Result<void> BlockReader::begin()
{
    if (const auto begun = m_database.execute("BEGIN"); !begun)
        return begun;
    // The snapshot is that of the first read.
    if (const auto read = m_database.integer("SELECT count(*) FROM meta"); !read) {
        end();
        return read.error();
    }
    const auto version = m_database.integer("PRAGMA data_version");
    if (!version || version.value() != m_version || m_isNarrowed) {
        m_groups = {};
        m_segments.reset();
        m_isNarrowed = false;
    }
    m_version = version ? version.value() : -1;
    return {};
}

Result<void> BlockReader::narrow(BlockKind kind, std::int64_t fromMs, std::int64_t toMs)
{
    const auto all = groups(kind);
    if (!all)
        return all.error();
    std::vector<BlockGroup> &kept = *m_groups[indexOf(kind)];
    std::erase_if(kept, [=](const BlockGroup &g) { return g.firstMs >= toMs || g.lastMs < fromMs; });
    m_isNarrowed = true;
    return {};
}

void BlockReader::end()
{
    static_cast<void>(m_database.execute("END"));
}

Result<std::vector<BlockReader::SeriesEntry>> BlockReader::series() const
{
    auto statement = m_database.prepare("SELECT number, id, name, unit FROM series ORDER BY number");
    if (!statement)
        return statement.error();
    SqliteStatement &s = statement.value();
    std::vector<SeriesEntry> result;
    for (;;) {
        const auto stepped = s.step();
        if (!stepped)
            return stepped.error();
        if (!stepped.value())
            return result;
        result.push_back({s.integer(0), copyOf(s.bytes(1)), copyOf(s.bytes(2)), copyOf(s.bytes(3))});
    }
}

Result<std::optional<std::int64_t>> BlockReader::seriesNumber(const QByteArray &id)
{
    m_seriesNumber.bindText(1, id);
    const auto stepped = m_seriesNumber.step();
    if (!stepped)
        return stepped.error();
    std::optional<std::int64_t> number;
    if (stepped.value())
        number = m_seriesNumber.integer(0);
    m_seriesNumber.reset();
    return number;
}

Result<QHash<std::int64_t, QByteArray>> BlockReader::triggers() const
{
    auto statement = m_database.prepare("SELECT number, id FROM triggers");
    if (!statement)
        return statement.error();
    QHash<std::int64_t, QByteArray> result;
    for (;;) {
        const auto stepped = statement.value().step();
        if (!stepped)
            return stepped.error();
        if (!stepped.value())
            return result;
        result.insert(statement.value().integer(0), copyOf(statement.value().bytes(1)));
    }
}

Result<std::set<std::uint64_t>> BlockReader::compactedSegments()
{
    if (!m_segments) {
        auto read = readCompactedSegments(m_database);
        if (!read)
            return read.error();
        m_segments = std::move(read).value();
    }
    return *m_segments;
}

Result<std::set<std::uint64_t>> readCompactedSegments(const SqliteDatabase &database)
{
    auto statement = database.prepare("SELECT number FROM segments");
    if (!statement)
        return statement.error();
    std::set<std::uint64_t> result;
    for (;;) {
        const auto stepped = statement.value().step();
        if (!stepped)
            return stepped.error();
        if (!stepped.value())
            return result;
        result.insert(static_cast<std::uint64_t>(statement.value().integer(0)));
    }
}

Result<std::vector<BlockGroup>> BlockReader::groups(BlockKind kind)
{
    auto &known = m_groups[indexOf(kind)];
    if (!known) {
        auto read = readGroups(kind);
        if (!read)
            return read.error();
        known = std::move(read).value();
    }
    return *known;
}

Result<std::vector<BlockGroup>> BlockReader::readGroups(BlockKind kind) const
{
    auto statement = m_database.prepare(
        "SELECT number, segment, first_ms, last_ms, count, dropped, bytes FROM groups WHERE kind = ?1 ORDER BY number");
    if (!statement)
        return statement.error();
    SqliteStatement &s = statement.value();
    s.bind(1, std::int64_t{static_cast<std::int64_t>(kind)});
    std::vector<BlockGroup> result;
    for (;;) {
        const auto stepped = s.step();
        if (!stepped)
            return stepped.error();
        if (!stepped.value())
            return result;
        result.push_back(
            {s.integer(0), s.integer(1), s.integer(2), s.integer(3), s.integer(4), s.integer(5), s.integer(6)});
    }
}

Result<std::vector<BlockRef>> BlockReader::find(BlockKind kind, std::int64_t series, std::int64_t fromMs,
                                                std::int64_t toMs)
{
    if (!m_groups[indexOf(kind)]) {
        if (const auto read = groups(kind); !read)
            return read.error();
    }
    std::vector<BlockRef> result;
    SqliteStatement &s = m_find[indexOf(kind)];
    for (const BlockGroup &group : *m_groups[indexOf(kind)]) {
        if (group.firstMs >= toMs || group.lastMs < fromMs)
            continue;
        s.bind(1, blockKey(group.number, series, 0));
        s.bind(2, blockKey(group.number, series, kMostPlaces - 1));
        s.bind(3, toMs).bind(4, fromMs);
        for (;;) {
            const auto stepped = s.step();
            if (!stepped)
                return stepped.error();
            if (!stepped.value())
                break;
            result.push_back({kind, s.integer(0), group.segment, s.integer(1), s.integer(2), s.integer(3)});
        }
        s.reset();
    }
    return result;
}

Result<void> BlockReader::each(BlockKind kind, const std::function<bool(const BlockRef &, QByteArrayView block)> &visit)
{
    const auto known = groups(kind);
    if (!known)
        return known.error();
    const QByteArray table = kBlockTables[indexOf(kind)];
    auto statement = m_database.prepare(
        ("SELECT key, t0, t1, count, data FROM " + table + " WHERE key BETWEEN ?1 AND ?2 ORDER BY key").constData());
    if (!statement)
        return statement.error();
    SqliteStatement &s = statement.value();
    for (const BlockGroup &group : known.value()) {
        s.bind(1, blockKey(group.number, 0, 0)).bind(2, blockKey(group.number + 1, 0, 0) - 1);
        for (;;) {
            const auto stepped = s.step();
            if (!stepped)
                return stepped.error();
            if (!stepped.value())
                break;
            if (!visit({kind, s.integer(0), group.segment, s.integer(1), s.integer(2), s.integer(3)}, s.bytes(4)))
                return {};
        }
        s.reset();
    }
    return {};
}

Result<QByteArray> BlockReader::load(const BlockRef &ref)
{
    SqliteStatement &s = m_load[indexOf(ref.kind)];
    s.bind(1, ref.key);
    const auto stepped = s.step();
    if (!stepped)
        return stepped.error();
    const QByteArray block = stepped.value() ? copyOf(s.bytes(0)) : QByteArray();
    s.reset();
    return block;
}

} // namespace gridloom
