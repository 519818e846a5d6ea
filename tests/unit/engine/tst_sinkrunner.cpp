// SPDX-License-Identifier: Apache-2.0
#include "engine/sinkrunner.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
// What the fake sink holds; guarded, since the runner has a thread of its own.
struct SinkState {
    std::mutex mutex;
    std::vector<std::uint64_t> sent;
    SinkHost *host = nullptr;
};

class FakeSink final : public Sink {
public:
    FakeSink(SinkHost &host, SinkState &state) : m_state(state) { m_state.host = &host; }
    Result<void> configure(const QJsonObject &, const QByteArray &) override { return {}; }
    void start() override {}
    void send(std::span<const OutboundMessage> messages) override
    {
        const std::lock_guard lock(m_state.mutex);
        for (const OutboundMessage &message : messages)
            m_state.sent.push_back(message.id);
    }
    void stop() override {}
    SinkStatistics statistics() const override { return {}; }

private:
    SinkState &m_state;
};

class FakeFactory final : public SinkFactory {
public:
    std::unique_ptr<Sink> createSink(SinkHost &host, const Clock &) override
    {
        loop = new QObject; // lives in the sink's thread: calls of the "library" are posted to it
        return std::make_unique<FakeSink>(host, state);
    }
    SinkState state;
    QObject *loop = nullptr;
};

const Error kLost{QStringLiteral("test.lost"), QStringLiteral("connection lost"), true};

OutboundMessage message(std::uint64_t id)
{
    return {id, "t", "{}", 1, false};
}
} // namespace

class SinkRunnerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void holdsAtMostTheWindow();
    void afterALossTheOldestGoesFirst();
    void pendingOfAnEarlierRunGoesFirst();
    void aSecondAcknowledgementIsIgnored();
    void whatCanNeverBeSentLeaves();
    void whatOverflowsIsShedOldestFirst();

private:
    void start(std::vector<OutboundMessage> pending = {});
    void connectSink(bool isConnected);
    void onLoop(const std::function<void()> &call)
    {
        QMetaObject::invokeMethod(m_factory->loop, call, Qt::BlockingQueuedConnection);
    }
    std::vector<std::uint64_t> sent() const
    {
        const std::lock_guard lock(m_factory->state.mutex);
        return m_factory->state.sent;
    }
    std::unique_ptr<FakeFactory> m_factory;
    std::unique_ptr<EngineInbox> m_inbox;
    std::unique_ptr<SinkRunner> m_runner;
    SinkDefinition m_definition;
    SystemClock m_clock;
};

void SinkRunnerTest::init()
{
    m_factory = std::make_unique<FakeFactory>();
    m_inbox = std::make_unique<EngineInbox>(64);
    m_definition.id = QStringLiteral("s");
    m_runner = std::make_unique<SinkRunner>(m_definition, "gridloom/v1/gw", *m_inbox, m_clock);
}

void SinkRunnerTest::cleanup()
{
    onLoop([this] { m_factory->loop->deleteLater(); });
    m_runner.reset();
}

void SinkRunnerTest::start(std::vector<OutboundMessage> pending)
{
    QVERIFY(m_runner->start(*m_factory, std::move(pending)).ok());
}

void SinkRunnerTest::connectSink(bool isConnected)
{
    onLoop([=, this] { m_factory->state.host->connectionChanged(isConnected, {}); });
}

void SinkRunnerTest::holdsAtMostTheWindow()
{
    start();
    for (std::uint64_t id = 1; id <= 50; ++id)
        m_runner->send(message(id), false);
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(50));
    QVERIFY(sent().empty()); // not connected
    connectSink(true);
    QCOMPARE(sent().size(), kSinkWindow);
    onLoop([this] { m_factory->state.host->delivered(1); });
    QCOMPARE(sent().size(), kSinkWindow + 1);
    QCOMPARE(sent().back(), std::uint64_t(21));
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    QCOMPARE(events.size(), std::size_t(1));
    QCOMPARE(std::get<MessageEnded>(events[0]).messageId, std::uint64_t(1));
    QCOMPARE(std::get<MessageEnded>(events[0]).outcome, Outcome::Done);
}

void SinkRunnerTest::afterALossTheOldestGoesFirst()
{
    start();
    connectSink(true);
    for (std::uint64_t id = 1; id <= 3; ++id)
        m_runner->send(message(id), false);
    QTRY_COMPARE(sent().size(), std::size_t(3));
    onLoop([this] {
        SinkHost &host = *m_factory->state.host;
        host.delivered(2);
        for (const std::uint64_t id : {1U, 3U})
            host.failed(id, kLost);
        host.connectionChanged(false, {});
    });
    m_runner->send(message(4), false);
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(3));
    connectSink(true);
    QCOMPARE(sent(), (std::vector<std::uint64_t>{1, 2, 3, 1, 3, 4}));
}

void SinkRunnerTest::pendingOfAnEarlierRunGoesFirst()
{
    start({message(1), message(2)});
    m_runner->send(message(3), false);
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(3));
    connectSink(true);
    QCOMPARE(sent(), (std::vector<std::uint64_t>{1, 2, 3}));
}

void SinkRunnerTest::aSecondAcknowledgementIsIgnored()
{
    start();
    connectSink(true);
    m_runner->send(message(1), false);
    QTRY_COMPARE(sent().size(), std::size_t(1));
    onLoop([this] {
        m_factory->state.host->delivered(1);
        m_factory->state.host->delivered(1);
    });
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    QCOMPARE(events.size(), std::size_t(1));
}

// A message that the broker will never take must not hold the others up for ever.
void SinkRunnerTest::whatCanNeverBeSentLeaves()
{
    start();
    connectSink(true);
    m_runner->send(message(1), false);
    m_runner->send(message(2), false);
    QTRY_COMPARE(sent().size(), std::size_t(2));
    onLoop([this] {
        m_factory->state.host->failed(1, {QStringLiteral("test.tooLarge"), QStringLiteral("too large"), false});
    });
    QCOMPARE(m_runner->statistics().waiting, std::size_t(1));
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    QCOMPARE(events.size(), std::size_t(1));
    QCOMPARE(std::get<MessageEnded>(events[0]).outcome, Outcome::Failed);
    QCOMPARE(std::get<MessageEnded>(events[0]).why, QStringLiteral("too large"));
}

void SinkRunnerTest::whatOverflowsIsShedOldestFirst()
{
    start();
    m_runner->send(message(1), false); // an alarm stays
    for (std::uint64_t id = 2; id <= SinkRunner::kMaxWaiting + 3; ++id)
        m_runner->send(message(id), true);
    QTRY_COMPARE(m_inbox->size(), std::size_t(3));
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto &ended = std::get<MessageEnded>(events[i]);
        QCOMPARE(ended.messageId, std::uint64_t(i + 2));
        QCOMPARE(ended.outcome, Outcome::Discarded);
    }
}

QTEST_GUILESS_MAIN(SinkRunnerTest)
#include "tst_sinkrunner.moc"
