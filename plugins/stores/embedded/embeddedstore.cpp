// SPDX-License-Identifier: Apache-2.0
#include "embeddedstore.h"

#include "segmentrepair.h"

#include <QDir>
#include <QFile>

#include <algorithm>
#include <tuple>

namespace gridloom {

namespace {
using std::chrono::milliseconds;

constexpr qint64 kMegabyte = 1'000'000;
constexpr QLatin1String kSuffix(".gls");

std::int64_t storedTime(WallTime time)
{
    return std::chrono::floor<milliseconds>(time).time_since_epoch().count();
}

// The first stored time that is not before `time`.
std::int64_t firstStoredTime(WallTime time)
{
    return std::chrono::ceil<milliseconds>(time).time_since_epoch().count();
}

bool isEarlier(const HistoryRow &a, const HistoryRow &b)
{
    return std::tie(a.time, a.run) < std::tie(b.time, b.run);
}
bool isSameRow(const HistoryRow &a, const HistoryRow &b)
{
    return a.time == b.time && a.run == b.run;
}
} // namespace

QString EmbeddedStore::pathOf(std::uint64_t number) const
{
    return QStringLiteral("%1/%2%3").arg(m_folder).arg(number, 8, 10, QLatin1Char('0')).arg(kSuffix);
}

Result<void> EmbeddedStore::open(const QJsonObject &params, const QString &folder, const QList<Series> &series,
                                 const QList<QString> &triggers)
{
    m_segmentBytes = params.value(QLatin1String("segmentMb")).toInteger(8) * kMegabyte;
    m_quotaBytes = params.value(QLatin1String("quotaMb")).toInteger(1024) * kMegabyte;
    if (folder != m_folder) {
        close();
        if (const auto opened = openFolder(folder); !opened)
            return opened;
    }
    setTables(series, triggers);
    keepQuota();
    return {};
}

Result<void> EmbeddedStore::openFolder(const QString &folder)
{
    QDir dir(folder);
    if (!dir.mkpath(QStringLiteral(".")))
        return Error{QStringLiteral("store.folder"),
                     QStringLiteral("the folder %1 cannot be created; check its owner and the disk").arg(folder)};
    m_folder = folder;
    // A segment that was not finished under its own name when the power went never had a row.
    for (const QString &name : dir.entryList({QStringLiteral("*.gls.new")}, QDir::Files))
        dir.remove(name);

    std::vector<std::uint64_t> numbers;
    for (const QString &name : dir.entryList({QStringLiteral("*.gls")}, QDir::Files)) {
        bool isNumber = false;
        const std::uint64_t number = name.chopped(kSuffix.size()).toULongLong(&isNumber);
        if (isNumber && pathOf(number).endsWith(QLatin1Char('/') + name))
            numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (const std::uint64_t number : numbers) {
        const bool isNewest = number == numbers.back();
        auto state = openSegment(pathOf(number), isNewest, m_clock.wallNow(), m_faults);
        if (!state) {
            // Unreadable now; its number stays taken, and it may be readable again after the next start.
            m_faults << state.error().message;
            state = SegmentState();
        } else if (state.value().bytes == 0) {
            continue;
        }
        m_segments[number] = {state.value().bytes, state.value().summary};
        m_bytes += state.value().bytes;
        if (!isNewest || state.value().bytes == 0)
            continue;
        m_tables = std::move(state.value().tables);
        m_table = state.value().table;
        m_areTablesWritten = m_table > 0;
        if (auto file = AppendFile::open(pathOf(number)))
            m_file = std::move(file).value();
        m_rowsBegin = kFileHeaderSize;
    }
    return {};
}

void EmbeddedStore::setTables(const QList<Series> &series, const QList<QString> &triggers)
{
    SegmentTables tables;
    m_handles.clear();
    m_triggers.clear();
    for (const Series &s : series) {
        m_handles.insert(s.id.toUtf8(), static_cast<PointHandle>(tables.series.size()));
        tables.series.push_back({s.id.toUtf8(), s.name.toUtf8(), s.unit.toUtf8()});
    }
    for (const QString &trigger : triggers) {
        m_triggers.insert(trigger.toUtf8(), static_cast<int>(tables.triggers.size()));
        tables.triggers.push_back(trigger.toUtf8());
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
    const std::uint64_t encoded = encode(rows, added);
    m_lost += rows.size() - encoded;
    if (encoded == 0)
        return {};
    if (const auto room = makeRoom(m_buffer.size()); !room) {
        m_lost += encoded;
        return room;
    }
    if (!m_areTablesWritten) {
        QByteArray tables;
        SegmentEncoder(tables).tables(m_table, m_tables);
        m_buffer.prepend(tables);
    }
    const auto written = m_file.append(m_buffer);
    if (!written) {
        m_lost += encoded;
        return written;
    }
    m_areTablesWritten = true;
    Segment &current = m_segments.rbegin()->second;
    current.bytes += m_buffer.size();
    current.summary.rows += added.rows;
    current.summary.firstMs = std::min(current.summary.firstMs, added.firstMs);
    current.summary.lastMs = std::max(current.summary.lastMs, added.lastMs);
    m_bytes += m_buffer.size();
    m_rows += encoded;
    m_unsyncedRows += encoded;
    return {};
}

std::uint64_t EmbeddedStore::encode(std::span<const HistoryRow> rows, SegmentSummary &summary)
{
    m_buffer.resize(0); // keeps its memory
    SegmentEncoder encoder(m_buffer);
    encoder.beginRows(m_table);
    for (const HistoryRow &row : rows) {
        if (row.point >= m_tables.series.size() || row.trigger >= static_cast<int>(m_tables.triggers.size()))
            continue;
        const std::int64_t timeMs = storedTime(row.time);
        encoder.row({row.point, row.quality, row.value, timeMs, row.trigger, row.run});
        summary.include(timeMs);
    }
    encoder.endRows();
    return summary.rows;
}

// Makes the current segment one that takes so many bytes more.
Result<void> EmbeddedStore::makeRoom(qsizetype bytes)
{
    if (m_file.isOpen() && m_file.isBroken())
        m_file.close(); // the next start reads it through and gives it its summary
    // Tables at the start do not count: a design with more names than a segment has bytes would else never fit one.
    if (m_file.isOpen() && m_file.size() > m_rowsBegin && m_file.size() - m_rowsBegin + bytes > m_segmentBytes)
        endSegment();
    return m_file.isOpen() ? Result<void>() : beginSegment();
}

Result<void> EmbeddedStore::beginSegment()
{
    QByteArray head = segmentHeader();
    SegmentEncoder(head).tables(m_table, m_tables);
    const std::uint64_t number = m_segments.empty() ? 1 : m_segments.rbegin()->first + 1;
    auto file = AppendFile::create(pathOf(number), head);
    if (!file)
        return file.error();
    m_file = std::move(file).value();
    m_rowsBegin = m_file.size();
    m_areTablesWritten = true;
    m_segments[number] = {m_file.size(), {}};
    m_bytes += m_file.size();
    keepQuota();
    return {};
}

// A failure costs no rows: a segment without summary is read through at the next start.
void EmbeddedStore::endSegment()
{
    Segment &current = m_segments.rbegin()->second;
    QByteArray end;
    SegmentEncoder(end).summary(current.summary);
    if (m_file.append(end)) {
        current.bytes += end.size();
        m_bytes += end.size();
    }
    static_cast<void>(sync());
    m_file.close();
}

// The current segment is counted with the size it will reach, so that the quota holds at every moment.
void EmbeddedStore::keepQuota()
{
    const auto reserve = [this] {
        return m_file.isOpen() ? std::max<qint64>(0, m_segmentBytes - (m_file.size() - m_rowsBegin)) : 0;
    };
    while (m_segments.size() > 1 && m_bytes + reserve() > m_quotaBytes) {
        const auto oldest = m_segments.begin();
        QFile::remove(pathOf(oldest->first));
        m_bytes -= oldest->second.bytes;
        m_segments.erase(oldest);
    }
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

Result<void> EmbeddedStore::query(const QString &seriesId, WallTime from, WallTime to,
                                  const std::function<bool(const HistoryRow &)> &visit)
{
    const std::int64_t fromMs = firstStoredTime(from);
    const std::int64_t toMs = firstStoredTime(to);
    std::vector<std::pair<std::int64_t, std::uint64_t>> segments; // first time, number
    for (const auto &[number, segment] : m_segments) {
        if (segment.summary.firstMs < toMs && segment.summary.lastMs >= fromMs)
            segments.emplace_back(segment.summary.firstMs, number);
    }
    std::sort(segments.begin(), segments.end());

    const QByteArray id = seriesId.toUtf8();
    std::vector<HistoryRow> waiting;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (const auto read = readMatches(segments[i].second, id, fromMs, toMs, waiting); !read)
            return read;
        std::stable_sort(waiting.begin(), waiting.end(), isEarlier);
        waiting.erase(std::unique(waiting.begin(), waiting.end(), isSameRow), waiting.end());
        // Segments overlap in time where windows end late or the clock was set back: rows that a later segment may
        // still precede wait.
        auto end = waiting.end();
        if (i + 1 < segments.size()) {
            const WallTime next{milliseconds(segments[i + 1].first)};
            end = std::find_if(waiting.begin(), end, [&](const HistoryRow &row) { return row.time >= next; });
        }
        for (auto row = waiting.begin(); row != end; ++row) {
            if (!visit(*row))
                return {};
        }
        waiting.erase(waiting.begin(), end);
    }
    return {};
}

Result<void> EmbeddedStore::readMatches(std::uint64_t number, const QByteArray &seriesId, std::int64_t fromMs,
                                        std::int64_t toMs, std::vector<HistoryRow> &matches)
{
    const auto file = readSegmentFile(pathOf(number));
    if (!file)
        return file.error();
    SegmentReader reader(file.value());
    std::uint32_t series = 0; // its number in the tables that hold
    const PointHandle handle = m_handles.value(seriesId, kNoPoint);
    std::vector<int> triggers; // trigger numbers of the tables to those of the running design
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        if (item == SegmentReader::Item::Tables) {
            const auto &all = reader.tables().series;
            const auto found = std::find_if(all.begin(), all.end(), [&](const auto &s) { return s.id == seriesId; });
            series = static_cast<std::uint32_t>(found - all.begin());
            triggers.clear();
            for (const QByteArray &trigger : reader.tables().triggers)
                triggers.push_back(m_triggers.value(trigger, -1));
        }
        const SegmentRow &row = reader.row();
        if (item != SegmentReader::Item::Row || row.series != series || row.timeMs < fromMs || row.timeMs >= toMs)
            continue;
        matches.push_back({handle, row.quality, row.value, WallTime(milliseconds(row.timeMs)),
                           row.trigger < 0 ? -1 : triggers[static_cast<std::size_t>(row.trigger)], row.run});
    }
    const bool isCurrent = m_file.isOpen() && number == m_segments.rbegin()->first;
    if (reader.firstDamage() >= 0 && !isCurrent) { // the current one is mended at the next start
        if (const auto mended = mendSegment(pathOf(number), false, m_clock.wallNow(), m_faults)) {
            Segment &segment = m_segments[number];
            m_bytes += mended.value().bytes - segment.bytes;
            segment = {mended.value().bytes, mended.value().summary};
        }
    }
    return {};
}

StoreStatistics EmbeddedStore::statistics() const
{
    return {m_rows, m_lost, static_cast<std::uint64_t>(m_bytes)};
}

QStringList EmbeddedStore::takeFaults()
{
    return std::exchange(m_faults, {});
}

void EmbeddedStore::close()
{
    static_cast<void>(sync());
    m_file.close();
    m_folder.clear();
    m_segments.clear();
    m_tables = {};
    m_table = 0;
    m_areTablesWritten = false;
    m_bytes = 0;
}

} // namespace gridloom
