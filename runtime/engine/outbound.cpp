// SPDX-License-Identifier: Apache-2.0
#include "engine/outbound.h"

#include "core/topics.h"
#include "engine/messages.h"
#include "engine/triggerruns.h"

namespace gridloom {

namespace {
// So many values are written as text before the engine looks at its inbox again: triggers and control go first.
constexpr qsizetype kValuesPerCycle = 1'000;
} // namespace

Outbound::Outbound(const Design &design, const Outlets &outlets, Records &records)
    : m_design(design), m_outlets(outlets), m_records(records), m_prefix(topicPrefix(design.gatewayId) + '/'),
      m_nextId(records.nextMessageId())
{
    for (std::size_t sink = 0; sink < outlets.sinks.size(); ++sink)
        for (const Publication &publication : outlets.sinks[sink].definition->publications)
            m_publicationList.push_back({sink, &publication});
}

void Outbound::adopt(const std::vector<OutboxEntry> &pending)
{
    m_messages.offer(pending.size());
    for (const OutboxEntry &entry : pending) {
        const bool hasSink = std::any_of(m_outlets.sinks.begin(), m_outlets.sinks.end(),
                                         [&](const auto &sink) { return sink.definition->id == entry.sink; });
        if (hasSink) {
            m_open[entry.message.id] = Open{0, {}, entry.message.qos, false};
            continue;
        }
        // Its sink left the design: nobody will ever send it.
        m_messages.finish(Outcome::Discarded);
        m_records.append(OutboxAcknowledged{entry.sink, entry.message.id});
    }
}

void Outbound::send(std::size_t sink, OutboundMessage message, const Open &open, WallTime wall)
{
    const auto &outlet = m_outlets.sinks[sink];
    if (message.qos > 0) {
        m_messages.offer();
        m_records.append(OutboxEntry{outlet.definition->id, message, wall});
    }
    if (open.isPublication)
        m_publications.offer();
    m_open[message.id] = open;
    outlet.send(std::move(message), open.isPublication);
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
        send(sink, std::move(message), Open{run, now, action.qos, false}, wall);
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
             Open{0, now, 1, false}, transition.time);
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

void Outbound::startPublications(SteadyTime now)
{
    for (std::size_t i = 0; i < m_publicationList.size(); ++i)
        m_schedule.add(nextOnGrid(now, m_publicationList[i].publication->period, phaseOf(i)), i);
}

void Outbound::publishDue(const PointStore &points, SteadyTime now, WallTime wall)
{
    qsizetype values = 0;
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
        send(sink, std::move(message), Open{0, due, static_cast<std::uint8_t>(publication->qos), true}, wall);
    }
}

void Outbound::ended(const MessageEnded &event, TriggerRuns &runs)
{
    const auto it = m_open.find(event.messageId);
    if (it == m_open.end())
        return;
    const Open open = it->second;
    m_open.erase(it);
    if (open.qos > 0) {
        m_messages.finish(event.outcome);
        m_records.append(OutboxAcknowledged{event.sink, event.messageId});
    }
    if (open.isPublication) {
        m_publications.finish(event.outcome);
        if (event.outcome == Outcome::Done)
            m_latency.add(event.at - open.due);
    }
    if (open.run != 0)
        runs.effectEnded(open.run, Effect::Mqtt, event.at, event.why);
}

} // namespace gridloom
