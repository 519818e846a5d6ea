// SPDX-License-Identifier: Apache-2.0
#include "compactor.h"

#include "segmentrepair.h"

#include "historyio/rowmerge.h"
#include "sdk/appendfile.h"

#include <QFile>
#include <QFileInfo>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace gridloom {

namespace {
constexpr std::chrono::seconds kOpenAgain{5};
constexpr std::chrono::seconds kLongestWait{60};
constexpr std::uint64_t kRememberedSegments = 1'000;
// About 4 kB of noise, the quarter of a page.
constexpr std::size_t kMostBlockBuckets = 96;
constexpr int kLowPriority = 10;

bool isSameContent(const SegmentRow &a, const SegmentRow &b)
{
    return a.value == b.value && a.quality == b.quality && a.trigger == b.trigger;
}
} // namespace

Compactor::Compactor(std::shared_ptr<StoreState> state, const Clock &clock) : m_state(std::move(state)), m_clock(clock)
{
    for (const RollupStep step : {RollupStep::Minute, RollupStep::QuarterHour, RollupStep::Hour, RollupStep::Day})
        m_borders.emplace_back(step, m_state->zone);
    m_thread = std::thread([this] { run(); });
}

Compactor::~Compactor()
{
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->isStopping = true;
    }
    m_state->changed.notify_all();
    m_thread.join();
    const std::lock_guard lock(m_state->mutex);
    m_state->isStopping = false;
}

bool Compactor::isStopping()
{
    const std::lock_guard lock(m_state->mutex);
    return m_state->isStopping;
}

void Compactor::run()
{
    ::pthread_setname_np(::pthread_self(), "compactor");
    // Of this thread alone. Without the right to do so it runs as the others do.
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kLowPriority));
    while (!isStopping()) {
        if (work())
            continue;
        std::unique_lock lock(m_state->mutex);
        m_state->isIdle = m_writer.has_value() && !m_state->isWoken;
        m_state->changed.notify_all();
        const auto until =
            std::min(m_writer ? m_nextBounds : m_nextOpening, std::chrono::steady_clock::now() + kLongestWait);
        m_state->changed.wait_until(lock, until, [this] { return m_state->isStopping || m_state->isWoken; });
        m_state->isIdle = false;
        m_state->isWoken = false;
    }
}

bool Compactor::work()
{
    if (!openWriter())
        return false;
    bool isOverQuota = false;
    {
        const std::lock_guard lock(m_state->mutex);
        isOverQuota = std::exchange(m_state->isOverQuota, false);
    }
    if (isOverQuota || std::chrono::steady_clock::now() >= m_nextBounds)
        keepBounds(isOverQuota);
    return m_writer && (setAsideDamaged() || flushSealed() || flushWaiting());
}

bool Compactor::openWriter()
{
    if (m_writer)
        return true;
    const auto now = std::chrono::steady_clock::now();
    if (now < m_nextOpening)
        return false;
    m_nextOpening = now + kOpenAgain;
    auto writer =
        BlockWriter::open(m_state->folder + QLatin1Char('/') + QLatin1String(kBlocksFile), m_state->zone.id());
    if (!writer) {
        failed(writer.error(), QStringLiteral("the blocks of history cannot be opened"));
        return false;
    }
    m_writer = std::move(writer).value();
    if (const auto removed = removeCompacted(); !removed) {
        failed(removed.error(), QStringLiteral("the blocks of history cannot be read"));
        return false;
    }
    return true;
}

// Segments that a crash, or an error, left between their blocks and their removal.
Result<void> Compactor::removeCompacted()
{
    // A commit whose sync failed may stand in the log nevertheless: it counts once it has reached the file.
    const auto moved = m_writer->checkpoint();
    if (!moved || !moved.value())
        return moved ? Result<void>() : Result<void>(moved.error());
    const auto known = m_writer->segments();
    if (!known)
        return known.error();
    std::vector<std::uint64_t> left;
    {
        const std::lock_guard lock(m_state->mutex);
        for (const auto &[number, segment] : m_state->segments) {
            if (segment.isWaiting && known.value().count(number) > 0)
                left.push_back(number);
        }
    }
    removeSegments(left);
    measure();
    return {};
}

// Said once for each kind of failure, not each time it is tried again.
void Compactor::failed(const Error &error, const QString &what)
{
    m_reader.reset();
    m_writer.reset();
    m_nextOpening = std::chrono::steady_clock::now() + kOpenAgain;
    if (error.code == QLatin1String("store.damaged"))
        setDatabaseAside(error);
    const std::lock_guard lock(m_state->mutex);
    m_state->isCompactorFailing = true;
    if (m_lastFailure != error.code) {
        m_lastFailure = error.code;
        m_state->faults << QStringLiteral("%1: %2. Rows stay in segments meanwhile.").arg(what, error.message);
    }
}

