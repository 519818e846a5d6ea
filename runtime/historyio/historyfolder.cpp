// SPDX-License-Identifier: Apache-2.0
#include "historyio/historyfolder.h"

#include "core/history/rowblock.h"
#include "historyio/rowmerge.h"

#include <QFile>
#include <QMap>
#include <QtEndian>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace gridloom {

namespace {
constexpr int kMostAttempts = 10;

std::uint32_t numberOf(const QByteArray &id, QHash<QByteArray, std::uint32_t> &numbers)
{
    const auto known = numbers.constFind(id);
    if (known != numbers.constEnd())
        return known.value();
    const auto number = static_cast<std::uint32_t>(numbers.size());
    numbers.insert(id, number);
    return number;
}

// Whether what begins there is a frame that has not got all of its bytes yet.
bool isIncompleteFrame(QByteArrayView rest)
{
    return rest.size() < kFrameHeaderSize
        || rest.size() - kFrameHeaderSize < qsizetype{qFromLittleEndian<std::uint32_t>(rest.data())};
}

std::int64_t seriesOf(const BlockRef &ref)
{
    return (ref.key >> kPlaceBits) & (kMostSeries - 1);
}
} // namespace

Result<std::unique_ptr<HistoryFolder>> HistoryFolder::open(const QString &path)
{
    std::unique_ptr<HistoryFolder> folder(new HistoryFolder(path));
    if (!folder->m_folder.exists())
        return Error{QStringLiteral("store.absent"),
                     QStringLiteral("%1 is not there; name the folder of an embedded store").arg(path)};
    // A segment may be compacted and removed between the look at the folder and its being read: then blocks have it.
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        folder->m_table = MemoryTable();
        folder->m_damage.clear();
        if (const auto opened = folder->openBlocks(); !opened)
            return opened.error();
        const auto read = folder->readSegments();
        if (!read)
            return read.error();
        if (read.value())
            return folder;
    }
    return Error{QStringLiteral("store.readFailed"),
                 QStringLiteral("%1 changes faster than it can be read; try again").arg(path), true};
}

Result<void> HistoryFolder::openBlocks()
{
    m_blocks.reset();
    auto blocks = BlockReader::open(m_folder.filePath(QLatin1String(kBlocksFile)));
    if (!blocks)
        return blocks.error().code == QLatin1String("store.absent") ? Result<void>() : Result<void>(blocks.error());
    m_blocks = std::move(blocks).value();
    if (const auto begun = m_blocks->begin(); !begun)
        return begun;
    const auto series = m_blocks->series();
    auto triggers = m_blocks->triggers();
    if (!series || !triggers)
        return series ? triggers.error() : series.error();
    for (const auto &entry : series.value())
        m_blockSeries.insert(entry.id, entry.number);
    m_blockTriggers = std::move(triggers).value();
    return {};
}

Result<bool> HistoryFolder::readSegments()
{
    std::set<std::uint64_t> compacted;
    if (m_blocks) {
        const auto known = m_blocks->compactedSegments();
        if (!known)
            return known.error();
        compacted = known.value();
    }
    m_folder.refresh();
    const QStringList names = m_folder.entryList({QStringLiteral("*.gls")}, QDir::Files, QDir::Name);
    for (const QString &name : names) {
        bool isNumber = false;
        const std::uint64_t number = name.chopped(4).toULongLong(&isNumber);
        if (!isNumber || compacted.count(number) > 0)
            continue;
        QFile file(m_folder.filePath(name));
        if (!file.open(QIODevice::ReadOnly)) {
            if (!file.exists())
                return false;
            return Error{QStringLiteral("store.readFailed"),
                         QStringLiteral("%1 cannot be read: %2").arg(file.fileName(), file.errorString())};
        }
        if (const auto read = readSegment(name, file.readAll(), name == names.back()); !read)
            return read.error();
    }
    return true;
}

