// SPDX-License-Identifier: Apache-2.0
#include "daemon/statusline.h"

#include "core/json.h"
#include "engine/messages.h"

#include <QFile>

#include <unistd.h>

namespace gridloom {

namespace {
std::string_view view(const QByteArray &bytes)
{
    return {bytes.constData(), static_cast<std::size_t>(bytes.size())};
}

std::string_view healthName(LinkHealth health)
{
    switch (health) {
    case LinkHealth::Online: return "Online";
    case LinkHealth::Degraded: return "Degraded";
    case LinkHealth::BackingOff: return "BackingOff";
    case LinkHealth::Offline: return "Offline";
    case LinkHealth::Disabled: break;
    }
    return "Disabled";
}

void writeLedgers(JsonWriter &w, const EngineSnapshot &s)
{
    w.key("ledger").beginObject();
    s.points.write(w.key("points"));
    s.triggers.write(w.key("triggers"));
    s.control.write(w.key("control"));
    s.mqtt.write(w.key("mqtt"));
    s.alarms.write(w.key("alarms"));
    s.publications.write(w.key("publications"));
    s.coordination.write(w.key("coordination"));
    s.outsideCommands.write(w.key("commands"));
    w.endObject();
    w.key("latency").beginObject();
    s.trigger.writeState(w.key("trigger"));
    s.triggerIssued.writeState(w.key("triggerIssued"));
    s.fastStart.writeState(w.key("fastStart"));
    s.publication.writeState(w.key("mqtt"));
    s.coordinationLatency.writeState(w.key("coordination"));
    w.endObject();
}

void writeCounts(JsonWriter &w, const EngineSnapshot &s, const StatusContext &c)
{
    const auto number = [&](std::string_view key, std::uint64_t v) { w.key(key).unsignedInteger(v); };
    w.key("requests").beginObject();
    number("reads", c.requests.reads);
    number("readBacks", c.requests.readBacks);
    number("writes", c.requests.writes);
    number("timeouts", c.requests.timeouts);
    number("exceptions", c.requests.exceptions);
    number("droppedFrames", c.requests.droppedFrames);
    number("reconnects", c.requests.reconnects);
    w.endObject().key("control").beginObject();
    number("confirmed", s.commands.confirmed);
    number("mismatch", s.commands.mismatch);
    number("rejected", s.commands.rejected);
    number("timedOut", s.commands.timedOut);
    number("superseded", s.commands.superseded);
    number("notNeeded", s.commands.notNeeded);
    w.endObject().key("store").beginObject();
    number("samplesOffered", s.store.samplesOffered);
    number("rows", s.store.rows);
    number("skippedByPolicy", s.store.skippedByPolicy);
    number("lost", s.store.lost);
    number("pending", s.store.pending);
    number("bytes", c.store.bytes);
    number("aggregationRows", s.store.aggregationRows);
    w.endObject().key("records").beginObject();
    number("appended", c.records.appended);
    number("committed", c.records.committed);
    number("failed", c.records.failed);
    number("commits", c.records.commits);
    number("bytesWritten", c.records.bytesWritten);
    number("outbox", c.records.outboxEntries);
    w.key("lastCommitMs").rounded(c.records.lastCommitMs, 3);
    number("runsKept", s.runsKept);
    number("runsDropped", s.runsDropped);
    w.endObject();
    number("aggregationRuns", s.aggregationRuns);
    number("cycles", s.cycles);
    number("coordinationWrites", s.coordinationWrites);
}

void writeSink(JsonWriter &w, const StatusContext::SinkState &sink)
{
    const auto dropped = [&](MessageClass kind) { return sink.statistics.dropped[static_cast<std::size_t>(kind)]; };
    w.beginObject().key("id").string(QStringView(sink.id));
    w.key("connected").boolean(sink.statistics.isConnected);
    w.key("waiting").unsignedInteger(sink.statistics.waiting);
    w.key("bytes").integer(sink.statistics.bytes).key("dropped").beginObject();
    w.key("telemetry").unsignedInteger(dropped(MessageClass::Telemetry));
    w.key("triggers").unsignedInteger(dropped(MessageClass::Trigger));
    w.key("states").unsignedInteger(dropped(MessageClass::State));
    w.key("replies").unsignedInteger(dropped(MessageClass::Reply));
    w.key("alarms").unsignedInteger(dropped(MessageClass::Alarm));
    w.endObject().endObject();
}

void writeStates(JsonWriter &w, const EngineSnapshot &s, const StatusContext &c)
{
    w.key("queues").beginObject();
    for (const auto &queue : c.queues)
        w.key(queue.name)
            .beginObject()
            .key("size")
            .unsignedInteger(queue.size)
            .key("highWater")
            .unsignedInteger(queue.highWater)
            .key("refused")
            .unsignedInteger(queue.refused)
            .endObject();
    w.endObject().key("links").beginArray();
    for (const auto &link : s.links) {
        w.beginObject().key("device").string(QStringView(link.device)).key("health").string(healthName(link.health));
        if (!link.why.isEmpty())
            w.key("why").string(QStringView(link.why));
        w.endObject();
    }
    w.endArray().key("sinks").beginArray();
    for (const auto &sink : c.sinks)
        writeSink(w, sink);
    w.endArray().key("alarms").beginArray();
    for (const auto &alarm : s.activeAlarms)
        w.beginObject()
            .key("id")
            .string(QStringView(alarm.id))
            .key("name")
            .string(QStringView(alarm.name))
            .key("state")
            .string(QStringView(alarm.state))
            .key("severity")
            .string(QStringView(alarm.severity))
            .key("text")
            .string(QStringView(alarm.text))
            .key("since")
            .string(view(utcText(alarm.since)))
            .key("occurrences")
            .unsignedInteger(alarm.occurrences)
            .endObject();
    w.endArray();
}

void writeTriggers(JsonWriter &w, const EngineSnapshot &s, const Design &design)
{
    w.key("triggers").beginArray();
    for (std::size_t i = 0; i < s.triggerStatistics.size(); ++i) {
        const TriggerStatistics &t = s.triggerStatistics[i];
        const Trigger &trigger = *design.triggerList[static_cast<qsizetype>(i)];
        w.beginObject()
            .key("id")
            .string(QStringView(trigger.id))
            .key("name")
            .string(QStringView(trigger.name))
            .key("runs")
            .unsignedInteger(t.runs)
            .key("failed")
            .unsignedInteger(t.failed)
            .key("timedOut")
            .unsignedInteger(t.timedOut)
            .key("skipped")
            .unsignedInteger(t.skipped)
            .key("disabled")
            .boolean(t.isDisabled);
        if (!t.lastError.isEmpty())
            w.key("lastError").string(QStringView(t.lastError));
        w.endObject();
    }
    w.endArray().key("slowRuns").beginArray();
    for (const SlowRun &run : s.slowRuns)
        w.beginObject()
            .key("run")
            .unsignedInteger(run.run)
            .key("trigger")
            .string(QStringView(run.trigger))
            .key("cause")
            .string(QStringView(run.cause))
            .key("ms")
            .rounded(run.ms, 2)
            .endObject();
    w.endArray().key("values").beginObject();
    for (const auto &value : s.values)
        w.key(view(value.name.toUtf8()))
            .beginObject()
            .key("v")
            .value(isUsable(value.slot.quality) ? value.slot.value : Value())
            .key("q")
            .string(qualityName(value.slot.quality))
            .key("t")
            .string(view(utcText(value.slot.sourceTime)))
            .endObject();
    w.endObject();
}
void writeCoordination(JsonWriter &w, const EngineSnapshot &s, const Design &design)
{
    w.key("coordination").beginArray();
    for (std::size_t i = 0; i < s.coordinationStatistics.size(); ++i) {
        const CoordinationStatistics &t = s.coordinationStatistics[i];
        const CoordinationTask &task = *design.coordinationList[static_cast<qsizetype>(i)];
        w.beginObject().key("id").string(QStringView(task.id)).key("name").string(QStringView(task.name));
        w.key("runs").unsignedInteger(t.runs).key("failed").unsignedInteger(t.failed);
        w.key("timedOut").unsignedInteger(t.timedOut).key("discarded").unsignedInteger(t.discarded);
        w.key("compensated").unsignedInteger(t.compensated);
        if (!t.lastError.isEmpty())
            w.key("lastError").string(QStringView(t.lastError));
        w.endObject();
    }
    w.endArray();
}
} // namespace

ProcessUse readProcessUse()
{
    ProcessUse use;
    QFile stat(QStringLiteral("/proc/self/stat"));
    if (!stat.open(QIODevice::ReadOnly))
        return use;
    const QByteArray text = stat.readAll();
    // The name in parentheses may hold blanks: count fields from behind it (proc(5): 14, 15 time, 20 threads, 24 rss).
    const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
    if (fields.size() < 22)
        return use;
    use.cpuMs = (fields[11].toLongLong() + fields[12].toLongLong()) * 1000 / ::sysconf(_SC_CLK_TCK);
    use.threads = fields[17].toInt();
    use.rssKb = fields[21].toLongLong() * ::sysconf(_SC_PAGESIZE) / 1024;
    return use;
}

QByteArray statusLine(const EngineSnapshot &s, const StatusContext &c)
{
    JsonWriter w(16 * 1024);
    w.beginObject().key("sequence").unsignedInteger(c.sequence).key("time").string(view(utcText(s.wall)));
    w.key("uptimeS").rounded(c.uptimeS, 3).key("state").string(c.state);
    w.key("gateway").string(QStringView(c.design.gatewayId)).key("revision").string(view(c.design.revision));
    w.key("pid").integer(::getpid()).key("speed").number(c.speed);
    const auto className = [](bool isRealTime) { return isRealTime ? "fifo" : "plain"; };
    w.key("scheduling").beginObject().key("engine").string(className(c.realTime.engine));
    w.key("fastScripts").string(className(c.realTime.fastScripts)).endObject();
    writeLedgers(w, s);
    writeCounts(w, s, c);
    writeStates(w, s, c);
    writeTriggers(w, s, c.design);
    writeCoordination(w, s, c.design);
    w.key("process")
        .beginObject()
        .key("cpuMs")
        .integer(c.process.cpuMs)
        .key("rssKb")
        .integer(c.process.rssKb)
        .key("threads")
        .integer(c.process.threads)
        .endObject();
    w.endObject();
    return w.take();
}

} // namespace gridloom
