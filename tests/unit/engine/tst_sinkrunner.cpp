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
    QByteArray filter;
    SinkHost *host = nullptr;
};

class FakeSink final : public Sink {
public:
    FakeSink(SinkHost &host, SinkState &state) : m_state(state) { m_state.host = &host; }
    Result<void> configure(const QJsonObject &, const QByteArray &) override { return {}; }
    Result<void> subscribe(const QByteArray &filter) override
    {
        m_state.filter = filter;
        return {};
    }
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
    void theLevelOfTheOutboxIsReported();
    void aRefusedMessageIsTriedAgain();
    void commandsAreBounded();
    void withoutCommandsNothingIsSubscribed();

private:
    void start(std::vector<OutboundMessage> pending = {});
    void connectSink(bool isConnected);
    /// Events of this kind that reached the engine, of all there are.
    template<typename T>
    std::vector<T> taken()
    {
        std::vector<EngineEvent> events;
        m_inbox->drain(events);
        std::vector<T> found;
        for (const EngineEvent &event : events)
            if (const T *one = std::get_if<T>(&event))
                found.push_back(*one);
        return found;
    }
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
    m_definition = {};
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
    connectSink(true);
    for (std::uint64_t id = 1; id <= 50; ++id)
        m_runner->send(message(id));
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(50));
    QCOMPARE(sent().size(), kSinkWindow);
    onLoop([this] { m_factory->state.host->delivered(1); });
    QCOMPARE(sent().size(), kSinkWindow + 1);
    QCOMPARE(sent().back(), std::uint64_t(21));
    const auto ended = taken<MessageEnded>();
    QCOMPARE(ended.size(), std::size_t(1));
    QCOMPARE(ended[0].messageId, std::uint64_t(1));
    QCOMPARE(ended[0].outcome, Outcome::Done);
    QVERIFY(!ended[0].isBacklog);
}

void SinkRunnerTest::afterALossTheOldestGoesFirst()
{
    start();
    connectSink(true);
    for (std::uint64_t id = 1; id <= 3; ++id)
        m_runner->send(message(id));
    QTRY_COMPARE(sent().size(), std::size_t(3));
    onLoop([this] {
        SinkHost &host = *m_factory->state.host;
        host.delivered(2);
        for (const std::uint64_t id : {1U, 3U})
            host.failed(id, kLost);
        host.connectionChanged(false, {});
    });
    m_runner->send(message(4));
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(3));
    connectSink(true);
    QCOMPARE(sent(), (std::vector<std::uint64_t>{1, 2, 3, 1, 3, 4}));
}

void SinkRunnerTest::pendingOfAnEarlierRunGoesFirst()
{
    start({message(1), message(2)});
    m_runner->send(message(3));
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(3));
    connectSink(true);
    QCOMPARE(sent(), (std::vector<std::uint64_t>{1, 2, 3}));
}

void SinkRunnerTest::aSecondAcknowledgementIsIgnored()
{
    start();
    connectSink(true);
    m_runner->send(message(1));
    QTRY_COMPARE(sent().size(), std::size_t(1));
    onLoop([this] {
        m_factory->state.host->delivered(1);
        m_factory->state.host->delivered(1);
    });
    QCOMPARE(taken<MessageEnded>().size(), std::size_t(1));
}

// A message that the broker will never take must not hold the others up for ever.
void SinkRunnerTest::whatCanNeverBeSentLeaves()
{
    start();
    connectSink(true);
    m_runner->send(message(1));
    m_runner->send(message(2));
    QTRY_COMPARE(sent().size(), std::size_t(2));
    onLoop([this] {
        m_factory->state.host->failed(1, {QStringLiteral("test.tooLarge"), QStringLiteral("too large"), false});
    });
    QTRY_COMPARE(m_runner->statistics().waiting, std::size_t(1));
    const auto ended = taken<MessageEnded>();
    QCOMPARE(ended.size(), std::size_t(1));
    QCOMPARE(ended[0].outcome, Outcome::Failed);
    QCOMPARE(ended[0].why, QStringLiteral("too large"));
}

