// SPDX-License-Identifier: Apache-2.0
#include "engine/driverrunner.h"

#include <QRegularExpression>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
class FakeDriver final : public Driver {
public:
    struct Log {
        std::vector<std::vector<PointHandle>> polls;
        std::vector<WriteId> writes;
        int stops = 0;
    };
    FakeDriver(Log &log, bool isConfigurable) : m_log(log), m_isConfigurable(isConfigurable) {}
    Result<void> configure(const QJsonObject &, const QList<DeviceBinding> &) override
    {
        if (m_isConfigurable)
            return {};
        return Error{QStringLiteral("test.refused"), QStringLiteral("refused")};
    }
    void start() override {}
    void poll(std::span<const PointHandle> due) override { m_log.polls.emplace_back(due.begin(), due.end()); }
    void write(const WriteRequest &request) override { m_log.writes.push_back(request.id); }
    void stop() override { ++m_log.stops; }
    DriverStatistics statistics() const override { return {.reads = m_log.polls.size()}; }

private:
    Log &m_log;
    bool m_isConfigurable;
};

class FakeFactory final : public DriverFactory {
public:
    std::unique_ptr<Driver> createDriver(DriverHost &, const Clock &) override
    {
        return std::make_unique<FakeDriver>(log, isConfigurable);
    }
    FakeDriver::Log log;
    bool isConfigurable = true;
};

Point point(PointHandle handle, Milliseconds period, PointKind kind = PointKind::Measured)
{
    Point p;
    p.handle = handle;
    p.period = period;
    p.kind = kind;
    return p;
}
} // namespace

class DriverRunnerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void pollsOnTheGridByPeriod();
    void missedDuesAreOfferedAndCounted();
    void pollPhasesLeaveTheSecondHalfFree();
    void withoutDriverEveryDueIsAnsweredBad();
    void whatTheInboxRefusesIsCounted();
    void answersThatNobodyAskedForAreDropped();

private:
    std::unique_ptr<DriverRunner> runner(std::size_t inboxCapacity = 16)
    {
        m_inbox = std::make_unique<EngineInbox>(inboxCapacity);
        return std::make_unique<DriverRunner>(m_channel, std::vector<const Device *>{&m_device}, *m_inbox, m_clock);
    }
    Channel m_channel;
    Device m_device;
    FakeClock m_clock;
    FakeFactory m_factory;
    std::unique_ptr<EngineInbox> m_inbox;
};

void DriverRunnerTest::init()
{
    m_clock = FakeClock();
    m_factory.log = {};
    m_factory.isConfigurable = true;
    m_channel.id = QStringLiteral("bus");
    m_device.points = {point(0, 1000ms), point(1, 1000ms), point(2, 200ms), point(3, 1000ms, PointKind::Computed)};
}

void DriverRunnerTest::pollsOnTheGridByPeriod()
{
    auto r = runner();
    QVERIFY(r->open(m_factory).ok());
    r->start();
    std::size_t slow = 0;
    std::size_t fast = 0;
    for (int ms = 0; ms < 2000; ++ms) {
        m_clock.advance(1ms);
        r->poll(m_clock.steadyNow());
    }
    for (const auto &poll : m_factory.log.polls) {
        if (poll == std::vector<PointHandle>{0, 1})
            ++slow;
        else if (poll == std::vector<PointHandle>{2})
            ++fast;
        else
            QFAIL("a poll of other points");
    }
    QCOMPARE(slow, std::size_t(2));
    QCOMPARE(fast, std::size_t(10));
    QCOMPARE(r->offered(), std::uint64_t(2 * 2 + 10));
    QCOMPARE(r->missed(), std::uint64_t(0));
}

void DriverRunnerTest::missedDuesAreOfferedAndCounted()
{
    m_device.points = {point(0, 100ms), point(1, 100ms)};
    auto r = runner();
    QVERIFY(r->open(m_factory).ok());
    r->start();
    m_clock.advance(1s); // ten dues passed while the thread was away
    r->poll(m_clock.steadyNow());
    QCOMPARE(m_factory.log.polls.size(), std::size_t(1));
    QCOMPARE(r->offered(), std::uint64_t(20));
    QCOMPARE(r->missed(), std::uint64_t(18));
}

void DriverRunnerTest::pollPhasesLeaveTheSecondHalfFree()
{
    for (int i = 0; i < 50; ++i) {
        m_channel.id = QStringLiteral("bus-%1").arg(i);
        m_device.points = {point(0, 1000ms)};
        auto r = runner();
        QVERIFY(r->open(m_factory).ok());
        r->start();
        const auto due = r->poll(m_clock.steadyNow());
        QVERIFY(due->time_since_epoch() % 1s <= 400ms);
    }
}

void DriverRunnerTest::withoutDriverEveryDueIsAnsweredBad()
{
    m_factory.isConfigurable = false;
    auto r = runner();
    QVERIFY(!r->open(m_factory).ok());
    r->start();
    m_clock.advance(1s);
    r->poll(m_clock.steadyNow());
    std::vector<EngineEvent> events;
    m_inbox->drain(events);
    std::size_t answered = 0;
    for (const EngineEvent &event : events)
        for (const Sample &sample : std::get<SamplesArrived>(event).samples) {
            QCOMPARE(sample.quality, Quality::BadConfigurationError);
            QVERIFY(sample.value.isNull());
            ++answered;
        }
    QCOMPARE(answered + r->missed(), r->offered());
    r->write({.id = 9});
    events.clear();
    m_inbox->drain(events);
    QCOMPARE(std::get<WriteFinished>(events.at(0)).result.state, WriteResult::State::Rejected);
}

void DriverRunnerTest::whatTheInboxRefusesIsCounted()
{
    auto r = runner(1);
    QVERIFY(r->open(m_factory).ok());
    r->start();
    for (int i = 0; i < 3; ++i) {
        m_clock.advance(1s);
        r->poll(m_clock.steadyNow());
    }
    const Sample sample{0, Quality::Good, Value(1), {}, {}};
    const std::vector<Sample> batch(3, sample);
    r->publish(batch);
    QCOMPARE(r->dropped(), std::uint64_t(0));
    r->publish(batch);
    QCOMPARE(r->dropped(), std::uint64_t(3));
    r->writeFinished(1, {}); // control is never refused
    std::vector<EngineEvent> events;
    QCOMPARE(m_inbox->drain(events), std::size_t(2));
}

void DriverRunnerTest::answersThatNobodyAskedForAreDropped()
{
    auto r = runner();
    QVERIFY(r->open(m_factory).ok());
    const auto says = QRegularExpression(QStringLiteral("was not asked for"));
    const Sample sample{0, Quality::Good, Value(1), {}, {}};
    QTest::ignoreMessage(QtCriticalMsg, says);
    r->publish({&sample, 1}); // nothing was polled yet
    r->start();
    m_clock.advance(1s);
    r->poll(m_clock.steadyNow());
    const Sample foreign{77, Quality::Good, Value(1), {}, {}};
    QTest::ignoreMessage(QtCriticalMsg, says);
    r->publish({&foreign, 1});
    r->publish({&sample, 1});
    std::vector<EngineEvent> events;
    QCOMPARE(m_inbox->drain(events), std::size_t(1));
}

QTEST_APPLESS_MAIN(DriverRunnerTest)
#include "tst_driverrunner.moc"
