// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordlog.h"

namespace gridloom {

namespace {
constexpr QByteArrayView kMagic("GLRECORD");
constexpr std::uint16_t kVersion = 1;
enum Kind : std::uint8_t { kAlarm = 1, kControl = 2, kRun = 3, kOutbox = 4, kAcknowledged = 5, kBounds = 6 };
constexpr std::uint8_t kHighestKind = kBounds;
constexpr std::uint8_t kRetained = 0x80;

void writeTime(FrameWriter &w, WallTime time)
{
    w.signedVarint(time.time_since_epoch().count());
}
WallTime readTime(FieldReader &r)
{
    return WallTime(std::chrono::microseconds(r.signedVarint()));
}

std::uint8_t kindOf(const AlarmTransition &)
{
    return kAlarm;
}
std::uint8_t kindOf(const ControlRecord &)
{
    return kControl;
}
std::uint8_t kindOf(const RunRecord &)
{
    return kRun;
}
std::uint8_t kindOf(const OutboxEntry &)
{
    return kOutbox;
}
std::uint8_t kindOf(const OutboxAcknowledged &)
{
    return kAcknowledged;
}

void write(FrameWriter &w, const AlarmTransition &a)
{
    w.text(a.alarmId);
    w.text(a.from);
    w.text(a.to);
    w.byte(static_cast<std::uint8_t>(a.severity));
    writeTime(w, a.time);
    w.text(a.text);
    w.bytes(a.value);
    w.varint(a.run);
}
void read(FieldReader &r, AlarmTransition &a)
{
    a.alarmId = r.text();
    a.from = r.text();
    a.to = r.text();
    a.severity = static_cast<Severity>(r.byte());
    a.time = readTime(r);
    a.text = r.text();
    a.value = r.bytes().toByteArray();
    a.run = r.varint();
}

void write(FrameWriter &w, const ControlRecord &c)
{
    w.varint(c.command);
    w.text(c.pointId);
    w.bytes(c.value);
    w.bytes(c.readBack);
    w.text(c.reason);
    w.text(c.priority);
    w.text(c.state);
    w.text(c.error);
    writeTime(w, c.requested);
    w.signedVarint(c.durationUs);
}
void read(FieldReader &r, ControlRecord &c)
{
    c.command = r.varint();
    c.pointId = r.text();
    c.value = r.bytes().toByteArray();
    c.readBack = r.bytes().toByteArray();
    c.reason = r.text();
    c.priority = r.text();
    c.state = r.text();
    c.error = r.text();
    c.requested = readTime(r);
    c.durationUs = r.signedVarint();
}

void write(FrameWriter &w, const RunRecord &run)
{
    w.varint(run.run);
    w.text(run.triggerId);
    w.text(run.outcome);
    w.text(run.error);
    writeTime(w, run.due);
    for (const std::int64_t us :
         {run.startUs, run.evalUs, run.controlUs, run.alarmUs, run.mqttUs, run.aggregationUs, run.doneUs})
        w.signedVarint(us);
    w.bytes(run.detail);
}
void read(FieldReader &r, RunRecord &run)
{
    run.run = r.varint();
    run.triggerId = r.text();
    run.outcome = r.text();
    run.error = r.text();
    run.due = readTime(r);
    for (std::int64_t *us :
         {&run.startUs, &run.evalUs, &run.controlUs, &run.alarmUs, &run.mqttUs, &run.aggregationUs, &run.doneUs})
        *us = r.signedVarint();
    run.detail = r.bytes().toByteArray();
}

void write(FrameWriter &w, const OutboxEntry &entry)
{
    const OutboundMessage &m = entry.message;
    w.text(entry.sink);
    w.varint(m.id);
    w.bytes(m.topic);
    w.bytes(m.payload);
    w.byte(static_cast<std::uint8_t>(m.qos | (m.isRetained ? kRetained : 0U)));
    writeTime(w, entry.created);
}
void read(FieldReader &r, OutboxEntry &entry)
{
    OutboundMessage &m = entry.message;
    entry.sink = r.text();
    m.id = r.varint();
    m.topic = r.bytes().toByteArray();
    m.payload = r.bytes().toByteArray();
    const std::uint8_t flags = r.byte();
    m.qos = flags & static_cast<std::uint8_t>(~kRetained);
    m.isRetained = (flags & kRetained) != 0;
    entry.created = readTime(r);
}

void write(FrameWriter &w, const OutboxAcknowledged &acknowledged)
{
    w.text(acknowledged.sink);
    w.varint(acknowledged.messageId);
}
void read(FieldReader &r, OutboxAcknowledged &acknowledged)
{
    acknowledged.sink = r.text();
    acknowledged.messageId = r.varint();
}

template<typename T>
bool readInto(FieldReader &r, Record &record)
{
    read(r, record.emplace<T>());
    return r.isOk() && r.atEnd();
}

bool readRecord(const Frame &frame, NumberedRecord &out)
{
    FieldReader r(frame.payload);
    out.number = r.varint();
    switch (frame.kind) {
    case kAlarm: return readInto<AlarmTransition>(r, out.record);
    case kControl: return readInto<ControlRecord>(r, out.record);
    case kRun: return readInto<RunRecord>(r, out.record);
    case kOutbox: return readInto<OutboxEntry>(r, out.record);
    case kAcknowledged: return readInto<OutboxAcknowledged>(r, out.record);
    default: return false;
    }
}

bool readBounds(const Frame &frame, LogContents &contents)
{
    FieldReader r(frame.payload);
    IdBounds bounds;
    for (std::uint64_t *bound : {&bounds.record, &bounds.message, &bounds.run, &bounds.command})
        *bound = r.varint();
    if (!r.isOk())
        return false;
    contents.bounds.raise(bounds);
    contents.hasBounds = true;
    return true;
}
} // namespace

void IdBounds::include(const NumberedRecord &r)
{
    record = std::max(record, r.number + 1);
    if (const auto *c = std::get_if<ControlRecord>(&r.record))
        command = std::max(command, c->command + 1);
    else if (const auto *t = std::get_if<RunRecord>(&r.record))
        run = std::max(run, t->run + 1);
    else if (const auto *a = std::get_if<AlarmTransition>(&r.record))
        run = std::max(run, a->run + 1);
    else if (const auto *e = std::get_if<OutboxEntry>(&r.record))
        message = std::max(message, e->message.id + 1);
}

void IdBounds::raise(const IdBounds &other)
{
    record = std::max(record, other.record);
    message = std::max(message, other.message);
    run = std::max(run, other.run);
    command = std::max(command, other.command);
}

IdBounds IdBounds::plus(std::uint64_t n) const
{
    return {record + n, message + n, run + n, command + n};
}

bool IdBounds::exceeds(const IdBounds &other) const
{
    return record > other.record || message > other.message || run > other.run || command > other.command;
}

QByteArray logHeader()
{
    return fileHeader(kMagic, kVersion);
}

void encodeRecord(QByteArray &out, RecordNumber number, const Record &record)
{
    FrameWriter w(out);
    std::visit(
        [&](const auto &r) {
            w.begin(kindOf(r));
            w.varint(number);
            write(w, r);
        },
        record);
    w.end();
}

void encodeBounds(QByteArray &out, const IdBounds &bounds)
{
    FrameWriter w(out);
    w.begin(kBounds);
    for (const std::uint64_t bound : {bounds.record, bounds.message, bounds.run, bounds.command})
        w.varint(bound);
    w.end();
}

LogContents readLog(QByteArrayView file)
{
    LogContents contents;
    if (!hasFileHeader(file, kMagic, kVersion)) {
        contents.firstDamage = 0;
        contents.damagedBytes = file.size();
        return contents;
    }
    FrameReader frames(file, kHighestKind);
    for (Frame frame; frames.next(frame);) {
        NumberedRecord record;
        if (frame.kind == kBounds ? readBounds(frame, contents) : readRecord(frame, record)) {
            if (frame.kind != kBounds) {
                contents.bounds.include(record);
                contents.records.push_back(std::move(record));
            }
            continue;
        }
        contents.damagedBytes += frame.end - frame.begin;
        contents.firstDamage = contents.firstDamage < 0 ? frame.begin : contents.firstDamage;
    }
    contents.damagedBytes += frames.damagedBytes();
    if (frames.firstDamage() >= 0)
        contents.firstDamage =
            contents.firstDamage < 0 ? frames.firstDamage() : std::min(contents.firstDamage, frames.firstDamage());
    return contents;
}

} // namespace gridloom