void Compactor::setDatabaseAside(const Error &why)
{
    const QString path = m_state->folder + QLatin1Char('/') + QLatin1String(kBlocksFile);
    const auto aside = keepAside(path, m_clock.wallNow());
    if (!aside)
        return; // tried again with the next opening
    for (const char *suffix : {"", "-wal", "-shm"})
        QFile::remove(path + QLatin1String(suffix));
    const std::lock_guard lock(m_state->mutex);
    ++m_state->databaseGeneration;
    m_state->faults << QStringLiteral("%1 The file is kept as %2, a new one was begun.")
                           .arg(why.message, QFileInfo(aside.value()).fileName());
    m_nextOpening = {};
}

bool Compactor::flushSealed()
{
    Batch batch;
    {
        const std::lock_guard lock(m_state->mutex);
        if (!m_state->sealed)
            return false;
        batch = {m_state->sealed->table, m_state->sealed->segments};
    }
    const auto flushed = flush(batch);
    if (!flushed && isStopping())
        return false;
    const std::lock_guard lock(m_state->mutex);
    m_state->sealed.reset();
    if (!flushed) {
        // Memory is for new rows; these are read from their files later.
        for (const std::uint64_t number : batch.segments) {
            if (const auto segment = m_state->segments.find(number); segment != m_state->segments.end())
                segment->second.isWaiting = true;
        }
    }
    return true;
}

bool Compactor::flushWaiting()
{
    const Batch batch = readWaiting();
    if (batch.segments.empty())
        return false;
    return flush(batch).ok();
}

// As many of the oldest waiting segments as fit the memory for rows.
Compactor::Batch Compactor::readWaiting()
{
    Batch batch;
    const auto table = std::make_shared<MemoryTable>();
    batch.table = table;
    std::uint64_t next = 0;
    std::size_t budget = 0;
    do {
        std::uint64_t number = 0;
        {
            const std::lock_guard lock(m_state->mutex);
            budget = m_state->settings.memoryBytes;
            const auto found = std::find_if(m_state->segments.lower_bound(next), m_state->segments.end(),
                                            [](const auto &s) { return s.second.isWaiting; });
            if (found == m_state->segments.end() || m_state->isStopping)
                break;
            number = found->first;
        }
        next = number + 1;
        if (const auto added = addSegment(number, *table); !added) {
            failed(added.error(), QStringLiteral("a segment cannot be compacted"));
            break;
        }
        batch.segments.push_back(number);
    } while (table->bytes() < budget);
    return m_writer && !isStopping() ? batch : Batch();
}

Result<void> Compactor::addSegment(std::uint64_t number, MemoryTable &table)
{
    const QString path = m_state->segmentPath(number);
    QStringList faults;
    // Damage is found here at the latest: the file is kept aside before the rows go on without it.
    const auto mended = mendSegment(path, m_clock.wallNow(), faults);
    if (!mended)
        return mended.error();
    const auto file = mended.value().bytes > 0 ? readSegmentFile(path) : Result<QByteArray>(QByteArray());
    if (!file)
        return file.error();
    std::vector<std::uint32_t> series, triggers; // of the segment's tables to those of the program
    SegmentReader reader(file.value());
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->faults << faults;
    }
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item == SegmentReader::Item::Tables) {
            const std::lock_guard lock(m_state->mutex);
            series.clear();
            triggers.clear();
            for (const SegmentSeries &s : reader.tables().series)
                series.push_back(m_state->names.series(s));
            for (const QByteArray &id : reader.tables().triggers)
                triggers.push_back(m_state->names.trigger(id));
        } else if (item == SegmentReader::Item::Row) {
            SegmentRow row = reader.row();
            row.series = series[row.series];
            if (row.trigger >= 0)
                row.trigger = static_cast<std::int32_t>(triggers[static_cast<std::size_t>(row.trigger)]);
            table.add(row);
        }
    }
    return {};
}

Result<void> Compactor::flush(const Batch &batch)
{
    auto done = keepQuota(static_cast<std::int64_t>(batch.table->bytes()));
    if (done)
        done = writeGroup(batch);
    m_reader.reset();
    if (done) {
        removeSegments(batch.segments);
        if (const auto moved = m_writer->checkpoint(); !moved)
            done = moved.error();
    }
    if (!done) {
        if (m_writer)
            m_writer->abandonGroup();
        if (done.error().code != QLatin1String("store.stopping"))
            failed(done.error(), QStringLiteral("history cannot be written as blocks"));
        return done;
    }
    measure();
    const std::lock_guard lock(m_state->mutex);
    m_state->isCompactorFailing = false;
    m_lastFailure.clear();
    return {};
}

