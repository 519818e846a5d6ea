// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordlog.h"

#include "daemon/records/recordfields.h"

namespace gridloom {

namespace {
constexpr QByteArrayView kMagic("GLRECORD");
constexpr std::uint8_t kHighestKind = kPackedFrame;
// zlib level: a group is some kB, and higher ones gain little.
constexpr int kPackLevel = 3;

bool readRecord(const Frame &frame, NumberedRecord &out)
{
    FieldReader r(frame.payload);
    out.number = r.varint();
    return readFields(r, frame.kind, out.record);
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
    contents.isExact = false;
    return true;
}

// Versions only add kinds: what older ones wrote is read as it is.
bool isKnownLog(QByteArrayView file)
{
    for (std::uint16_t version = 1; version <= kLogVersion; ++version)
        if (hasFileHeader(file, kMagic, version))
            return true;
    return false;
}

bool isNewerLog(QByteArrayView file)
{
    if (file.size() < kFileHeaderSize || !file.startsWith(kMagic))
        return false;
    const auto version =
        static_cast<std::uint16_t>(static_cast<unsigned char>(file[8]) | static_cast<unsigned char>(file[9]) << 8U);
    return version > kLogVersion && hasFileHeader(file, kMagic, version);
}

void takeIn(NumberedRecord record, LogContents &contents)
{
    contents.isExact = std::holds_alternative<NumbersUsed>(record.record);
    if (const auto *used = std::get_if<NumbersUsed>(&record.record)) {
        contents.bounds = {record.number + 1, used->nextMessage, used->nextRun, used->nextCommand};
        contents.hasBounds = true;
    } else {
        contents.bounds.include(record);
    }
    contents.records.push_back(std::move(record));
}
bool readFrame(const Frame &frame, LogContents &contents)
{
    if (frame.kind == kBoundsFrame)
        return readBounds(frame, contents);
    NumberedRecord record;
    if (!readRecord(frame, record))
        return false;
    takeIn(std::move(record), contents);
    return true;
}

// Its CRC was right: what is inside is what was written.
bool readPacked(const Frame &packed, LogContents &contents)
{
    const QByteArray inner = qUncompress(reinterpret_cast<const uchar *>(packed.payload.data()), packed.payload.size());
    FrameReader frames(inner, kNumbersFrame, 0);
    bool isWhole = !inner.isEmpty();
    for (Frame frame; frames.next(frame);)
        isWhole = readFrame(frame, contents) && isWhole;
    return isWhole && frames.firstDamage() < 0;
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
    else if (const auto *task = std::get_if<CoordinationRecord>(&r.record))
        run = std::max(run, task->run + 1);
    else if (const auto *used = std::get_if<NumbersUsed>(&r.record))
        raise({record, used->nextMessage, used->nextRun, used->nextCommand});
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
    return fileHeader(kMagic, kLogVersion);
}

void encodeRecord(QByteArray &out, RecordNumber number, const Record &record)
{
    FrameWriter w(out);
    w.begin(kindOf(record));
    w.varint(number);
    writeFields(w, record);
    w.end();
}

void encodeBounds(QByteArray &out, const IdBounds &bounds)
{
    FrameWriter w(out);
    w.begin(kBoundsFrame);
    for (const std::uint64_t bound : {bounds.record, bounds.message, bounds.run, bounds.command})
        w.varint(bound);
    w.end();
}

void packFrames(QByteArray &frames)
{
    const QByteArray packed = qCompress(frames, kPackLevel);
    if (packed.size() + kFrameHeaderSize >= frames.size())
        return;
    frames.resize(0);
    FrameWriter w(frames);
    w.begin(kPackedFrame);
    w.raw(packed);
    w.end();
}

LogContents readLog(QByteArrayView file)
{
    LogContents contents;
    if (!isKnownLog(file)) {
        contents.isNewer = isNewerLog(file);
        contents.firstDamage = 0;
        contents.damagedBytes = file.size();
        return contents;
    }
    FrameReader frames(file, kHighestKind);
    for (Frame frame; frames.next(frame);) {
        if (frame.kind == kPackedFrame ? readPacked(frame, contents) : readFrame(frame, contents))
            continue;
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
