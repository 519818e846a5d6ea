// SPDX-License-Identifier: Apache-2.0
#include "engine/outbound.h"

#include "core/topics.h"
#include "engine/messages.h"
#include "engine/triggerruns.h"

#include <algorithm>

namespace gridloom {

namespace {
// So many values are written as text before the engine looks at its inbox again: triggers and control go first.
constexpr qsizetype kValuesPerCycle = 1'000;

constexpr std::uint64_t kMostUnrecorded = 20'000;

std::vector<const SinkDefinition *> definitionsOf(const Outlets &outlets)
{
    std::vector<const SinkDefinition *> definitions;
    for (const auto &sink : outlets.sinks)
        definitions.push_back(sink.definition);
    return definitions;
}
} // namespace

Outbound::Outbound(const Design &design, const Outlets &outlets, Records &records)
    : m_design(design), m_outlets(outlets), m_records(records), m_prefix(topicPrefix(design.gatewayId) + '/'),
      m_nextId(records.nextMessageId()), m_lastRecorded(m_nextId), m_states(design, definitionsOf(outlets))
{
    for (std::size_t sink = 0; sink < outlets.sinks.size(); ++sink)
        for (const Publication &publication : outlets.sinks[sink].definition->publications)
            m_publicationList.push_back({sink, &publication});
}

void Outbound::adopt(const std::vector<OutboxEntry> &pending)
{
    m_messages.offer(pending.size());
    for (const OutboxEntry &entry : pending) {
        if (sinkOf(entry.sink) < m_outlets.sinks.size()) {
            // Not a publication of this run's account, whatever it is.
            m_open[entry.message.id] = Open{0, {}, entry.message.qos, MessageClass::Trigger, true};
            continue;
        }
        // Its sink left the design: nobody will ever send it.
        m_messages.finish(Outcome::Discarded);
        m_records.append(OutboxAcknowledged{entry.sink, entry.message.id});
    }
}

void Outbound::send(std::size_t sink, OutboundMessage message, Open open, WallTime wall)
{
    const auto &outlet = m_outlets.sinks[sink];
    message.kind = open.kind;
    if (message.qos > 0)
        m_messages.offer();
    open.isRecorded = mustRecord(message);
    if (open.isRecorded)
        m_records.append(OutboxEntry{outlet.definition->id, message, wall});
    if (open.isPublication())
        m_publications.offer();
    m_open[message.id] = open;
    outlet.send(std::move(message));
}

// States and replies need no record but for their ids: the records know how far ids were given out by those that come by,
// and a start goes on above them with a reserve.
bool Outbound::mustRecord(const OutboundMessage &message)
{
    const bool isPassing = message.kind == MessageClass::State || message.kind == MessageClass::Reply;
    if (message.qos == 0 || (isPassing && message.id - m_lastRecorded < kMostUnrecorded))
        return false;
    m_lastRecorded = message.id;
    return true;
}

std::size_t Outbound::sinkOf(const QString &id) const
{
    const auto found = std::find_if(m_outlets.sinks.begin(), m_outlets.sinks.end(),
                                    [&](const auto &sink) { return sink.definition->id == id; });
    return static_cast<std::size_t>(found - m_outlets.sinks.begin());
}

QString Outbound::publish(const PublishAction &action, std::uint64_t run, TriggerRuns &runs, SteadyTime now,
                          WallTime wall)
{
    if (m_outlets.sinks.empty())
        return QStringLiteral("the design has no sink");
    if (!validTopic(topic(action.topic)))
        return QStringLiteral("\"%1\" is no MQTT topic: it may not be empty or hold + # or control characters")
            .arg(QString::fromUtf8(action.topic.left(80)));
    for (std::size_t sink = 0; sink < m_outlets.sinks.size(); ++sink) {
        const std::uint64_t id = m_nextId++;
        OutboundMessage message{id, topic(action.topic), scriptPayload(id, action.payload), action.qos,
                                action.isRetained};
        runs.effectAsked(run, Effect::Mqtt);
        send(sink, std::move(message), Open{run, now, action.qos, MessageClass::Trigger}, wall);
    }
    return {};
}

void Outbound::publishAlarm(const AlarmBoard::Entry &entry, const AlarmTransition &transition, SteadyTime now)
{
    for (std::size_t sink = 0; sink < m_outlets.sinks.size(); ++sink) {
        if (!m_outlets.sinks[sink].definition->publishesAlarms)
            continue;
        const std::uint64_t id = m_nextId++;
        const int dot = static_cast<int>(entry.name.indexOf(QLatin1Char('.')));
        const QByteArray below =
            "alarm/" + escapeLevel(entry.name.left(dot)) + '/' + escapeLevel(entry.name.mid(dot + 1));
        send(sink, OutboundMessage{id, topic(below), alarmPayload(id, entry, transition), 1, false},
             Open{0, now, 1, MessageClass::Alarm}, transition.time);
    }
}

// Spread over the first 40 % of their periods, as polls are: a hundred messages at one moment would keep sink, broker
// and records busy while triggers of that moment wait for the processor.
Nanoseconds Outbound::phaseOf(std::size_t publication) const
{
    const Nanoseconds spread = Nanoseconds(m_publicationList[publication].publication->period) * 2 / 5;
    return spread * static_cast<Nanoseconds::rep>(publication)
        / static_cast<Nanoseconds::rep>(m_publicationList.size());
}

void Outbound::reply(const QString &sink, const QByteArray &reply, SteadyTime now, WallTime wall)
{
    const std::size_t index = sinkOf(sink);
    const std::uint64_t id = m_nextId++;
    QByteArray payload = reply;
    payload.chop(1);
    payload += ",\"message\":" + QByteArray::number(id) + '}';
    send(index, OutboundMessage{id, topic("cmd/reply"), payload, 1, false}, Open{0, now, 1, MessageClass::Reply}, wall);
}

void Outbound::sinkConnected(const QString &sink, const PointStore &points, SteadyTime now)
{
    m_states.sinkConnected(sinkOf(sink), points, now);
}

QString Outbound::levelChanged(const OutboxLevelChanged &event)
{
    if (event.isFilling)
        m_filling[event.sink] = event;
    else
        m_filling.erase(event.sink);
    QStringList texts;
    for (const auto &[sink, level] : m_filling)
        texts << QStringLiteral(
                     "The outbox of sink \"%1\" holds %2 of %3 bytes; when it is full the oldest telemetry is "
                     "dropped. See why its receiver does not take messages")
                     .arg(sink)
                     .arg(level.bytes)
                     .arg(level.quota);
    return texts.join(QStringLiteral(". "));
}

void Outbound::startPublications(SteadyTime now)
{
    for (std::size_t i = 0; i < m_publicationList.size(); ++i)
        m_schedule.add(nextOnGrid(now, m_publicationList[i].publication->period, phaseOf(i)), i);
}

std::optional<SteadyTime> Outbound::nextPublication() const
{
    const auto publication = m_schedule.next();
    const auto state = m_states.nextDue();
    return publication && state ? std::min(*publication, *state) : publication ? publication : state;
}

void Outbound::stopPublications()
{
    m_schedule.clear();
    m_states.stop();
}

/// How many.
qsizetype Outbound::publishStates(const PointStore &points, SteadyTime now, WallTime wall)
{
    qsizetype values = 0;
    for (; values < kValuesPerCycle; ++values) {
        const auto due = m_states.takeDue(now);
        if (!due)
            break;
        const std::uint64_t id = m_nextId++;
        OutboundMessage message{id, topic(*due->topic), statePayload(id, points.at(due->point)), 1, true};
        send(due->sink, std::move(message), Open{0, now, 1, MessageClass::State}, wall);
    }
    return values;
}

void Outbound::publishDue(const PointStore &points, SteadyTime now, WallTime wall)
{
    qsizetype values = publishStates(points, now, wall);
    while (values < kValuesPerCycle) {
        const auto item = m_schedule.take(now);
        if (!item)
            return;
        const auto &[due, index] = *item;
        const auto &[sink, publication] = m_publicationList[index];
        const SteadyTime next = nextOnGrid(now, publication->period, phaseOf(index));
        if (const auto missed = (next - due) / Nanoseconds(publication->period) - 1; missed > 0) {
            m_publications.offer(static_cast<std::uint64_t>(missed));
            m_publications.finish(Outcome::Discarded, static_cast<std::uint64_t>(missed));
        }
        m_schedule.add(next, index);
        values += publication->points.size();
        const std::uint64_t id = m_nextId++;
        OutboundMessage message{id, topic("telemetry/" + escapeLevel(publication->device)),
                                publicationPayload(id, m_design, *publication, points),
                                static_cast<std::uint8_t>(publication->qos), false};
        send(sink, std::move(message),
             Open{0, due, static_cast<std::uint8_t>(publication->qos), MessageClass::Telemetry}, wall);
    }
}

void Outbound::ended(const MessageEnded &event, TriggerRuns &runs)
{
    const auto it = m_open.find(event.messageId);
    if (it == m_open.end())
        return;
    const Open open = it->second;
    m_open.erase(it);
    if (open.qos > 0)
        m_messages.finish(event.outcome);
    if (open.isRecorded) {
        const RecordNumber record = m_records.append(OutboxAcknowledged{event.sink, event.messageId});
        if (event.isBacklog)
            m_receipts.push_back({record, sinkOf(event.sink)});
    } else if (event.isBacklog) {
        m_outlets.sinks[sinkOf(event.sink)].settled(1);
    }
    if (open.isPublication()) {
        m_publications.finish(event.outcome);
        if (event.outcome == Outcome::Done)
            m_latency.add(event.at - open.due);
    }
    if (open.run != 0)
        runs.effectEnded(open.run, Effect::Mqtt, event.at, event.why);
}

void Outbound::committed(const Records::CommitReport &report)
{
    while (!m_receipts.empty() && m_receipts.front().record <= report.last) {
        m_outlets.sinks[m_receipts.front().sink].settled(1);
        m_receipts.pop_front();
    }
}

} // namespace gridloom
