// SPDX-License-Identifier: Apache-2.0
// Outbox: what one sink still owes, the window of messages it has handed over, and the rules between them:
// - Order. Messages of one class and topic go out in order of their ids; one that comes back goes again before newer ones.
// - Live before backlog. What waits when a connection begins is backlog: it gets at most half of the window and a bounded
//   rate, the rest belongs to what arises now. Late telemetry goes out as backfill, marked and on topics of its own,
//   since live telemetry overtakes it; nothing else is ever overtaken on its topic.
// - State. Of a topic only the newest waits.
// - Quota, in bytes. Beyond it the oldest telemetry is dropped, then the oldest of scripts, state, replies, alarms last.
// - Trouble of one topic. A message that the receiver refuses for now, or that ends each connection it is sent on, is set
//   aside with its topic and tried again after 1 to 60 s; other topics go on.
// Pure; the thread of its owner. Times are real time: a network runs no faster with --speed.
#pragma once

#include "core/ledger.h"
#include "core/result.h"
#include "engine/messagequeue.h"
#include "engine/newestmessages.h"

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>

namespace gridloom {

class Outbox {
public:
    using Time = std::chrono::steady_clock::time_point;
    /// A message has left; `isBacklog`: settled() is due for it once the receipt is durable. Unless Done, `why` says it.
    using Ended = std::function<void(const OutboundMessage &, Outcome outcome, bool isBacklog, const QString &why)>;

    /// `topicPrefix` is "gridloom/v1/{gateway}"; `quota` in bytes of topics and payloads, at least 1.
    Outbox(QByteArray topicPrefix, qsizetype quota, Ended ended);

    /// One that arises now, with a higher id than all before. While not connected it is backlog at once.
    void add(OutboundMessage message);
    /// One that an earlier run left, oldest first; before add().
    void adopt(OutboundMessage message);

    void connected();
    /// Takes everything that was handed over back.
    void disconnected(Time now);
    bool isConnected() const { return m_isConnected; }

    /// Hands over what may be sent now; empty while not connected.
    std::vector<OutboundMessage> take(Time now);
    /// When take() may have more though nothing happens; nothing when it will not.
    std::optional<Time> nextTake(Time now);
    void delivered(std::uint64_t messageId);
    /// Not retryable: it ends as Failed. Otherwise the next take() or disconnected() decides what becomes of it.
    void failed(std::uint64_t messageId, const Error &error);
    /// The receipts of `n` messages of the backlog are durable. Until then they hold their places in the window, so that
    /// a kill repeats no more than those.
    void settled(std::size_t n) { m_unsettled -= std::min(n, m_unsettled); }

    std::size_t size() const;                   ///< handed over ones included
    qsizetype bytes() const { return m_bytes; } ///< of topics and payloads
    qsizetype quota() const { return m_quota; }
    /// Dropped because of the quota, by class.
    const std::array<std::uint64_t, kMessageClasses> &dropped() const { return m_dropped; }

private:
    struct Held {
        OutboundMessage message;
        bool isBacklog = false;
        bool isOfAside = false; ///< a try of a topic in trouble
        bool hasFailed = false; ///< refused; not yet decided
    };
    /// A topic in trouble.
    struct Aside {
        MessageQueue queue;
        Time until{};
        int attempts = 0;
        bool endsConnections = false;
        bool isHeld = false; ///< one at a time
    };
    using AsideKey = std::pair<MessageClass, QByteArray>;

    static AsideKey keyOf(const OutboundMessage &message) { return {message.kind, message.topic}; }

    MessageQueue &queue(MessageClass kind) { return m_queues[static_cast<std::size_t>(kind)]; }
    OutboundMessage asBackfill(OutboundMessage message);
    void enqueue(OutboundMessage message);
    void putState(OutboundMessage message);
    void setAside(const Held &held, bool endsConnections, Time now);
    void putAside(Aside &aside, const Held &held);
    void moveAside(MessageQueue &from);
    void moveStatesAside();
    void asideEnded(const Held &held);
    std::optional<Held> nextLive();
    std::optional<Held> nextAside(Time now);
    std::optional<Held> nextBacklog();
    bool hasBacklog();
    std::size_t backlogHeld() const;
    std::vector<Held>::iterator held(std::uint64_t messageId);
    void enforceQuota();
    std::optional<OutboundMessage> dropOldest(MessageClass kind);
    std::optional<OutboundMessage> dropAside(MessageClass kind);
    void end(const OutboundMessage &message, Outcome outcome, bool isBacklog, const QString &why);

    const QByteArray m_prefix; ///< with a slash
    const qsizetype m_quota;
    const Ended m_ended;
    std::array<MessageQueue, kMessageClasses> m_queues; ///< of telemetry: the backfill; of states: none
    MessageQueue m_liveTelemetry;
    NewestMessages m_states;
    std::map<AsideKey, Aside> m_aside;
    std::vector<Held> m_held;
    qsizetype m_bytes = 0; ///< of everything
    std::array<std::uint64_t, kMessageClasses> m_dropped{};
    std::uint64_t m_newestId = 0;
    std::uint64_t m_firstLive = 0; ///< smaller ids were there before this connection
    bool m_isConnected = false;
    bool m_hasProgress = false; ///< something was acknowledged on this connection
    int m_barren = 0;           ///< connections in a row that ended with messages out and none acknowledged
    std::size_t m_doubtful = 0; ///< messages still to be acknowledged one at a time: one of them may end connections
    std::size_t m_unsettled = 0;
    double m_allowance = 0; ///< of backlog messages, by the rate
    Time m_allowedAt{};
};

} // namespace gridloom
