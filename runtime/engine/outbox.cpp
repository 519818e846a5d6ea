// SPDX-License-Identifier: Apache-2.0
#include "engine/outbox.h"

#include "engine/messages.h"

#include <algorithm>

namespace gridloom {

using namespace std::chrono_literals;

namespace {
/// What the backlog may have of the window; the rest is for what arises now.
constexpr std::size_t kBacklogWindow = kSinkWindow / 2;
/// And its rate: 36,000 messages in 72 s, without taking the engine's time from what arises now.
constexpr double kBacklogPerSecond = 500;
/// When the rate held it back: so many messages are taken at once.
constexpr std::chrono::milliseconds kBacklogPause{10};
/// Connections that end without any acknowledgement before as many messages as the window holds are tried one by one.
constexpr int kBarrenBeforeDoubt = 2;
constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kLongestRetry{60};
constexpr QLatin1String kNewerState("a newer state of its topic took its place");

constexpr MessageClass kDropOrder[] = {MessageClass::Telemetry, MessageClass::Trigger, MessageClass::State,
                                       MessageClass::Reply, MessageClass::Alarm};
constexpr MessageClass kSendOrder[] = {MessageClass::Reply, MessageClass::Alarm, MessageClass::Trigger,
                                       MessageClass::State};
} // namespace

Outbox::Outbox(QByteArray topicPrefix, qsizetype quota, Ended ended)
    : m_prefix(std::move(topicPrefix) + '/'), m_quota(quota), m_ended(std::move(ended))
{
}

void Outbox::add(OutboundMessage message)
{
    m_newestId = std::max(m_newestId, message.id);
    m_bytes += messageBytes(message);
    if (message.kind != MessageClass::Telemetry || !m_isConnected)
        enqueue(std::move(message));
    else
        m_liveTelemetry.pushBack(std::move(message));
    enforceQuota();
}

void Outbox::adopt(OutboundMessage message)
{
    m_newestId = std::max(m_newestId, message.id);
    m_bytes += messageBytes(message);
    enqueue(std::move(message));
    enforceQuota();
}

/// At the end of its class; telemetry as backfill.
void Outbox::enqueue(OutboundMessage message)
{
    if (message.kind == MessageClass::State)
        putState(std::move(message));
    else if (message.kind == MessageClass::Telemetry)
        queue(message.kind).pushBack(asBackfill(std::move(message)));
    else
        queue(message.kind).pushBack(std::move(message));
}

void Outbox::putState(OutboundMessage message)
{
    if (const auto older = m_states.put(std::move(message)))
        end(*older, Outcome::Discarded, false, kNewerState);
}

OutboundMessage Outbox::asBackfill(OutboundMessage message)
{
    if (message.isBackfill || !message.topic.startsWith(m_prefix))
        return message;
    m_bytes -= messageBytes(message);
    message.isBackfill = true;
    message.topic.insert(m_prefix.size(), "backfill/");
    message.payload = backfillPayload(message.payload);
    m_bytes += messageBytes(message);
    return message;
}

void Outbox::connected()
{
    m_isConnected = true;
    m_hasProgress = false;
    m_firstLive = m_newestId + 1;
}

void Outbox::disconnected(Time now)
{
    if (!std::exchange(m_isConnected, false))
        return;
    std::vector<Held> held = std::exchange(m_held, {});
    std::sort(held.begin(), held.end(), [](const Held &a, const Held &b) { return a.message.id < b.message.id; });
    const bool wasAlone = held.size() == 1 && m_doubtful > 0;
    m_barren = m_hasProgress ? 0 : m_barren + (held.empty() ? 0 : 1);
    if (m_barren >= kBarrenBeforeDoubt)
        m_doubtful = kSinkWindow;
    std::vector<OutboundMessage> live;
    for (Held &one : held) {
        const auto aside = m_aside.find(keyOf(one.message));
        const bool isSuspect = one.isOfAside && aside != m_aside.end() && aside->second.endsConnections;
        if (wasAlone || isSuspect)
            setAside(one, true, now);
        else if (aside != m_aside.end())
            putAside(aside->second, one);
        else if (one.message.kind == MessageClass::Telemetry && !one.message.isBackfill)
            live.push_back(std::move(one.message));
        else if (one.message.kind == MessageClass::State)
            putState(std::move(one.message));
        else
            queue(one.message.kind).putBack(std::move(one.message));
    }
    for (auto &[key, aside] : m_aside)
        if (!aside.endsConnections)
            aside.until = {}; // what one connection refused another one may take
    // Backfill in the order in which it arose.
    for (OutboundMessage &message : live)
        enqueue(std::move(message));
    while (!m_liveTelemetry.isEmpty())
        enqueue(m_liveTelemetry.popFront());
    enforceQuota();
}

std::vector<OutboundMessage> Outbox::take(Time now)
{
    std::vector<OutboundMessage> out;
    if (!m_isConnected)
        return out;
    std::vector<Held> kept;
    for (Held &one : std::exchange(m_held, {})) {
        if (one.hasFailed)
            setAside(one, false, now);
        else
            kept.push_back(std::move(one));
    }
    m_held = std::move(kept);
    const std::chrono::duration<double> passed = now - std::exchange(m_allowedAt, now);
    m_allowance = std::min(m_allowance + passed.count() * kBacklogPerSecond, static_cast<double>(kBacklogWindow));
    const std::size_t window = m_doubtful > 0 ? 1 : kSinkWindow;
    while (m_held.size() < window) {
        auto next = nextLive();
        if (!next)
            next = nextAside(now);
        if (!next)
            next = nextBacklog();
        if (!next)
            break;
        out.push_back(next->message);
        m_held.push_back(std::move(*next));
    }
    return out;
}

std::optional<Outbox::Held> Outbox::nextLive()
{
    if (!m_aside.empty()) {
        for (MessageQueue &queue : m_queues)
            moveAside(queue);
        moveAside(m_liveTelemetry);
        moveStatesAside();
    }
    MessageQueue *oldest = nullptr;
    const auto consider = [&](MessageQueue &queue) {
        if (!queue.isEmpty() && queue.front().id >= m_firstLive && (!oldest || queue.front().id < oldest->front().id))
            oldest = &queue;
    };
    for (const MessageClass kind : kSendOrder)
        consider(queue(kind));
    consider(m_liveTelemetry);
    if (!m_states.isEmpty() && m_states.front().id >= m_firstLive
        && (!oldest || m_states.front().id < oldest->front().id))
        return Held{m_states.popFront()};
    return oldest ? std::optional(Held{oldest->popFront()}) : std::nullopt;
}

std::optional<Outbox::Held> Outbox::nextAside(Time now)
{
    if (m_aside.empty() || backlogHeld() >= kBacklogWindow)
        return std::nullopt;
    for (auto &[key, aside] : m_aside) {
        if (aside.isHeld || aside.until > now || aside.queue.isEmpty())
            continue;
        aside.isHeld = true;
        return Held{aside.queue.popFront(), true, true};
    }
    return std::nullopt;
}

std::optional<Outbox::Held> Outbox::nextBacklog()
{
    if (backlogHeld() >= kBacklogWindow || m_allowance < 1)
        return std::nullopt;
    std::optional<Held> next;
    for (const MessageClass kind : kSendOrder) {
        MessageQueue &waiting = queue(kind);
        if (kind == MessageClass::State && !m_states.isEmpty() && m_states.front().id < m_firstLive)
            next = Held{m_states.popFront(), true};
        else if (!waiting.isEmpty() && waiting.front().id < m_firstLive)
            next = Held{waiting.popFront(), true};
        if (next)
            break;
    }
    if (!next && !queue(MessageClass::Telemetry).isEmpty())
        next = Held{queue(MessageClass::Telemetry).popFront(), true};
    if (next)
        m_allowance -= 1;
    return next;
}

bool Outbox::hasBacklog()
{
    const auto begins = [this](MessageClass kind) {
        return !queue(kind).isEmpty() && queue(kind).front().id < m_firstLive;
    };
    return !queue(MessageClass::Telemetry).isEmpty()
        || std::any_of(std::begin(kSendOrder), std::end(kSendOrder), begins)
        || (!m_states.isEmpty() && m_states.front().id < m_firstLive);
}

std::size_t Outbox::backlogHeld() const
{
    return m_unsettled + static_cast<std::size_t>(std::count_if(m_held.begin(), m_held.end(), [](const Held &one) {
               return one.isBacklog;
           }));
}

std::optional<Outbox::Time> Outbox::nextTake(Time now)
{
    if (!m_isConnected)
        return std::nullopt;
    if (std::any_of(m_held.begin(), m_held.end(), [](const Held &one) { return one.hasFailed; }))
        return now;
    std::optional<Time> next;
    if (backlogHeld() >= kBacklogWindow)
        return next; // an acknowledgement comes first
    for (const auto &[key, aside] : m_aside)
        if (!aside.isHeld && !aside.queue.isEmpty() && (!next || aside.until < *next))
            next = aside.until;
    if (m_allowance < 1 && hasBacklog() && (!next || now + kBacklogPause < *next))
        next = now + kBacklogPause;
    return next;
}

std::vector<Outbox::Held>::iterator Outbox::held(std::uint64_t messageId)
{
    return std::find_if(m_held.begin(), m_held.end(),
                        [=](const Held &one) { return one.message.id == messageId && !one.hasFailed; });
}

void Outbox::delivered(std::uint64_t messageId)
{
    const auto found = held(messageId);
    if (found == m_held.end())
        return; // a second acknowledgement of the same message
    const Held one = std::move(*found);
    m_held.erase(found);
    const bool isConfirmed = one.message.qos > 0;
    if (isConfirmed) {
        m_hasProgress = true;
        m_doubtful -= std::min<std::size_t>(m_doubtful, 1);
    }
    asideEnded(one);
    const bool mustSettle = one.isBacklog && isConfirmed;
    m_unsettled += mustSettle ? 1 : 0;
    end(one.message, Outcome::Done, mustSettle, {});
}

void Outbox::failed(std::uint64_t messageId, const Error &error)
{
    const auto found = held(messageId);
    if (found == m_held.end())
        return;
    if (error.isRetryable) {
        // Perhaps the connection is breaking: then disconnected() comes before the next take().
        found->hasFailed = true;
        return;
    }
    const Held one = std::move(*found);
    m_held.erase(found);
    asideEnded(one);
    end(one.message, Outcome::Failed, false, error.message);
}

/// A topic in trouble got rid of a message: the next one may go at once.
void Outbox::asideEnded(const Held &held)
{
    const auto aside = held.isOfAside ? m_aside.find(keyOf(held.message)) : m_aside.end();
    if (aside == m_aside.end())
        return;
    aside->second.isHeld = false;
    aside->second.attempts = 0;
    aside->second.until = {};
    if (aside->second.queue.isEmpty())
        m_aside.erase(aside);
}

void Outbox::setAside(const Held &held, bool endsConnections, Time now)
{
    Aside &aside = m_aside[keyOf(held.message)];
    aside.endsConnections = aside.endsConnections || endsConnections;
    aside.until = now + std::min(kFirstRetry * (1 << std::min(aside.attempts, 6)), kLongestRetry);
    ++aside.attempts;
    putAside(aside, held);
}

void Outbox::putAside(Aside &aside, const Held &held)
{
    aside.isHeld = aside.isHeld && !held.isOfAside;
    if (held.message.kind == MessageClass::State && !aside.queue.isEmpty())
        end(held.message, Outcome::Discarded, false, kNewerState);
    else
        aside.queue.putBack(held.message);
}

void Outbox::moveAside(MessageQueue &from)
{
    while (!from.isEmpty()) {
        const auto aside = m_aside.find(keyOf(from.front()));
        if (aside == m_aside.end())
            return;
        aside->second.queue.pushBack(from.popFront());
    }
}

void Outbox::moveStatesAside()
{
    while (!m_states.isEmpty()) {
        const auto aside = m_aside.find(keyOf(m_states.front()));
        if (aside == m_aside.end())
            return;
        MessageQueue &queue = aside->second.queue;
        if (!queue.isEmpty())
            end(queue.popFront(), Outcome::Discarded, false, kNewerState);
        queue.pushBack(m_states.popFront());
    }
}

std::size_t Outbox::size() const
{
    std::size_t n = m_held.size() + m_liveTelemetry.size() + m_states.size();
    for (const MessageQueue &queue : m_queues)
        n += queue.size();
    for (const auto &[key, aside] : m_aside)
        n += aside.queue.size();
    return n;
}

void Outbox::enforceQuota()
{
    for (const MessageClass kind : kDropOrder) {
        while (m_bytes > m_quota) {
            const auto dropped = dropOldest(kind);
            if (!dropped)
                break;
            ++m_dropped[static_cast<std::size_t>(kind)];
            end(*dropped, Outcome::Discarded, false, QStringLiteral("the outbox is full"));
        }
    }
}

std::optional<OutboundMessage> Outbox::dropOldest(MessageClass kind)
{
    if (kind == MessageClass::State)
        return m_states.isEmpty() ? dropAside(kind) : std::optional(m_states.popFront());
    // What is aside was taken from the queue's front; telemetry in trouble is live, and so newer than backfill.
    if (kind != MessageClass::Telemetry)
        if (auto oldest = dropAside(kind))
            return oldest;
    if (!queue(kind).isEmpty())
        return queue(kind).popFront();
    if (kind != MessageClass::Telemetry)
        return std::nullopt;
    if (auto oldest = dropAside(kind))
        return oldest;
    return m_liveTelemetry.isEmpty() ? std::nullopt : std::optional(m_liveTelemetry.popFront());
}

std::optional<OutboundMessage> Outbox::dropAside(MessageClass kind)
{
    for (auto it = m_aside.begin(); it != m_aside.end(); ++it) {
        if (it->first.first != kind || it->second.queue.isEmpty())
            continue;
        OutboundMessage message = it->second.queue.popFront();
        if (it->second.queue.isEmpty() && !it->second.isHeld)
            m_aside.erase(it);
        return message;
    }
    return std::nullopt;
}

void Outbox::end(const OutboundMessage &message, Outcome outcome, bool isBacklog, const QString &why)
{
    m_bytes -= messageBytes(message);
    m_ended(message, outcome, isBacklog, why);
}

} // namespace gridloom
