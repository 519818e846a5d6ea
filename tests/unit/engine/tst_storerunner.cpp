// SPDX-License-Identifier: Apache-2.0
#include "engine/storerunner.h"

#include <QTest>

using namespace gridloom;

namespace {
class FakeStore final : public Store {
public:
    struct Log {
        std::atomic<std::size_t> rows{0};
        std::atomic<int> syncs{0};
        std::atomic<int> closes{0};
        std::atomic<bool> isFull{false};
        std::atomic<bool> isAway{false};
    };
    explicit FakeStore(Log &log) : m_log(log) {}
    Result<void> open(const StoreOpening &) override
    {
        if (m_log.isAway)
            return Error{QStringLiteral("store.away"), QStringLiteral("no such disk")};
        return {};
    }
    Result<void> append(std::span<const HistoryRow> rows) override
    {
        if (m_log.isFull)
            return Error{QStringLiteral("store.full"), QStringLiteral("disk full")};
        m_log.rows += rows.size();
        return {};
    }
    Result<void> sync() override
    {
        ++m_log.syncs;
        return {};
    }
    std::unique_ptr<HistoryReader> reader() override { return nullptr; }
    StoreStatistics statistics() const override { return {.rows = m_log.rows, .lost = 0, .bytes = 0}; }
    void close() override { ++m_log.closes; }

private:
    Log &m_log;
};
} // namespace

class StoreRunnerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyBatchIsAnsweredOnce();
    void aRefusedBatchIsNotStored();
    void aStoreThatCannotBeOpenedLosesRowsAndSaysSo();
    void stopAppendsWhatWaitsAndSyncs();
};

void StoreRunnerTest::everyBatchIsAnsweredOnce()
{
    FakeStore::Log log;
    EngineInbox inbox(16);
    const SystemClock clock;
    StoreRunner runner(std::make_unique<FakeStore>(log), inbox, clock);
    runner.start({});
    QVERIFY(runner.append({std::vector<HistoryRow>(3), {7}}));
    QTRY_COMPARE(inbox.size(), std::size_t(1));
    std::vector<EngineEvent> events;
    inbox.drain(events);
    const auto &stored = std::get<RowsStored>(events[0]);
    QCOMPARE(stored.rows, std::size_t(3));
    QCOMPARE(stored.triggerRows, std::size_t(1));
    QCOMPARE(*stored.runs, (std::vector<std::uint64_t>{7}));
    QVERIFY(stored.isStored);
}

void StoreRunnerTest::aRefusedBatchIsNotStored()
{
    FakeStore::Log log;
    log.isFull = true;
    EngineInbox inbox(16);
    const SystemClock clock;
    StoreRunner runner(std::make_unique<FakeStore>(log), inbox, clock);
    runner.start({});
    QVERIFY(runner.append({std::vector<HistoryRow>(3), {}}));
    QTRY_COMPARE(inbox.size(), std::size_t(1));
    std::vector<EngineEvent> events;
    inbox.drain(events);
    QVERIFY(!std::get<RowsStored>(events[0]).isStored);
    QCOMPARE(std::get<RowsStored>(events[0]).error, QStringLiteral("disk full"));
}

void StoreRunnerTest::aStoreThatCannotBeOpenedLosesRowsAndSaysSo()
{
    FakeStore::Log log;
    log.isAway = true;
    EngineInbox inbox(16);
    const SystemClock clock;
    StoreRunner runner(std::make_unique<FakeStore>(log), inbox, clock);
    runner.start({});
    QVERIFY(runner.append({std::vector<HistoryRow>(3), {}}));
    QTRY_COMPARE(inbox.size(), std::size_t(1));
    std::vector<EngineEvent> events;
    inbox.drain(events);
    QVERIFY(!std::get<RowsStored>(events[0]).isStored);
    QCOMPARE(std::get<RowsStored>(events[0]).error, QStringLiteral("no such disk"));
    QCOMPARE(log.rows.load(), std::size_t(0));
}

void StoreRunnerTest::stopAppendsWhatWaitsAndSyncs()
{
    FakeStore::Log log;
    EngineInbox inbox(16);
    const SystemClock clock;
    StoreRunner runner(std::make_unique<FakeStore>(log), inbox, clock);
    runner.start({});
    for (int i = 0; i < 10; ++i)
        QVERIFY(runner.append({std::vector<HistoryRow>(1), {}}));
    runner.stop();
    QCOMPARE(log.rows.load(), std::size_t(10));
    QVERIFY(log.syncs.load() >= 1);
    QCOMPARE(log.closes.load(), 1);
    QVERIFY(!runner.append({}));
}

QTEST_GUILESS_MAIN(StoreRunnerTest)
#include "tst_storerunner.moc"
