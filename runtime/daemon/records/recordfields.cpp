// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordfields.h"

namespace gridloom {

namespace {
// Bits of an outbox entry's flags: QoS, class of message, retained. Files before there were classes have 0 there.
constexpr std::uint8_t kQosMask = 0x03;
constexpr int kClassShift = 2;
constexpr std::uint8_t kClassMask = 0x07;
constexpr std::uint8_t kRetained = 0x80;

void writeTime(FrameWriter &w, WallTime time)
{
    w.signedVarint(time.time_since_epoch().count());
}
WallTime readTime(FieldReader &r)
{
    return WallTime(std::chrono::microseconds(r.signedVarint()));
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
    w.bytes(c.value.toText());
    w.bytes(c.readBack.isNull() ? QByteArray() : c.readBack.toText());
    w.text(c.reasonText());
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
    c.value = Value(r.bytes().toByteArray()); // its digits as text: the log does not tell the type
    c.readBack = Value(r.bytes().toByteArray());
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
    w.byte(static_cast<std::uint8_t>(m.qos | static_cast<unsigned>(m.kind) << kClassShift
                                     | (m.isRetained ? kRetained : 0U)));
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
    m.qos = flags & kQosMask;
    m.kind = messageClass(flags >> kClassShift & kClassMask);
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

void write(FrameWriter &w, const StateRecord &state)
{
    w.text(state.key);
    w.bytes(state.value);
}
void read(FieldReader &r, StateRecord &state)
{
    state.key = r.text();
    state.value = r.bytes().toByteArray();
}

void write(FrameWriter &w, const AuditRecord &a)
{
    writeTime(w, a.time);
    w.text(a.who);
    w.text(a.act);
    w.text(a.object);
    w.text(a.detail);
    w.byte(a.isAllowed ? 1 : 0);
}
void read(FieldReader &r, AuditRecord &a)
{
    a.time = readTime(r);
    a.who = r.text();
    a.act = r.text();
    a.object = r.text();
    a.detail = r.text();
    a.isAllowed = r.byte() != 0;
}

void write(FrameWriter &w, const DeploymentRecord &d)
{
    writeTime(w, d.time);
    w.text(d.revision);
    w.text(d.state);
    w.text(d.who);
    w.text(d.detail);
}
void read(FieldReader &r, DeploymentRecord &d)
{
    d.time = readTime(r);
    d.revision = r.text();
    d.state = r.text();
    d.who = r.text();
    d.detail = r.text();
}

void write(FrameWriter &w, const CoordinationRecord &c)
{
    w.varint(c.run);
    w.text(c.taskId);
    w.text(c.outcome);
    w.text(c.error);
    writeTime(w, c.due);
    w.signedVarint(c.doneUs);
    w.byte(c.isCompensated ? 1 : 0);
    w.bytes(c.steps);
}
void read(FieldReader &r, CoordinationRecord &c)
{
    c.run = r.varint();
    c.taskId = r.text();
    c.outcome = r.text();
    c.error = r.text();
    c.due = readTime(r);
    c.doneUs = r.signedVarint();
    c.isCompensated = r.byte() != 0;
    c.steps = r.bytes().toByteArray();
}

void write(FrameWriter &w, const CommandReply &reply)
{
    w.bytes(reply.id);
    w.bytes(reply.reply);
    writeTime(w, reply.time);
}
void read(FieldReader &r, CommandReply &reply)
{
    reply.id = r.bytes().toByteArray();
    reply.reply = r.bytes().toByteArray();
    reply.time = readTime(r);
}

void write(FrameWriter &w, const NumbersUsed &numbers)
{
    w.varint(numbers.nextMessage);
    w.varint(numbers.nextRun);
    w.varint(numbers.nextCommand);
}
void read(FieldReader &r, NumbersUsed &numbers)
{
    numbers.nextMessage = r.varint();
    numbers.nextRun = r.varint();
    numbers.nextCommand = r.varint();
}

template<typename T>
bool readInto(FieldReader &r, Record &record)
{
    read(r, record.emplace<T>());
    return r.isOk() && r.atEnd();
}
} // namespace

std::uint8_t kindOf(const Record &record)
{
    static constexpr std::array kKinds{kAlarmFrame,        kControlFrame, kRunFrame,    kOutboxFrame,
                                       kAcknowledgedFrame, kStateFrame,   kAuditFrame,  kDeploymentFrame,
                                       kCoordinationFrame, kReplyFrame,   kNumbersFrame};
    static_assert(kKinds.size() == std::variant_size_v<Record>);
    return kKinds[record.index()];
}

void writeFields(FrameWriter &w, const Record &record)
{
    std::visit([&](const auto &r) { write(w, r); }, record);
}

bool readFields(FieldReader &r, std::uint8_t kind, Record &record)
{
    switch (kind) {
    case kAlarmFrame: return readInto<AlarmTransition>(r, record);
    case kControlFrame: return readInto<ControlRecord>(r, record);
    case kRunFrame: return readInto<RunRecord>(r, record);
    case kOutboxFrame: return readInto<OutboxEntry>(r, record);
    case kAcknowledgedFrame: return readInto<OutboxAcknowledged>(r, record);
    case kStateFrame: return readInto<StateRecord>(r, record);
    case kAuditFrame: return readInto<AuditRecord>(r, record);
    case kDeploymentFrame: return readInto<DeploymentRecord>(r, record);
    case kCoordinationFrame: return readInto<CoordinationRecord>(r, record);
    case kReplyFrame: return readInto<CommandReply>(r, record);
    case kNumbersFrame: return readInto<NumbersUsed>(r, record);
    default: return false;
    }
}

} // namespace gridloom
