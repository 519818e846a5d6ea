// SPDX-License-Identifier: Apache-2.0
#include "embeddedreader.h"

#include "core/history/rollup.h"
#include "core/history/rowblock.h"

#include <algorithm>

namespace gridloom {

namespace {
using std::chrono::milliseconds;

constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostBuckets = 100'000;
// A bucket made of fewer roll-ups would show where they begin.
constexpr std::int64_t kRollupsPerBucket = 4;
struct StepLength {
    RollupStep step;
    std::int64_t ms;
};
constexpr std::array<StepLength, 3> kSteps{
    {{RollupStep::Hour, 3'600'000}, {RollupStep::QuarterHour, 900'000}, {RollupStep::Minute, 60'000}}};

// The first stored time that is not before `time`.
std::int64_t firstStoredTime(WallTime time)
{
    return std::chrono::ceil<milliseconds>(time).time_since_epoch().count();
}

// Rows of one series in a segment.
Result<void> loadSegment(QFile &from, const QByteArray &id, const QHash<QByteArray, int> &triggerNumbers,
                         std::uint32_t place, std::vector<SegmentRow> &rows)
{
    const QByteArray file = from.readAll();
    if (from.error() != QFileDevice::NoError)
        return Error{QStringLiteral("store.readFailed"),
                     QStringLiteral("%1 cannot be read: %2; check the disk").arg(from.fileName(), from.errorString()),
                     true};
    SegmentReader reader(file);
    std::size_t series = 0;
    std::vector<int> triggers;
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item == SegmentReader::Item::Tables) {
            const auto &all = reader.tables().series;
            const auto found = std::find_if(all.begin(), all.end(), [&](const auto &s) { return s.id == id; });
            series = static_cast<std::size_t>(found - all.begin());
            triggers.clear();
            for (const QByteArray &trigger : reader.tables().triggers)
                triggers.push_back(triggerNumbers.value(trigger, -1));
        } else if (item == SegmentReader::Item::Row && reader.row().series == series) {
            SegmentRow &row = rows.emplace_back(reader.row());
            row.series = place;
            if (row.trigger >= 0)
                row.trigger = triggers[static_cast<std::size_t>(row.trigger)];
        }
    }
    return {};
}
} // namespace

Result<EmbeddedReader::Recent> EmbeddedReader::recent(const QByteArray &id, Range range)
{
    Recent result;
    const std::lock_guard lock(m_state->mutex);
    if (!m_state->isOpen)
        return Error{QStringLiteral("store.closed"), QStringLiteral("history is not open yet; try again"), true};
    result.point = m_state->handles.value(id, kNoPoint);
    result.triggers = m_state->triggers;
    result.zone = m_state->zone;
    for (const QByteArray &trigger : m_state->names.triggers())
        result.memoryTriggers.push_back(m_state->triggers.value(trigger, -1));
    for (const auto &[number, segment] : m_state->segments) {
        if (!segment.isWaiting || segment.summary.firstMs >= range.toMs || segment.summary.lastMs < range.fromMs)
            continue;
        auto file = std::make_shared<QFile>(m_state->segmentPath(number));
        // One that has gone meanwhile is in blocks, and the snapshot of those is still to come.
        if (file->open(QIODevice::ReadOnly))
            result.parts.push_back({{}, std::move(file), {number}, segment.summary.firstMs});
    }
    const auto series = m_state->names.findSeries(id);
    const auto add = [&](const MemoryTable &table, const std::vector<std::uint64_t> &segments) {
        MemoryTable::Packed packed = table.series(*series);
        if (packed.rows > 0 && packed.firstMs < range.toMs && packed.lastMs >= range.fromMs) {
            const std::int64_t firstMs = packed.firstMs;
            result.parts.push_back({std::move(packed), nullptr, segments, firstMs});
        }
    };
    if (series && m_state->sealed)
        add(*m_state->sealed->table, m_state->sealed->segments);
    if (series)
        add(*m_state->active, {});
    return result;
}

Result<void> EmbeddedReader::begin(Recent &recent)
{
    QString path;
    {
        const std::lock_guard lock(m_state->mutex);
        path = m_state->folder + QLatin1Char('/') + QLatin1String(kBlocksFile);
        if (m_generation != m_state->databaseGeneration)
            m_blocks.reset();
        m_generation = m_state->databaseGeneration;
    }
    if (!m_blocks) {
        auto opened = BlockReader::open(path);
        if (!opened)
            return opened.error().code == QLatin1String("store.absent") ? Result<void>() : opened.error();
        m_blocks = std::move(opened).value();
        m_blockTriggers.clear();
    }
    if (const auto begun = m_blocks->begin(); !begun) {
        m_blocks.reset();
        return begun;
    }
    m_hasSnapshot = true;
    const auto compacted = m_blocks->compactedSegments();
    if (!compacted)
        return compacted.error();
    std::erase_if(recent.parts, [&](const Recent::Part &part) {
        return !part.segments.empty() && compacted.value().count(part.segments.back()) > 0;
    });
    return {};
}

