// SPDX-License-Identifier: Apache-2.0
#include "engine/sinkrunner.h"

#include "engine/runinthread.h"

#include <chrono>

namespace gridloom {

using namespace std::chrono_literals;

namespace {
/// Commands beyond these are not even looked at: a burst, and a rate in the long run.
constexpr double kCommandBurst = 100;
constexpr double kCommandsPerSecond = 20;
constexpr int kFillingPercent = 80;
constexpr int kNotFillingPercent = 60;
} // namespace

SinkRunner::SinkRunner(const SinkDefinition &definition, QByteArray topicPrefix, EngineInbox &inbox, const Clock &clock)
    : m_definition(definition), m_topicPrefix(std::move(topicPrefix)), m_inbox(inbox), m_clock(clock),
      m_outbox(m_topicPrefix, definition.outboxQuota,
               [this](const OutboundMessage &message, Outcome outcome, bool isBacklog, const QString &why) {
                   ended(message, outcome, isBacklog, why);
               }),
      m_commandAllowance(kCommandBurst)
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
        m_outbox.adopt(std::move(message));
    pending = {};
    m_thread.start();
    runInThread(m_thread, [&] {
        m_wakeUp = std::make_unique<EventLoopWakeUp>([this] { runQueued(); });
        m_queue.setWakeUp([this] { m_wakeUp->notify(); });
        m_timer = std::make_unique<QTimer>();
        m_timer->setSingleShot(true);
        m_timer->setTimerType(Qt::PreciseTimer);
        QObject::connect(m_timer.get(), &QTimer::timeout, m_timer.get(), [this] { fillWindow(); });
        m_sink = factory.createSink(*this, m_clock);
        configured = m_sink->configure(m_definition.params, m_topicPrefix);
        if (configured && m_definition.acceptsCommands)
            configured = m_sink->subscribe("cmd/+");
        if (configured)
            m_sink->start();
        reportLevel();
        publishStatistics();
    });
    return configured;
}

void SinkRunner::send(OutboundMessage message)
{
    m_queue.pushAlways(std::move(message));
}

void SinkRunner::settled(std::size_t n)
{
    m_queue.pushAlways(Settled{n});
}

void SinkRunner::stop()
{
    if (!m_thread.isRunning())
        return;
    runInThread(m_thread, [this] {
        m_queue.close();
        m_timer.reset();
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

void SinkRunner::runQueued()
{
    m_taken.clear();
    m_queue.drain(m_taken);
    for (Task &task : m_taken) {
        if (auto *message = std::get_if<OutboundMessage>(&task))
            m_outbox.add(std::move(*message));
        else
            m_outbox.settled(std::get<Settled>(task).messages);
    }
    m_taken.clear();
    fillWindow();
}

void SinkRunner::fillWindow()
{
    if (m_sink && m_outbox.isConnected())
        if (const auto next = m_outbox.take(std::chrono::steady_clock::now()); !next.empty())
            m_sink->send(next);
    armTimer();
    reportLevel();
    publishStatistics();
}

void SinkRunner::armTimer()
{
    if (!m_timer)
        return; // stopping
    const auto now = std::chrono::steady_clock::now();
    if (const auto next = m_outbox.nextTake(now))
        m_timer->start(std::chrono::ceil<std::chrono::milliseconds>(std::max(*next - now, Nanoseconds(0))));
    else
        m_timer->stop();
}

void SinkRunner::reportLevel()
{
    const auto percent = m_outbox.bytes() * 100 / m_outbox.quota();
    const bool isFilling = percent >= (m_isFilling ? kNotFillingPercent : kFillingPercent);
    if (isFilling == m_isFilling)
        return;
    m_isFilling = isFilling;
    m_inbox.pushAlways(OutboxLevelChanged{m_definition.id, isFilling, m_outbox.bytes(), m_outbox.quota()});
}

void SinkRunner::publishStatistics()
{
    const std::lock_guard lock(m_statisticsMutex);
    m_statistics.isConnected = m_outbox.isConnected();
    m_statistics.waiting = m_outbox.size();
    m_statistics.bytes = m_outbox.bytes();
    m_statistics.dropped = m_outbox.dropped();
}

void SinkRunner::ended(const OutboundMessage &message, Outcome outcome, bool isBacklog, const QString &why)
{
    m_inbox.pushAlways(MessageEnded{m_definition.id, message.id, outcome, why, m_clock.steadyNow(), isBacklog});
}

void SinkRunner::delivered(std::uint64_t messageId)
{
    m_outbox.delivered(messageId);
    fillWindow();
}

void SinkRunner::failed(std::uint64_t messageId, const Error &error)
{
    m_outbox.failed(messageId, error);
    // Not at once: the sink may be about to report that the connection is gone.
    if (m_timer)
        m_timer->start(0);
}

void SinkRunner::connectionChanged(bool isConnected, const Error &why)
{
    if (isConnected) {
        m_outbox.connected();
        m_inbox.pushAlways(SinkConnected{m_definition.id});
    } else {
        m_outbox.disconnected(std::chrono::steady_clock::now());
        const std::lock_guard lock(m_statisticsMutex);
        m_statistics.why = why.message;
    }
    fillWindow();
}

void SinkRunner::messageReceived(const QByteArray &topic, const QByteArray &payload, bool isRetained)
{
    if (!topic.startsWith(m_topicPrefix + "/cmd/"))
        return;
    const QByteArray verb = topic.sliced(m_topicPrefix.size() + 5);
    if (verb == "reply")
        return; // our own answers
    const auto now = std::chrono::steady_clock::now();
    const bool isAllowed = mayCommand(now);
    m_commandsBeyondRate += isAllowed ? 0 : 1;
    // A flood costs the engine one event a second.
    if (m_commandsBeyondRate > 0 && (isAllowed || now - m_beyondRateReported >= 1s)) {
        m_beyondRateReported = now;
        m_inbox.pushAlways(CommandsBeyondRate{m_definition.id, std::exchange(m_commandsBeyondRate, 0)});
    }
    if (isAllowed)
        m_inbox.pushAlways(CommandArrived{m_definition.id, verb,
                                          payload.first(std::min(payload.size(), kLongestCommand)), isRetained,
                                          payload.size() > kLongestCommand});
}

bool SinkRunner::mayCommand(Outbox::Time now)
{
    const std::chrono::duration<double> passed = now - std::exchange(m_commandAllowedAt, now);
    m_commandAllowance = std::min(m_commandAllowance + passed.count() * kCommandsPerSecond, kCommandBurst);
    if (m_commandAllowance < 1)
        return false;
    m_commandAllowance -= 1;
    return true;
}

} // namespace gridloom
