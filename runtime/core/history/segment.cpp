// SPDX-License-Identifier: Apache-2.0
#include "core/history/segment.h"

namespace gridloom {

namespace {
constexpr QByteArrayView kMagic("GLHISTOR");
constexpr std::uint16_t kVersion = 1;
enum Kind : std::uint8_t { kTables = 1, kRows = 2, kSummary = 3 };
constexpr std::uint8_t kHighestKind = kSummary;

constexpr qsizetype kRowsFrameSize = 256 << 10;
constexpr std::uint8_t kHasTrigger = 0x80;
constexpr std::uint8_t kTypeMask = 0x7F;

void writeValue(FrameWriter &w, const Value &value)
{
    switch (value.type()) {
    case ValueType::Null: break;
    case ValueType::Bool: w.byte(value.boolean() ? 1 : 0); break;
    case ValueType::Int64: w.signedVarint(value.int64()); break;
    case ValueType::UInt64: w.varint(value.uint64()); break;
    case ValueType::Double: w.fixed64(value.bits()); break;
    case ValueType::Text: w.bytes(value.text()); break;
    }
}

// False for a type that this version does not know.
bool readValue(FieldReader &r, std::uint8_t type, Value &value)
{
    switch (static_cast<ValueType>(type)) {
    case ValueType::Null: value = Value(); return true;
    case ValueType::Bool: value = Value(r.byte() != 0); return true;
    case ValueType::Int64: value = Value(r.signedVarint()); return true;
    case ValueType::UInt64: value = Value(r.varint()); return true;
    case ValueType::Double: value = Value::fromBits(ValueType::Double, r.fixed64()); return true;
    case ValueType::Text: value = Value(r.bytes().toByteArray()); return true;
    }
    return false;
}

bool readSummary(QByteArrayView payload, SegmentSummary &summary)
{
    FieldReader r(payload);
    summary.rows = r.fixed64();
    summary.firstMs = static_cast<std::int64_t>(r.fixed64());
    summary.lastMs = static_cast<std::int64_t>(r.fixed64());
    return r.isOk() && r.atEnd();
}
} // namespace

void makeStorable(SegmentRow &row)
{
    if (row.value.type() != ValueType::Double || std::isfinite(row.value.real()))
        return;
    row.value = Value();
    if (!isBad(row.quality))
        row.quality = Quality::BadOutOfRange;
}

void SegmentSummary::include(std::int64_t timeMs)
{
    ++rows;
    firstMs = std::min(firstMs, timeMs);
    lastMs = std::max(lastMs, timeMs);
}

QByteArray segmentHeader()
{
    return fileHeader(kMagic, kVersion);
}

bool isSegment(QByteArrayView file)
{
    return hasFileHeader(file, kMagic, kVersion);
}

void SegmentEncoder::tables(std::uint64_t table, const SegmentTables &tables)
{
    m_frames.begin(kTables);
    m_frames.varint(table);
    m_frames.varint(tables.series.size());
    for (const SegmentSeries &series : tables.series) {
        m_frames.bytes(series.id);
        m_frames.bytes(series.name);
        m_frames.bytes(series.unit);
    }
    m_frames.varint(tables.triggers.size());
    for (const QByteArray &trigger : tables.triggers)
        m_frames.bytes(trigger);
    m_frames.end();
}

void SegmentEncoder::beginRows(std::uint64_t table)
{
    m_table = table;
    m_lastMs = 0;
    m_frames.begin(kRows);
    m_frames.varint(table);
}

void SegmentEncoder::row(const SegmentRow &row)
{
    if (m_frames.payloadSize() >= kRowsFrameSize) {
        endRows();
        beginRows(m_table);
    }
    const bool hasTrigger = row.trigger >= 0;

    m_frames.varint(row.series);
    m_frames.byte(static_cast<std::uint8_t>(row.value.type()) | (hasTrigger ? kHasTrigger : 0));
    m_frames.byte(static_cast<std::uint8_t>(row.quality));
    // Unsigned: the difference of two far-apart times may not fit, but it comes back by the same wrap-around.
    m_frames.signedVarint(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(row.timeMs) - static_cast<std::uint64_t>(m_lastMs)));
    m_lastMs = row.timeMs;
    writeValue(m_frames, row.value);
    if (hasTrigger) {
        m_frames.varint(static_cast<std::uint64_t>(row.trigger));
        m_frames.varint(row.run);
    }
}

void SegmentEncoder::endRows()
{
    m_frames.end();
}

