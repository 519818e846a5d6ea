// SPDX-License-Identifier: Apache-2.0
#include "embeddedstore.h"

#include "embeddedreader.h"
#include "segmentrepair.h"

#include <QDir>
#include <QFile>

#include <algorithm>

namespace gridloom {

namespace {
constexpr qint64 kMegabyte = 1'000'000;
constexpr QLatin1String kSuffix(".gls");
// Memory for rows is at most this share of the quota: what is on its way into blocks lies on the disk up to three times.
constexpr qint64 kQuotaShare = 16;

std::int64_t storedTime(WallTime time)
{
    return std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
}

StoreSettings settingsOf(const QJsonObject &params)
{
    const auto number = [&params](const char *key, qint64 otherwise) {
        return params.value(QLatin1String(key)).toInteger(otherwise);
    };
    StoreSettings settings;
    settings.segmentBytes = number("segmentMb", 8) * kMegabyte;
    settings.quotaBytes = number("quotaMb", 1024) * kMegabyte;
    settings.memoryBytes = static_cast<std::size_t>(
        std::min(number("memoryMb", 8) * kMegabyte * 3 / 4, settings.quotaBytes / kQuotaShare));
    settings.keptDays = {number("retentionDays", 0), number("minuteDays", 0), number("quarterHourDays", 0),
                         number("hourDays", 0), number("dayDays", 0)};
    // Coarser history outlives finer: 0 is for ever.
    for (std::size_t kind = 1; kind < kBlockKinds; ++kind) {
        const std::int64_t finer = settings.keptDays[kind - 1];
        if (finer == 0 || (settings.keptDays[kind] > 0 && settings.keptDays[kind] < finer))
            settings.keptDays[kind] = finer;
    }
    return settings;
}
} // namespace

EmbeddedStore::~EmbeddedStore()
{
    // As a kill would leave it, but for the thread.
    m_compactor.reset();
}

Result<void> EmbeddedStore::open(const StoreOpening &opening)
{
    const bool isNew = opening.folder != m_state->folder;
    if (isNew) {
        close();
        if (const auto opened = openFolder(opening.folder); !opened)
            return opened;
    }
    const QTimeZone zone(opening.siteZone);
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->settings = settingsOf(opening.params);
        m_state->zone = zone.isValid() ? zone : QTimeZone::utc();
        m_state->isOpen = true;
    }
    setTables(opening.series, opening.triggers);
    if (!isNew)
        m_compactor.reset(); // the zone may be another one
    m_compactor = std::make_unique<Compactor>(m_state, m_clock);
    return {};
}

