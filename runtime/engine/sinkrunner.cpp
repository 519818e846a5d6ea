// SPDX-License-Identifier: Apache-2.0
#include "engine/sinkrunner.h"

#include "engine/runinthread.h"

#include <chrono>

namespace gridloom {

namespace {
constexpr std::chrono::milliseconds kRetryAfter{1'000};
}

SinkRunner::SinkRunner(const SinkDefinition &definition, QByteArray topicPrefix, EngineInbox &inbox, const Clock &clock)
    : m_definition(definition), m_topicPrefix(std::move(topicPrefix)), m_inbox(inbox), m_clock(clock)
{
    m_thread.setObjectName(QStringLiteral("sink-") + definition.id);
}

SinkRunner::~SinkRunner()
{
    stop();
}

Result<void> SinkRunner::start(SinkFactory &factory, std::vector<OutboundMessage> pending)
{
    Result<void> configured;
    for (OutboundMessage &message : pending)
        m_waiting.push_back({std::move(message), false, false});
    m_thread.start();
    runInThread(m_thread, [&] {
        m_wakeUp = std::make_unique<EventLoopWakeUp>([this] { takeQueued(); });
        m_queue.setWakeUp([this] { m_wakeUp->notify(); });
        m_retryTimer = std::make_unique<QTimer>();
        m_retryTimer->setSingleShot(true);
        QObject::connect(m_retryTimer.get(), &QTimer::timeout, m_retryTimer.get(), [this] { fillWindow(); });
        m_sink = factory.createSink(*this, m_clock);
        configured = m_sink->configure(m_definition.params, m_topicPrefix);
        if (configured)
            m_sink->start();
        publishStatistics();
    });
    return configured;
}

void SinkRunner::send(OutboundMessage message, bool isSheddable)
{
    m_queue.pushAlways({std::move(message), isSheddable, false});
}

void SinkRunner::stop()
{
    if (!m_thread.isRunning())
        return;
    runInThread(m_thread, [this] {
        m_queue.close();
        m_retryTimer.reset();
        m_sink->stop();
        m_sink.reset();
        m_wakeUp->stopListening(); // it stays: a producer may just be about to notify it
    });
    m_thread.quit();
    m_thread.wait();
}

SinkRunner::Statistics SinkRunner::statistics() const
{
    const std::lock_guard lock(m_statisticsMutex);
    return m_statistics;
}

void SinkRunner::takeQueued()
{
    m_taken.clear();
    m_queue.drain(m_taken);
    for (Waiting &item : m_taken)
        m_waiting.push_back(std::move(item));
    shed();
    fillWindow();
}

void SinkRunner::shed()
{
    while (m_waiting.size() > kMaxWaiting) {
        const auto oldest = std::find_if(m_waiting.begin(), m_waiting.end(),
                                         [](const Waiting &w) { return w.isSheddable && !w.isHeld; });
        if (oldest == m_waiting.end())
            return; // alarms and acknowledgements are bounded by what produces them
        m_inbox.pushAlways(MessageEnded{m_definition.id, oldest->message.id, Outcome::Discarded,
                                        QStringLiteral("the outbox is full"), m_clock.steadyNow()});
        m_waiting.erase(oldest);
    }
}

void SinkRunner::fillWindow()
{
    if (m_isConnected && m_held < kSinkWindow) {
        std::vector<OutboundMessage> next;
        for (Waiting &item : m_waiting) {
            if (m_held == kSinkWindow)
                break;
            if (item.isHeld)
                continue;
            item.isHeld = true;
            ++m_held;
            next.push_back(item.message);
        }
        if (!next.empty())
            m_sink->send(next);
    }
    publishStatistics();
}

void SinkRunner::publishStatistics()
{
    const std::lock_guard lock(m_statisticsMutex);
    m_statistics.isConnected = m_isConnected;
    m_statistics.waiting = m_waiting.size();
}

void SinkRunner::delivered(std::uint64_t messageId)
{
    const auto item = std::find_if(m_waiting.begin(), m_waiting.end(),
                                   [=](const Waiting &w) { return w.isHeld && w.message.id == messageId; });
    if (item == m_waiting.end())
        return; // a second acknowledgement of the same message
    m_waiting.erase(item);
    --m_held;
    m_inbox.pushAlways(MessageEnded{m_definition.id, messageId, Outcome::Done, {}, m_clock.steadyNow()});
    fillWindow();
}

void SinkRunner::failed(std::uint64_t messageId, const Error &error)
{
    const auto item = std::find_if(m_waiting.begin(), m_waiting.end(),
                                   [=](const Waiting &w) { return w.isHeld && w.message.id == messageId; });
    if (item == m_waiting.end())
        return;
    --m_held;
    if (!error.isRetryable) {
        m_waiting.erase(item);
        m_inbox.pushAlways(
            MessageEnded{m_definition.id, messageId, Outcome::Failed, error.message, m_clock.steadyNow()});
        publishStatistics();
        return;
    }
    item->isHeld = false;
    if (m_isConnected && m_retryTimer && !m_retryTimer->isActive())
        m_retryTimer->start(kRetryAfter);
}

void SinkRunner::connectionChanged(bool isConnected, const Error &why)
{
    m_isConnected = isConnected;
    if (!isConnected) {
        const std::lock_guard lock(m_statisticsMutex);
        m_statistics.why = why.message;
    }
    if (!m_sink)
        return;
    fillWindow();
}

} // namespace gridloom