void SegmentEncoder::summary(const SegmentSummary &summary)
{
    m_frames.begin(kSummary);
    m_frames.fixed64(summary.rows);
    m_frames.fixed64(static_cast<std::uint64_t>(summary.firstMs));
    m_frames.fixed64(static_cast<std::uint64_t>(summary.lastMs));
    m_frames.end();
}

SegmentReader::SegmentReader(QByteArrayView file)
    : m_frames(file, kHighestKind, isSegment(file) ? kFileHeaderSize : file.size())
{
    if (!isSegment(file)) {
        m_firstSenseless = 0;
        m_senselessBytes = file.size();
    }
}

SegmentReader::Item SegmentReader::next()
{
    for (;;) {
        if (m_inRows) {
            m_inRows = !m_rows.atEnd();
            if (m_inRows && readRow())
                return Item::Row;
            continue;
        }
        if (!m_frames.next(m_frame))
            return Item::End;
        if (m_frame.kind == kTables) {
            m_hasTables = readTables();
            if (m_hasTables)
                return Item::Tables;
            rejectFrame();
        } else if (m_frame.kind == kRows) {
            m_rows = FieldReader(m_frame.payload);
            m_row.timeMs = 0;
            m_inRows = m_rows.varint() == m_table && m_hasTables && m_rows.isOk();
            if (!m_inRows)
                rejectFrame();
        } else if (readSummary(m_frame.payload, m_summary)) {
            return Item::Summary;
        } else {
            rejectFrame();
        }
    }
}

bool SegmentReader::readTables()
{
    FieldReader r(m_frame.payload);
    m_table = r.varint();
    m_tables = {};
    for (std::uint64_t n = r.varint(); n > 0 && r.isOk(); --n) {
        const QByteArray id = r.bytes().toByteArray();
        const QByteArray name = r.bytes().toByteArray();
        m_tables.series.push_back({id, name, r.bytes().toByteArray()});
    }
    for (std::uint64_t n = r.varint(); n > 0 && r.isOk(); --n)
        m_tables.triggers.push_back(r.bytes().toByteArray());
    return r.isOk() && r.atEnd();
}

bool SegmentReader::readRow()
{
    const std::uint64_t series = m_rows.varint();
    const std::uint8_t tag = m_rows.byte();
    m_row.quality = static_cast<Quality>(m_rows.byte());
    m_row.timeMs = static_cast<std::int64_t>(static_cast<std::uint64_t>(m_row.timeMs)
                                             + static_cast<std::uint64_t>(m_rows.signedVarint()));
    const bool hasValue = readValue(m_rows, tag & kTypeMask, m_row.value);
    const bool hasTrigger = (tag & kHasTrigger) != 0;
    const std::uint64_t trigger = hasTrigger ? m_rows.varint() : 0;
    m_row.run = hasTrigger ? m_rows.varint() : 0;
    m_row.series = static_cast<std::uint32_t>(series);
    m_row.trigger = hasTrigger ? static_cast<std::int32_t>(trigger) : -1;
    if (m_rows.isOk() && hasValue && series < m_tables.series.size()
        && (!hasTrigger || trigger < m_tables.triggers.size()))
        return true;
    m_inRows = false;
    rejectFrame();
    return false;
}

// Its CRC is right, so it was written like this: by a newer version, or its tables lay in a damaged stretch.
void SegmentReader::rejectFrame()
{
    m_senselessBytes += m_frame.end - m_frame.begin;
    if (m_firstSenseless < 0)
        m_firstSenseless = m_frame.begin;
}

qsizetype SegmentReader::firstDamage() const
{
    const qsizetype torn = m_frames.firstDamage();
    if (torn < 0 || m_firstSenseless < 0)
        return std::max(torn, m_firstSenseless);
    return std::min(torn, m_firstSenseless);
}

bool SegmentReader::summaryAtEnd(QByteArrayView tail, SegmentSummary &summary)
{
    if (tail.size() < kSummarySize)
        return false;
    FrameReader frames(tail, kHighestKind, tail.size() - kSummarySize);
    Frame frame;
    return frames.next(frame) && frame.kind == kSummary && frame.end - frame.begin == kSummarySize
        && readSummary(frame.payload, summary);
}

QByteArray salvageSegment(QByteArrayView file)
{
    QByteArray whole = segmentHeader();
    SegmentReader reader(file);
    qsizetype lastEnd = 0;
    for (auto item = reader.next(); item != SegmentReader::Item::End; item = reader.next()) {
        const Frame &frame = reader.frame();
        if (frame.end == lastEnd || item == SegmentReader::Item::Summary)
            continue;
        lastEnd = frame.end;
        whole.append(file.data() + frame.begin, frame.end - frame.begin);
    }
    return whole;
}

} // namespace gridloom