Result<void> EmbeddedStore::openFolder(const QString &folder)
{
    QDir dir(folder);
    if (!dir.mkpath(QStringLiteral(".")))
        return Error{QStringLiteral("store.folder"),
                     QStringLiteral("the folder %1 cannot be created; check its owner and the disk").arg(folder)};
    const std::lock_guard lock(m_state->mutex); // nobody else is there yet
    m_state->folder = folder;
    ++m_state->databaseGeneration;
    // A segment that was not finished under its own name when the power went never had a row.
    for (const QString &name : dir.entryList({QStringLiteral("*.gls.new")}, QDir::Files))
        dir.remove(name);

    std::vector<std::uint64_t> numbers;
    for (const QString &name : dir.entryList({QStringLiteral("*.gls")}, QDir::Files)) {
        bool isNumber = false;
        const std::uint64_t number = name.chopped(kSuffix.size()).toULongLong(&isNumber);
        if (isNumber && m_state->segmentPath(number).endsWith(QLatin1Char('/') + name))
            numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    m_number = 0;
    for (const std::uint64_t number : numbers) {
        m_number = number;
        auto state = openSegment(m_state->segmentPath(number), m_clock.wallNow(), m_state->faults);
        if (!state) {
            // It cannot be mended now: the compactor tries again.
            m_state->faults << state.error().message;
            state = scanSegment(m_state->segmentPath(number));
            if (!state)
                state = SegmentState{
                    0, {0, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}};
        } else if (state.value().bytes == 0) {
            continue;
        }
        m_state->segments[number] = {state.value().bytes, state.value().summary, false, true};
    }
    // No number is given to a second file: the blocks say which segments they have taken in.
    if (const auto blocks = BlockReader::open(folder + QLatin1Char('/') + QLatin1String(kBlocksFile))) {
        if (const auto known = readCompactedSegments(blocks.value().database()); known && !known.value().empty())
            m_number = std::max(m_number, *known.value().rbegin());
    }
    return {};
}

void EmbeddedStore::setTables(const QList<Series> &series, const QList<QString> &triggers)
{
    SegmentTables tables;
    const std::lock_guard lock(m_state->mutex);
    m_state->handles.clear();
    m_state->triggers.clear();
    m_series.clear();
    m_triggers.clear();
    for (const Series &s : series) {
        tables.series.push_back({s.id.toUtf8(), s.name.toUtf8(), s.unit.toUtf8()});
        m_state->handles.insert(tables.series.back().id, static_cast<PointHandle>(m_series.size()));
        m_series.push_back(m_state->names.series(tables.series.back()));
    }
    for (const QString &trigger : triggers) {
        tables.triggers.push_back(trigger.toUtf8());
        m_state->triggers.insert(tables.triggers.back(), static_cast<int>(m_triggers.size()));
        m_triggers.push_back(m_state->names.trigger(tables.triggers.back()));
    }
    if (tables == m_tables && m_areTablesWritten)
        return;
    m_tables = std::move(tables);
    ++m_table;
    m_areTablesWritten = false;
}

Result<void> EmbeddedStore::append(std::span<const HistoryRow> rows)
{
    SegmentSummary added;
    encode(rows, added);
    m_lost += rows.size() - added.rows;
    if (added.rows == 0)
        return {};
    if (const auto room = makeRoom(m_buffer.size()); !room) {
        m_lost += added.rows;
        return room;
    }
    if (!m_areTablesWritten) {
        QByteArray tables;
        SegmentEncoder(tables).tables(m_table, m_tables);
        m_buffer.prepend(tables);
    }
    if (const auto written = m_file.append(m_buffer); !written) {
        m_lost += added.rows;
        return written;
    }
    m_areTablesWritten = true;
    m_rows += added.rows;
    m_unsyncedRows += added.rows;
    remember(added);
    return {};
}

void EmbeddedStore::encode(std::span<const HistoryRow> rows, SegmentSummary &summary)
{
    m_buffer.resize(0); // keeps its memory
    m_rowsBuffer.clear();
    SegmentEncoder encoder(m_buffer);
    encoder.beginRows(m_table);
    for (const HistoryRow &row : rows) {
        if (row.point >= m_tables.series.size() || row.trigger >= static_cast<int>(m_tables.triggers.size()))
            continue;
        SegmentRow stored{row.point, row.quality, row.value, storedTime(row.time), row.trigger, row.run};
        makeStorable(stored);
        encoder.row(stored);
        summary.include(stored.timeMs);
        stored.series = m_series[row.point];
        if (row.trigger >= 0)
            stored.trigger = static_cast<std::int32_t>(m_triggers[static_cast<std::size_t>(row.trigger)]);
        m_rowsBuffer.push_back(std::move(stored));
    }
    encoder.endRows();
}

// What was written goes into memory as well, from where it is read and compacted.
void EmbeddedStore::remember(const SegmentSummary &added)
{
    bool isFull = false;
    {
        const std::lock_guard lock(m_state->mutex);
        StoreState::Segment &current = m_state->segments[m_number];
        current.bytes = m_file.size();
        current.summary.rows += added.rows;
        current.summary.firstMs = std::min(current.summary.firstMs, added.firstMs);
        current.summary.lastMs = std::max(current.summary.lastMs, added.lastMs);
        for (const SegmentRow &row : m_rowsBuffer)
            m_state->active->add(row);
        isFull = m_state->active->isFull(m_state->settings.memoryBytes);
    }
    if (isFull)
        seal();
}

// Makes the current segment one that takes so many bytes more.
Result<void> EmbeddedStore::makeRoom(qsizetype bytes)
{
    if (m_file.isOpen() && m_file.isBroken())
        m_file.close(); // when it is read the next time it gets its summary
    // Tables at the start do not count: a design with more names than a segment has bytes would else never fit one.
    if (m_file.isOpen() && m_file.size() > m_rowsBegin
        && m_file.size() - m_rowsBegin + bytes > m_state->settings.segmentBytes)
        endSegment();
    return m_file.isOpen() ? Result<void>() : beginSegment();
}

Result<void> EmbeddedStore::beginSegment()
{
    QByteArray head = segmentHeader();
    SegmentEncoder(head).tables(m_table, m_tables);
    QString path;
    {
        const std::lock_guard lock(m_state->mutex);
        path = m_state->segmentPath(m_number + 1);
    }
    auto file = AppendFile::create(path, head);
    if (!file)
        return file.error();
    m_file = std::move(file).value();
    m_rowsBegin = m_file.size();
    m_areTablesWritten = true;
    ++m_number;
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->segments[m_number] = {m_file.size(), {}};
        m_state->activeSegments.push_back(m_number);
    }
    keepQuota();
    return {};
}

