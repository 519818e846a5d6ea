// SPDX-License-Identifier: Apache-2.0
// Outbound: every message that leaves by a sink: triggers' messages, alarm transitions, periodic publications, states of
// points, answers to commands. Engine thread. A message of QoS >= 1 goes to the outbox of the records (durable) and to its
// sink at the same moment and leaves it when it is acknowledged or dropped. States and answers are not recorded: after a
// restart a state is read anew, and whoever repeats a command gets its answer again.
#pragma once

#include "core/histogram.h"
#include "core/ledger.h"
#include "core/processimage.h"
#include "engine/alarmboard.h"
#include "engine/outlets.h"
#include "engine/schedule.h"
#include "engine/statetopics.h"
#include "sdk/records.h"

#include <deque>
#include <map>
#include <unordered_map>

namespace gridloom {

class TriggerRuns;

class Outbound {
public:
    /// Everything outlives it. Messages are numbered from records.nextMessageId().
    Outbound(const Design &design, const Outlets &outlets, Records &records);

    /// Messages that an earlier run of the process left in the outbox: their sinks hold them already. Those of a sink
    /// that is no longer in the design are discarded.
    void adopt(const std::vector<OutboxEntry> &pending);
    /// A trigger's message; the run is told when each sink's copy is acknowledged. Why it cannot be sent, or nothing.
    QString publish(const PublishAction &action, std::uint64_t run, TriggerRuns &runs, SteadyTime now, WallTime wall);
    void publishAlarm(const AlarmBoard::Entry &entry, const AlarmTransition &transition, SteadyTime now);
    /// The answer to a command, to the sink that brought it: `reply` is a JSON object, it gets our number as "message".
    void reply(const QString &sink, const QByteArray &reply, SteadyTime now, WallTime wall);
    /// A value of the point came in.
    void pointSampled(PointHandle point, const ImageSlot &slot, SteadyTime now)
    {
        m_states.pointSampled(point, slot, now);
    }
    void sinkConnected(const QString &sink, const PointStore &points, SteadyTime now);
    /// Why the alarm "outbox filling" is to stand: the sinks that are nearly full; empty when it is to end.
    QString levelChanged(const OutboxLevelChanged &event);

    /// Periodic publications and states.
    void startPublications(SteadyTime now);
    std::optional<SteadyTime> nextPublication() const;
    /// At most a bounded number of values at a time; nextPublication() tells that more is due.
    void publishDue(const PointStore &points, SteadyTime now, WallTime wall);
    void stopPublications();

    void ended(const MessageEnded &event, TriggerRuns &runs);
    /// A group commit ended: sinks learn which receipts are durable.
    void committed(const Records::CommitReport &report);

    std::uint64_t nextId() const { return m_nextId; }             ///< the first message id that was not given out
    const Ledger &messages() const { return m_messages; }         ///< every QoS >= 1 publish
    const Ledger &publications() const { return m_publications; } ///< the periodic ones, QoS 0 included
    const Histogram &publicationLatency() const { return m_latency; }

private:
    struct Open {
        std::uint64_t run = 0;
        SteadyTime due{};
        std::uint8_t qos = 1;
        MessageClass kind = MessageClass::Trigger;
        bool isPublication() const { return kind == MessageClass::Telemetry; }
        bool isRecorded = false; ///< it has an entry in the outbox of the records
    };
    struct PublicationRef {
        std::size_t sink;
        const Publication *publication;
    };
    Nanoseconds phaseOf(std::size_t publication) const;
    void send(std::size_t sink, OutboundMessage message, Open open, WallTime wall);
    bool mustRecord(const OutboundMessage &message);
    qsizetype publishStates(const PointStore &points, SteadyTime now, WallTime wall);
    std::size_t sinkOf(const QString &id) const;
    QByteArray topic(const QByteArray &below) const { return m_prefix + below; }

    const Design &m_design;
    const Outlets &m_outlets;
    Records &m_records;
    QByteArray m_prefix; ///< "gridloom/v1/{gateway}/"
    std::uint64_t m_nextId;
    std::uint64_t m_lastRecorded;
    std::unordered_map<std::uint64_t, Open> m_open; ///< by message id
    std::vector<PublicationRef> m_publicationList;
    Schedule<std::size_t> m_schedule;
    StateTopics m_states;
    struct Receipt {
        RecordNumber record;
        std::size_t sink;
    };
    std::deque<Receipt> m_receipts;                  ///< not yet durable ones that a sink waits for
    std::map<QString, OutboxLevelChanged> m_filling; ///< by sink
    Ledger m_messages;
    Ledger m_publications;
    Histogram m_latency;
};

} // namespace gridloom