Result<void> HistoryFolder::readSegment(const QString &name, const QByteArray &bytes, bool isNewest)
{
    SegmentReader reader(bytes);
    std::vector<std::uint32_t> series, triggers;
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item == SegmentReader::Item::Tables) {
            series.clear();
            triggers.clear();
            for (const SegmentSeries &s : reader.tables().series) {
                series.push_back(numberOf(s.id, m_seriesNumbers));
                m_series.resize(static_cast<std::size_t>(m_seriesNumbers.size()));
                m_series[series.back()] = s;
            }
            for (const QByteArray &id : reader.tables().triggers) {
                triggers.push_back(numberOf(id, m_triggerNumbers));
                m_triggers.resize(static_cast<std::size_t>(m_triggerNumbers.size()));
                m_triggers[triggers.back()] = id;
            }
        } else if (item == SegmentReader::Item::Row) {
            SegmentRow row = reader.row();
            row.series = series[row.series];
            if (row.trigger >= 0)
                row.trigger = static_cast<std::int32_t>(triggers[static_cast<std::size_t>(row.trigger)]);
            m_table.add(row);
        }
    }
    // The end of the newest one may be what is being written now.
    const auto first = reader.firstDamage();
    const bool isTornEnd = isNewest && first >= kFileHeaderSize && first + reader.damagedBytes() == bytes.size()
        && isIncompleteFrame(QByteArrayView(bytes).sliced(first));
    if (first >= 0 && !isTornEnd)
        m_damage << QStringLiteral("%1 is damaged at byte %2: %3 bytes cannot be read")
                        .arg(m_folder.filePath(name))
                        .arg(first)
                        .arg(reader.damagedBytes());
    return {};
}

Result<std::vector<HistoryFolder::SeriesSummary>> HistoryFolder::series()
{
    QMap<QByteArray, SeriesSummary> all;
    const auto add = [&all](const SegmentSeries &series, std::uint64_t rows, std::int64_t firstMs,
                            std::int64_t lastMs) {
        SeriesSummary &summary = all[series.id];
        summary.series = series; // segments are newer
        if (rows == 0)
            return;
        summary.firstMs = summary.rows == 0 ? firstMs : std::min(summary.firstMs, firstMs);
        summary.lastMs = summary.rows == 0 ? lastMs : std::max(summary.lastMs, lastMs);
        summary.rows += rows;
    };
    if (m_blocks) {
        auto statement = m_blocks->database().prepare(
            "SELECT s.id, s.name, s.unit, sum(b.count), min(b.t0), max(b.t1) FROM row_blocks b"
            " JOIN groups g ON g.kind = 0 AND g.number = b.key >> 39"
            " JOIN series s ON s.number = (b.key >> 15) & 16777215 GROUP BY s.number");
        if (!statement)
            return statement.error();
        SqliteStatement &s = statement.value();
        for (;;) {
            const auto stepped = s.step();
            if (!stepped)
                return stepped.error();
            if (!stepped.value())
                break;
            add({s.bytes(0).toByteArray(), s.bytes(1).toByteArray(), s.bytes(2).toByteArray()},
                static_cast<std::uint64_t>(s.integer(3)), s.integer(4), s.integer(5));
        }
    }
    for (std::uint32_t number = 0; number < m_series.size(); ++number) {
        const auto packed = m_table.series(number);
        add(m_series[number], packed.rows, packed.firstMs, packed.lastMs);
    }
    return std::vector<SeriesSummary>(all.cbegin(), all.cend());
}

Result<void> HistoryFolder::query(const QByteArray &id, std::int64_t fromMs, std::int64_t toMs,
                                  const std::function<bool(const SegmentRow &, const QByteArray &trigger)> &visit)
{
    // Triggers get numbers of their own here: those of blocks, then those of segments.
    constexpr std::int32_t kOfSegments = 1 << 30;
    std::vector<RowSource> sources;
    const auto packed = m_table.series(m_seriesNumbers.value(id, std::numeric_limits<std::uint32_t>::max()));
    if (packed.rows > 0)
        sources.push_back({packed.firstMs, std::numeric_limits<std::int64_t>::max(),
                           [&packed](std::uint32_t place, std::vector<SegmentRow> &rows) {
                               const std::size_t before = rows.size();
                               MemoryTable::unpack(packed, place, rows);
                               for (std::size_t i = before; i < rows.size(); ++i)
                                   rows[i].trigger += rows[i].trigger >= 0 ? kOfSegments : 0;
                               return Result<void>();
                           }});
    if (m_blocks && m_blockSeries.contains(id)) {
        const auto refs = m_blocks->find(BlockKind::Rows, m_blockSeries.value(id), fromMs, toMs);
        if (!refs)
            return refs.error();
        for (const BlockRef &ref : refs.value())
            sources.push_back({ref.t0, ref.segment,
                               [this, ref, &id](std::uint32_t place, std::vector<SegmentRow> &rows) -> Result<void> {
                                   const auto block = m_blocks->load(ref);
                                   if (!block)
                                       return block.error();
                                   if (!unpackRows(block.value(), place, rows))
                                       m_damage << QStringLiteral("a block of %1 rows of %2 is damaged")
                                                       .arg(ref.count)
                                                       .arg(QString::fromUtf8(id));
                                   return {};
                               }});
    }
    return mergeRows(std::move(sources), fromMs, toMs, [&](const SegmentRow &row) {
        if (row.trigger < 0)
            return visit(row, {});
        return visit(row,
                     row.trigger >= kOfSegments ? m_triggers[static_cast<std::size_t>(row.trigger - kOfSegments)]
                                                : m_blockTriggers.value(row.trigger));
    });
}