// A failure costs no rows: a segment without summary is read through at the next start.
void EmbeddedStore::endSegment()
{
    QByteArray end;
    {
        const std::lock_guard lock(m_state->mutex);
        SegmentEncoder(end).summary(m_state->segments[m_number].summary);
    }
    static_cast<void>(m_file.append(end));
    static_cast<void>(sync());
    const std::lock_guard lock(m_state->mutex);
    m_state->segments[m_number].bytes = m_file.size();
    m_file.close();
}

// The memory goes to the compactor, with the segments that have the same rows. While that one is still busy, or cannot
// write, they wait as files alone, so that memory keeps its bound.
void EmbeddedStore::seal()
{
    if (m_file.isOpen())
        endSegment();
    const std::lock_guard lock(m_state->mutex);
    if (!m_state->sealed) {
        m_state->sealed = StoreState::Sealed{m_state->active, m_state->activeSegments};
    } else {
        for (const std::uint64_t number : m_state->activeSegments) {
            if (const auto segment = m_state->segments.find(number); segment != m_state->segments.end())
                segment->second.isWaiting = true;
        }
    }
    m_state->active = std::make_shared<MemoryTable>();
    m_state->activeSegments.clear();
    m_state->wakeCompactor();
}

// The compactor makes room: the oldest blocks go first. Where it cannot write, or there is little else, the oldest
// segments go, so that the quota holds.
void EmbeddedStore::keepQuota()
{
    std::vector<QString> paths;
    {
        const std::lock_guard lock(m_state->mutex);
        auto bytes = m_state->segmentBytes() + m_state->settings.segmentBytes;
        m_state->isOverQuota = bytes + m_state->databaseBytes > m_state->settings.quotaBytes;
        if (m_state->isCompactorFailing)
            bytes += m_state->databaseBytes;
        while (bytes > m_state->settings.quotaBytes && m_state->segments.size() > 1) {
            const auto oldest = m_state->segments.begin();
            bytes -= oldest->second.bytes;
            paths.push_back(m_state->segmentPath(oldest->first));
            m_state->segments.erase(oldest);
        }
        if (m_state->isOverQuota)
            m_state->wakeCompactor();
    }
    for (const QString &path : paths)
        QFile::remove(path);
}

Result<void> EmbeddedStore::sync()
{
    if (m_unsyncedRows == 0 || !m_file.isOpen())
        return {};
    const auto synced = m_file.sync();
    if (!synced) {
        // They can still be read, but whether they survive a power cut nobody knows.
        m_rows -= m_unsyncedRows;
        m_lost += m_unsyncedRows;
    }
    m_unsyncedRows = 0;
    return synced;
}

std::unique_ptr<HistoryReader> EmbeddedStore::reader()
{
    return std::make_unique<EmbeddedReader>(m_state);
}

StoreStatistics EmbeddedStore::statistics() const
{
    const std::lock_guard lock(m_state->mutex);
    std::uint64_t waiting = m_state->active->rows() + (m_state->sealed ? m_state->sealed->table->rows() : 0);
    for (const auto &[number, segment] : m_state->segments)
        waiting += segment.isWaiting ? segment.summary.rows : 0;
    return {m_rows, m_lost, static_cast<std::uint64_t>(m_state->segmentBytes() + m_state->databaseBytes), waiting};
}

QStringList EmbeddedStore::takeFaults()
{
    const std::lock_guard lock(m_state->mutex);
    return std::exchange(m_state->faults, {});
}

void EmbeddedStore::settle()
{
    if (m_state->active->rows() > 0)
        seal();
    std::unique_lock lock(m_state->mutex);
    m_state->wakeCompactor();
    m_state->changed.wait(lock, [this] { return m_state->isIdle || m_state->isCompactorFailing; });
}

void EmbeddedStore::close()
{
    static_cast<void>(sync());
    m_compactor.reset();
    m_file.close();
    m_tables = {};
    m_table = 0;
    m_areTablesWritten = false;
    const std::lock_guard lock(m_state->mutex);
    m_state->isOpen = false;
    m_state->isCompactorFailing = false;
    m_state->folder.clear();
    m_state->segments.clear();
    m_state->active = std::make_shared<MemoryTable>();
    m_state->activeSegments.clear();
    m_state->sealed.reset();
    m_state->damaged.clear();
    m_state->databaseBytes = 0;
}

} // namespace gridloom
