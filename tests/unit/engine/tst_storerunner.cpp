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
        std::atomic<bool> isUnsyncable{false};
        std::atomic<bool> isHeld{false}; ///< append() does not return
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
        m_log.isHeld.wait(true);
        return {};
    }
    Result<void> sync() override
    {
        ++m_log.syncs;
        if (m_log.isUnsyncable)
            return Error{QStringLiteral("file.failed"), QStringLiteral("fdatasync failed")};
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
    void rowsThatCannotBeSyncedAreTakenBack();
    void waitingRowsAreBounded();
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

void StoreRunnerTest::rowsThatCannotBeSyncedAreTakenBack()
{
    FakeStore::Log log;
    log.isUnsyncable = true;
    EngineInbox inbox(16);
    const SystemClock clock;
    StoreRunner runner(std::make_unique<FakeStore>(log), inbox, clock);
    runner.start({});
    QVERIFY(runner.append({std::vector<HistoryRow>(3), {}}));
    QVERIFY(runner.append({std::vector<HistoryRow>(4), {}}));
    std::vector<EngineEvent> events;
    const auto taken = [&events, &inbox] {
        inbox.drain(events);
        std::size_t rows = 0;
        for (const EngineEvent &event : events) {
            if (const auto *unsynced = std::get_if<RowsUnsynced>(&event))
                rows += unsynced->rows;
        }
        return rows;
    };
    QTRY_COMPARE(taken(), std::size_t(7));
    // The store works again: the next rows say that all is well only after a sync went well.
    log.isUnsyncable = false;
    QVERIFY(runner.append({std::vector<HistoryRow>(1), {}}));
    QTRY_VERIFY(log.syncs.load() >= 2);
    QVERIFY(runner.append({std::vector<HistoryRow>(1), {}}));
    runner.stop();
    QCOMPARE(taken(), std::size_t(7)); // once
    std::vector<bool> synced;
    for (const EngineEvent &event : events) {
        if (const auto *stored = std::get_if<RowsStored>(&event))
            synced.push_back(stored->isSynced);
    }
    QCOMPARE(synced, (std::vector<bool>{true, true, false, true}));
}

void StoreRunnerTest::waitingRowsAreBounded()
{
    FakeStore::Log log;
    log.isHeld = true;
    EngineInbox inbox(16);
    const SystemClock clock;
    StoreRunner runner(std::make_unique<FakeStore>(log), inbox, clock);
    runner.start({});
    std::size_t taken = 0;
    while (runner.append({std::vector<HistoryRow>(10'000), {}}))
        taken += 10'000;
    QVERIFY(taken >= StoreRunner::kMostRows && taken <= StoreRunner::kMostRows + 200'000);
    QCOMPARE(runner.queue().refused(), std::uint64_t(1));
    log.isHeld = false;
    log.isHeld.notify_all();
    QTRY_COMPARE(log.rows.load(), taken);
    QVERIFY(runner.append({std::vector<HistoryRow>(1), {}}));
    runner.stop();
    QCOMPARE(log.rows.load(), taken + 1);
}

QTEST_GUILESS_MAIN(StoreRunnerTest)
#include "tst_storerunner.moc"