Result<HistoryCount> HistoryFolder::count()
{
    HistoryCount count;
    std::unordered_set<std::uint64_t> runs;
    std::vector<SegmentRow> rows;
    const auto add = [&] {
        for (const SegmentRow &row : rows) {
            if (row.trigger < 0)
                continue;
            ++count.triggerRows;
            runs.insert(row.run);
        }
    };
    if (m_blocks) {
        const auto groups = m_blocks->groups(BlockKind::Rows);
        if (!groups)
            return groups.error();
        for (const BlockGroup &group : groups.value())
            count.rows += static_cast<std::uint64_t>(group.count + group.dropped);
        const auto read = m_blocks->each(BlockKind::Rows, [&](const BlockRef &ref, QByteArrayView block) {
            rows.clear();
            if (!unpackRows(block, 0, rows))
                m_damage << QStringLiteral("a block of %1 rows is damaged").arg(ref.count);
            add();
            return true;
        });
        if (!read)
            return read.error();
    }
    for (std::uint32_t series = 0; series < m_table.seriesEnd(); ++series) {
        rows.clear();
        MemoryTable::unpack(m_table.series(series), series, rows);
        add();
    }
    count.rows += m_table.rows();
    count.triggerRuns = runs.size();
    return count;
}

Result<void> HistoryFolder::checkBlocks(BlockKind kind, QStringList &found)
{
    std::vector<SegmentRow> rows;
    std::vector<HistoryBucket> buckets;
    return m_blocks->each(kind, [&](const BlockRef &ref, QByteArrayView block) {
        rows.clear();
        buckets.clear();
        const bool isRead = kind == BlockKind::Rows ? unpackRows(block, 0, rows) : unpackBuckets(block, buckets);
        const auto count = static_cast<std::int64_t>(rows.size() + buckets.size());
        const bool isAsSaid = isRead && count == ref.count
            && (kind != BlockKind::Rows || (rows.front().timeMs == ref.t0 && rows.back().timeMs == ref.t1));
        if (!isAsSaid)
            found << QStringLiteral("%1: block %2 of %3 (series %4) is damaged")
                         .arg(QLatin1String(kBlocksFile), QString::number(ref.key),
                              QLatin1String(kBlockTables[static_cast<std::size_t>(kind)]),
                              QString::number(seriesOf(ref)));
        return true;
    });
}

Result<QStringList> HistoryFolder::check()
{
    QStringList found = m_damage;
    if (m_blocks) {
        auto statement = m_blocks->database().prepare("PRAGMA integrity_check(10)");
        if (!statement)
            return statement.error();
        for (;;) {
            const auto stepped = statement.value().step();
            if (!stepped)
                return stepped.error();
            if (!stepped.value())
                break;
            if (const auto text = statement.value().bytes(0); text != QByteArrayView("ok"))
                found << QStringLiteral("%1: %2").arg(QLatin1String(kBlocksFile),
                                                      QString::fromUtf8(text.toByteArray()));
        }
        for (std::size_t kind = 0; kind < kBlockKinds; ++kind) {
            if (const auto checked = checkBlocks(static_cast<BlockKind>(kind), found); !checked)
                return checked.error();
        }
        const auto aside = m_blocks->database().integer("SELECT count(*) FROM damaged_blocks");
        if (!aside)
            return aside.error();
        if (aside.value() > 0)
            found << QStringLiteral("%1: %2 damaged blocks were set aside before")
                         .arg(QLatin1String(kBlocksFile))
                         .arg(aside.value());
    }
    for (const QString &name : m_folder.entryList({QStringLiteral("*.corrupt-*")}, QDir::Files, QDir::Name))
        found << QStringLiteral("%1 was set aside as damaged before").arg(name);
    return found;
}

} // namespace gridloom