Result<void> Compactor::writeGroup(const Batch &batch)
{
    auto reader = BlockReader::open(m_state->folder + QLatin1Char('/') + QLatin1String(kBlocksFile));
    if (!reader)
        return reader.error();
    m_reader = std::move(reader).value();
    if (const auto begun = m_reader->begin(); !begun)
        return begun;
    m_triggerNumbers.clear();
    if (const auto begun = m_writer->beginGroup(batch.segments.back()); !begun)
        return begun;
    // By the database's numbers: blocks are appended in the order of their keys.
    std::vector<std::pair<std::int64_t, std::uint32_t>> order;
    std::vector<SegmentSeries> names;
    {
        const std::lock_guard lock(m_state->mutex);
        for (std::uint32_t series = 0; series < batch.table->seriesEnd(); ++series)
            names.push_back(m_state->names.seriesAt(series));
    }
    for (std::uint32_t series = 0; series < batch.table->seriesEnd(); ++series) {
        if (batch.table->series(series).rows == 0)
            continue;
        const auto number = m_writer->seriesNumber(names[series]);
        if (!number)
            return number.error();
        order.emplace_back(number.value(), series);
    }
    std::sort(order.begin(), order.end());
    for (const auto &[number, series] : order) {
        if (isStopping())
            return Error{QStringLiteral("store.stopping"), QStringLiteral("the store is being closed"), true};
        std::vector<SegmentRow> rows;
        MemoryTable::unpack(batch.table->series(series), 0, rows);
        if (const auto written = writeSeries(number, std::move(rows)); !written)
            return written;
    }
    m_reader->end();
    return m_writer->commitGroup(batch.segments);
}

Result<void> Compactor::writeSeries(std::int64_t number, std::vector<SegmentRow> rows)
{
    for (SegmentRow &row : rows) {
        if (row.trigger < 0)
            continue;
        const auto of = static_cast<std::uint32_t>(row.trigger);
        if (!m_triggerNumbers.contains(of)) {
            QByteArray id;
            {
                const std::lock_guard lock(m_state->mutex);
                id = m_state->names.triggerAt(of);
            }
            const auto known = m_writer->triggerNumber(id);
            if (!known)
                return known.error();
            m_triggerNumbers.insert(of, known.value());
        }
        row.trigger = static_cast<std::int32_t>(m_triggerNumbers.value(of));
    }
    const std::size_t before = rows.size();
    sortRows(rows);
    if (const auto dropped = dropStored(number, rows); !dropped)
        return dropped;
    m_writer->drop(before - rows.size());
    for (const PackedBlock &block : packBlocks(rows)) {
        if (const auto added = m_writer->add(BlockKind::Rows, number, block); !added)
            return added;
    }
    return writeRollups(number, rows);
}

// A batch that was stored twice changes nothing, also when its first copy is in blocks already.
Result<void> Compactor::dropStored(std::int64_t number, std::vector<SegmentRow> &rows)
{
    if (rows.empty())
        return {};
    const auto refs = m_reader->find(BlockKind::Rows, number, rows.front().timeMs, rows.back().timeMs + 1);
    if (!refs)
        return refs.error();
    for (const BlockRef &ref : refs.value()) {
        const auto block = m_reader->load(ref);
        if (!block)
            return block.error();
        std::vector<SegmentRow> stored;
        if (!unpackRows(block.value(), 0, stored))
            continue; // set aside when it is read
        const auto isKnown = [&](const SegmentRow &row) {
            const auto found =
                std::lower_bound(stored.begin(), stored.end(), row, [](const SegmentRow &a, const SegmentRow &b) {
                    return std::tie(a.timeMs, a.run) < std::tie(b.timeMs, b.run);
                });
            return found != stored.end() && found->timeMs == row.timeMs && found->run == row.run
                && isSameContent(*found, row);
        };
        std::erase_if(rows, isKnown);
    }
    return {};
}

Result<void> Compactor::writeRollups(std::int64_t number, std::span<const SegmentRow> rows)
{
    for (std::size_t step = 0; step < kRollupSteps; ++step) {
        std::vector<HistoryBucket> buckets;
        addRows(rows, m_borders[step], buckets);
        std::span<const HistoryBucket> left(buckets);
        while (!left.empty()) {
            const auto part = left.first(std::min(left.size(), kMostBlockBuckets));
            const PackedBlock block{part.front().startMs, part.back().startMs, part.size(), packBuckets(part)};
            if (const auto added = m_writer->add(blockKindOf(static_cast<RollupStep>(step)), number, block); !added)
                return added;
            left = left.subspan(part.size());
        }
    }
    return {};
}

void Compactor::removeSegments(std::span<const std::uint64_t> segments)
{
    std::vector<QString> paths;
    std::uint64_t least = 0;
    {
        const std::lock_guard lock(m_state->mutex);
        for (const std::uint64_t number : segments) {
            if (const auto segment = m_state->segments.find(number); segment != m_state->segments.end()) {
                segment->second.isWaiting = false;
                segment->second.isCompacted = true;
            }
        }
        // The highest number stays taken, so that no other file is ever given it.
        for (auto segment = m_state->segments.begin(); segment != m_state->segments.end();) {
            if (!segment->second.isCompacted || std::next(segment) == m_state->segments.end()) {
                ++segment;
                continue;
            }
            paths.push_back(m_state->segmentPath(segment->first));
            segment = m_state->segments.erase(segment);
        }
        least = m_state->segments.empty() ? 0 : m_state->segments.begin()->first;
    }
    for (const QString &path : paths)
        QFile::remove(path);
    if (least > kRememberedSegments)
        static_cast<void>(m_writer->forgetSegments(least - kRememberedSegments));
}

} // namespace gridloom