void EmbeddedReader::end()
{
    if (m_hasSnapshot)
        m_blocks->end();
    m_hasSnapshot = false;
}

void EmbeddedReader::reportDamage(const BlockRef &ref)
{
    const std::lock_guard lock(m_state->mutex);
    for (const BlockRef &known : m_state->damaged) {
        if (known.kind == ref.kind && known.key == ref.key)
            return;
    }
    m_state->damaged.push_back(ref);
    m_state->faults << QStringLiteral("%1/%2: a block of %3 entries is damaged; it is kept in its table "
                                      "damaged_blocks.")
                           .arg(m_state->folder, QLatin1String(kBlocksFile))
                           .arg(ref.count);
    m_state->wakeCompactor();
}

Result<void> EmbeddedReader::loadBlock(const BlockRef &ref, const Recent &recent, std::uint32_t place,
                                       std::vector<SegmentRow> &rows)
{
    const auto block = m_blocks->load(ref);
    if (!block)
        return block.error();
    const std::size_t before = rows.size();
    if (!unpackRows(block.value(), place, rows)) {
        reportDamage(ref);
        return {};
    }
    for (std::size_t i = before; i < rows.size(); ++i) {
        if (rows[i].trigger < 0)
            continue;
        if (!m_blockTriggers.contains(rows[i].trigger)) {
            auto triggers = m_blocks->triggers();
            if (!triggers)
                return triggers.error();
            m_blockTriggers = std::move(triggers).value();
        }
        rows[i].trigger = recent.triggers.value(m_blockTriggers.value(rows[i].trigger), -1);
    }
    return {};
}

Result<std::vector<RowSource>> EmbeddedReader::sources(const QByteArray &id, const Recent &recent, Range range)
{
    std::vector<RowSource> all;
    for (const Recent::Part &part : recent.parts) {
        const bool isActive = part.segments.empty();
        const std::int64_t rank = isActive ? kNewest : static_cast<std::int64_t>(part.segments.back());
        all.push_back(
            {part.firstMs, rank, [this, &part, &recent, &id](std::uint32_t place, std::vector<SegmentRow> &rows) {
                 if (part.segment) {
                     return loadSegment(*part.segment, id, recent.triggers, place, rows);
                 }
                 const std::size_t before = rows.size();
                 MemoryTable::unpack(part.packed, place, rows);
                 for (std::size_t i = before; i < rows.size(); ++i) {
                     if (rows[i].trigger >= 0)
                         rows[i].trigger = recent.memoryTriggers[static_cast<std::size_t>(rows[i].trigger)];
                 }
                 return Result<void>();
             }});
    }
    if (!m_hasSnapshot)
        return all;
    const auto number = m_blocks->seriesNumber(id);
    if (!number)
        return number.error();
    if (!number.value())
        return all;
    const auto refs = m_blocks->find(BlockKind::Rows, *number.value(), range.fromMs, range.toMs);
    if (!refs)
        return refs.error();
    for (const BlockRef &ref : refs.value())
        all.push_back({ref.t0, ref.segment, [this, ref, &recent](std::uint32_t place, std::vector<SegmentRow> &rows) {
                           return loadBlock(ref, recent, place, rows);
                       }});
    return all;
}

Result<void> EmbeddedReader::rows(const QByteArray &id, Range range,
                                  const std::function<bool(const HistoryRow &)> &visit)
{
    auto now = recent(id, range);
    if (!now)
        return now.error();
    Result<void> done = begin(now.value());
    if (done) {
        auto places = sources(id, now.value(), range);
        done = places ? mergeRows(std::move(places).value(), range.fromMs, range.toMs,
                                  [&](const SegmentRow &row) {
                                      return visit({now.value().point, row.quality, row.value,
                                                    WallTime(milliseconds(row.timeMs)), row.trigger, row.run});
                                  })
                      : Result<void>(places.error());
    }
    end();
    return done;
}

Result<void> EmbeddedReader::query(const QString &seriesId, WallTime from, WallTime to,
                                   const std::function<bool(const HistoryRow &)> &visit)
{
    return rows(seriesId.toUtf8(), {firstStoredTime(from), firstStoredTime(to)}, visit);
}

// Looks back over longer and longer spans: nearly always the first holds enough.
Result<std::vector<HistoryRow>> EmbeddedReader::last(const QString &seriesId, std::size_t count, WallTime to)
{
    const QByteArray id = seriesId.toUtf8();
    const std::int64_t toMs = firstStoredTime(to);
    constexpr std::int64_t kFirstSpanMs = 600'000;
    std::vector<HistoryRow> found;
    for (std::int64_t span = kFirstSpanMs; found.size() < count; span *= 8) {
        const bool isAll = span > kNewest / 16 || toMs < std::numeric_limits<std::int64_t>::min() + span;
        const std::int64_t fromMs = isAll ? std::numeric_limits<std::int64_t>::min() : toMs - span;
        found.clear();
        const auto read = rows(id, {fromMs, toMs}, [&](const HistoryRow &row) {
            found.push_back(row);
            // Twice as many as asked for are kept, so that the oldest are dropped seldom.
            if (found.size() >= 2 * count + 1'000)
                found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(count));
            return true;
        });
        if (!read)
            return read.error();
        if (isAll)
            break;
    }
    if (found.size() > count)
        found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(count));
    return found;
}

