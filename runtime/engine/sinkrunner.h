// SPDX-License-Identifier: Apache-2.0
// SinkRunner: one sink at run time, on a thread of its own with an event loop. It owns what waits to be sent, the window
// of unacknowledged messages and the retry. A message leaves only when it is acknowledged; per topic they go out in
// order, since one that failed is sent again before anything newer.
#pragma once

#include "engine/eventloopwakeup.h"
#include "engine/events.h"
#include "sdk/sink.h"

#include <QThread>
#include <QTimer>

#include <deque>
#include <memory>
#include <mutex>

namespace gridloom {

class SinkRunner final : public SinkHost {
public:
    /// Most messages that wait in memory; beyond it the oldest periodic publication is dropped and counted.
    static constexpr std::size_t kMaxWaiting = 20'000;

    SinkRunner(const SinkDefinition &definition, QByteArray topicPrefix, EngineInbox &inbox, const Clock &clock);
    ~SinkRunner() override;

    /// Starts the thread and the sink. Blocks until the sink is configured. `pending`: what an earlier run left.
    Result<void> start(SinkFactory &factory, std::vector<OutboundMessage> pending);
    /// Engine thread; never blocks. `isSheddable`: telemetry, the first to go when the queue is full.
    void send(OutboundMessage message, bool isSheddable);
    void stop();

    const SinkDefinition &definition() const { return m_definition; }
    struct Statistics {
        bool isConnected = false;
        std::size_t waiting = 0; ///< sent ones without acknowledgement included
        QString why;             ///< of the last disconnect
    };
    Statistics statistics() const; ///< any thread

    void delivered(std::uint64_t messageId) override;
    void failed(std::uint64_t messageId, const Error &error) override;
    void connectionChanged(bool isConnected, const Error &why) override;

private:
    struct Waiting {
        OutboundMessage message;
        bool isSheddable = false;
        bool isHeld = false; ///< by the sink
    };
    void takeQueued();
    void shed();
    void fillWindow();
    void publishStatistics();

    const SinkDefinition &m_definition;
    const QByteArray m_topicPrefix;
    EngineInbox &m_inbox;
    const Clock &m_clock;
    QThread m_thread;
    BoundedQueue<Waiting> m_queue{1024};

    // The sink's thread only.
    std::unique_ptr<EventLoopWakeUp> m_wakeUp;
    std::unique_ptr<Sink> m_sink;
    std::unique_ptr<QTimer> m_retryTimer;
    std::deque<Waiting> m_waiting; ///< oldest first; held ones are among the first
    std::vector<Waiting> m_taken;
    std::size_t m_held = 0;
    bool m_isConnected = false;

    mutable std::mutex m_statisticsMutex;
    Statistics m_statistics;
};

} // namespace gridloom