void SinkRunnerTest::theLevelOfTheOutboxIsReported()
{
    m_definition.outboxQuota = 1'000;
    m_runner = std::make_unique<SinkRunner>(m_definition, "gridloom/v1/gw", *m_inbox, m_clock);
    start();
    OutboundMessage large = message(1);
    large.payload = QByteArray(99, ' ');
    for (; large.id <= 7; ++large.id)
        m_runner->send(large);
    QTRY_COMPARE(m_runner->statistics().bytes, qint64(700));
    QVERIFY(taken<OutboxLevelChanged>().empty());
    for (; large.id <= 12; ++large.id)
        m_runner->send(large); // two of them find no place
    QTRY_COMPARE(m_runner->statistics().dropped[static_cast<std::size_t>(MessageClass::Trigger)], 2u);
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    std::vector<std::uint64_t> discarded;
    int levels = 0;
    for (const EngineEvent &event : events) {
        if (const auto *ended = std::get_if<MessageEnded>(&event); ended && ended->outcome == Outcome::Discarded)
            discarded.push_back(ended->messageId);
        if (const auto *level = std::get_if<OutboxLevelChanged>(&event)) {
            ++levels;
            QVERIFY(level->isFilling);
            QVERIFY(level->bytes >= 800);
            QCOMPARE(level->quota, qint64(1'000));
        }
    }
    QCOMPARE(discarded, (std::vector<std::uint64_t>{1, 2}));
    QCOMPARE(levels, 1);
    connectSink(true);
    QTRY_COMPARE(sent().size(), std::size_t(10));
    for (std::uint64_t id = 3; id <= 6; ++id)
        onLoop([=, this] { m_factory->state.host->delivered(id); });
    QVERIFY(taken<OutboxLevelChanged>().empty()); // 60 % is not below 60 %
    onLoop([this] { m_factory->state.host->delivered(7); });
    const auto cleared = taken<OutboxLevelChanged>();
    QCOMPARE(cleared.size(), std::size_t(1));
    QVERIFY(!cleared[0].isFilling);
}

void SinkRunnerTest::aRefusedMessageIsTriedAgain()
{
    start();
    connectSink(true);
    m_runner->send(message(1));
    QTRY_COMPARE(sent().size(), std::size_t(1));
    onLoop([this] {
        m_factory->state.host->failed(1, {QStringLiteral("test.busy"), QStringLiteral("not now"), true});
    });
    QTRY_COMPARE(sent(), (std::vector<std::uint64_t>{1, 1})); // after a second, without anything else happening
    QVERIFY(taken<MessageEnded>().empty());
}

void SinkRunnerTest::commandsAreBounded()
{
    m_definition.acceptsCommands = true;
    start();
    QCOMPARE(m_factory->state.filter, QByteArray("cmd/+"));
    onLoop([this] {
        SinkHost &host = *m_factory->state.host;
        host.messageReceived("gridloom/v1/gw/cmd/reply", "{}", false); // our own answers come back
        host.messageReceived("gridloom/v1/other/cmd/write", "{}", false);
        host.messageReceived("gridloom/v1/gw/cmd/write", QByteArray(70'000, 'x'), true);
        for (int i = 0; i < 5'000; ++i)
            host.messageReceived("gridloom/v1/gw/cmd/ack", "{}", false);
    });
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    std::vector<CommandArrived> arrived;
    std::uint64_t beyond = 0;
    std::size_t reports = 0;
    for (const EngineEvent &event : events) {
        if (const auto *command = std::get_if<CommandArrived>(&event))
            arrived.push_back(*command);
        if (const auto *refused = std::get_if<CommandsBeyondRate>(&event)) {
            beyond += refused->commands;
            ++reports;
        }
    }
    QCOMPARE(arrived[0].verb, QByteArray("write"));
    QCOMPARE(arrived[0].payload.size(), SinkRunner::kLongestCommand);
    QVERIFY(arrived[0].isTooLong && arrived[0].isRetained);
    QCOMPARE(arrived[1].verb, QByteArray("ack"));
    QVERIFY(!arrived[1].isTooLong && !arrived[1].isRetained);
    QVERIFY2(arrived.size() >= 100 && arrived.size() < 150, qPrintable(QString::number(arrived.size())));
    QVERIFY2(reports >= 1 && reports < 50, qPrintable(QString::number(reports)));
    QVERIFY(beyond >= 1);
}

void SinkRunnerTest::withoutCommandsNothingIsSubscribed()
{
    m_definition.acceptsCommands = false;
    start();
    QVERIFY(m_factory->state.filter.isEmpty());
}

QTEST_GUILESS_MAIN(SinkRunnerTest)
#include "tst_sinkrunner.moc"
