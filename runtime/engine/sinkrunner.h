// SPDX-License-Identifier: Apache-2.0
// SinkRunner: one sink at run time, on a thread of its own with an event loop. What it owes lies in an Outbox, which
// decides what is sent when; this moves messages between engine, outbox and sink, and bounds what comes in.
#pragma once

#include "engine/eventloopwakeup.h"
#include "engine/events.h"
#include "engine/outbox.h"
#include "sdk/sink.h"

#include <QThread>
#include <QTimer>

#include <memory>
#include <mutex>

namespace gridloom {

class SinkRunner final : public SinkHost {
public:
    /// Longest payload of a command, bytes.
    static constexpr qsizetype kLongestCommand = 64 * 1024;

    SinkRunner(const SinkDefinition &definition, QByteArray topicPrefix, EngineInbox &inbox, const Clock &clock);
    ~SinkRunner() override;

    /// Starts the thread and the sink. Blocks until the sink is configured. `pending`: what an earlier run left.
    Result<void> start(SinkFactory &factory, std::vector<OutboundMessage> pending);
    /// Engine thread; never blocks.
    void send(OutboundMessage message);
    /// The receipts of `n` messages whose end was reported with isBacklog are durable. Engine thread; never blocks.
    void settled(std::size_t n);
    void stop();

    const SinkDefinition &definition() const { return m_definition; }
    struct Statistics {
        bool isConnected = false;
        std::size_t waiting = 0;                              ///< sent ones without acknowledgement included
        qint64 bytes = 0;                                     ///< of these
        std::array<std::uint64_t, kMessageClasses> dropped{}; ///< by class, because of the quota
        QString why;                                          ///< of the last disconnect
    };
    Statistics statistics() const; ///< any thread

    void delivered(std::uint64_t messageId) override;
    void failed(std::uint64_t messageId, const Error &error) override;
    void connectionChanged(bool isConnected, const Error &why) override;
    void messageReceived(const QByteArray &topic, const QByteArray &payload, bool isRetained) override;

private:
    struct Settled {
        std::size_t messages = 0;
    };
    using Task = std::variant<OutboundMessage, Settled>;
    void runQueued();
    void fillWindow();
    void armTimer();
    void reportLevel();
    void publishStatistics();
    void ended(const OutboundMessage &message, Outcome outcome, bool isBacklog, const QString &why);
    bool mayCommand(Outbox::Time now);

    const SinkDefinition &m_definition;
    const QByteArray m_topicPrefix;
    EngineInbox &m_inbox;
    const Clock &m_clock;
    QThread m_thread;
    BoundedQueue<Task> m_queue{1024};

    // The sink's thread only.
    std::unique_ptr<EventLoopWakeUp> m_wakeUp;
    std::unique_ptr<Sink> m_sink;
    std::unique_ptr<QTimer> m_timer; ///< for the outbox's next take()
    Outbox m_outbox;
    std::vector<Task> m_taken;
    bool m_isFilling = false;
    double m_commandAllowance = 0;
    Outbox::Time m_commandAllowedAt{};
    std::uint64_t m_commandsBeyondRate = 0; ///< not yet reported
    Outbox::Time m_beyondRateReported{};

    mutable std::mutex m_statisticsMutex;
    Statistics m_statistics;
};

} // namespace gridloom