Result<std::vector<HistoryBucket>> EmbeddedReader::rolled(const QByteArray &id, Range range, RollupStep step)
{
    auto now = recent(id, {range.fromMs, kNewest});
    if (!now)
        return now.error();
    if (const auto begun = begin(now.value()); !begun) {
        end();
        return begun.error();
    }
    std::vector<HistoryBucket> buckets;
    const BlockKind kind = blockKindOf(step);
    Result<void> done;
    const auto number =
        m_hasSnapshot ? m_blocks->seriesNumber(id) : Result<std::optional<std::int64_t>>(std::optional<std::int64_t>());
    if (!number)
        done = number.error();
    const auto refs = number && number.value() ? m_blocks->find(kind, *number.value(), range.fromMs, range.toMs)
                                               : Result<std::vector<BlockRef>>(std::vector<BlockRef>());
    if (!refs)
        done = refs.error();
    for (std::size_t i = 0; done && i < refs.value().size(); ++i) {
        const auto block = m_blocks->load(refs.value()[i]);
        std::vector<HistoryBucket> part;
        if (!block)
            done = block.error();
        else if (!unpackBuckets(block.value(), part))
            reportDamage(refs.value()[i]);
        for (const HistoryBucket &bucket : part)
            addBucket(bucket, buckets);
    }
    RollupBorders borders(step, now.value().zone);
    for (const Recent::Part &part : now.value().parts) {
        std::vector<SegmentRow> rows;
        if (!part.segment)
            MemoryTable::unpack(part.packed, 0, rows);
        else if (const auto loaded = loadSegment(*part.segment, id, {}, 0, rows); !loaded)
            done = loaded;
        sortRows(rows);
        addRows(rows, borders, buckets);
    }
    end();
    if (!done)
        return done.error();
    std::erase_if(buckets, [&](const HistoryBucket &b) { return b.startMs < range.fromMs || b.startMs >= range.toMs; });
    return buckets;
}

Result<std::vector<HistoryBucket>> EmbeddedReader::rollups(const QString &seriesId, WallTime from, WallTime to,
                                                           RollupStep step)
{
    return rolled(seriesId.toUtf8(), {firstStoredTime(from), firstStoredTime(to)}, step);
}

Result<std::vector<HistoryBucket>> EmbeddedReader::buckets(const QString &seriesId, WallTime from, WallTime to,
                                                           std::size_t count)
{
    const std::int64_t fromMs = firstStoredTime(from), toMs = firstStoredTime(to);
    if (count < 1 || count > kMostBuckets || toMs <= fromMs)
        return Error{
            QStringLiteral("store.range"),
            QStringLiteral("a range must end after its start and be cut into 1 to %1 buckets").arg(kMostBuckets)};
    const double width = (static_cast<double>(toMs) - static_cast<double>(fromMs)) / static_cast<double>(count);
    std::vector<HistoryBucket> result;
    const auto place = [&](std::int64_t timeMs) {
        const auto i = std::min(static_cast<double>(count) - 1,
                                std::floor((static_cast<double>(timeMs) - static_cast<double>(fromMs)) / width));
        HistoryBucket empty;
        empty.startMs = fromMs + static_cast<std::int64_t>(std::ceil(i * width));
        empty.endMs = fromMs + static_cast<std::int64_t>(std::ceil((i + 1) * width));
        if (result.empty() || result.back().startMs != empty.startMs)
            result.push_back(empty);
        return &result.back();
    };
    const auto *const step = std::find_if(kSteps.begin(), kSteps.end(), [width](const StepLength &s) {
        return width >= static_cast<double>(kRollupsPerBucket * s.ms);
    });
    if (step != kSteps.end()) {
        const auto read = rolled(seriesId.toUtf8(), {fromMs, toMs}, step->step);
        if (!read)
            return read.error();
        for (const HistoryBucket &bucket : read.value())
            place(bucket.startMs)->merge(bucket);
        return result;
    }
    const auto read = rows(seriesId.toUtf8(), {fromMs, toMs}, [&](const HistoryRow &row) {
        const std::int64_t timeMs = std::chrono::floor<milliseconds>(row.time).time_since_epoch().count();
        place(timeMs)->add(timeMs, row.quality, row.value);
        return true;
    });
    return read ? Result<std::vector<HistoryBucket>>(std::move(result)) : read.error();
}

} // namespace gridloom
