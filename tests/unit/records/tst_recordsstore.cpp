// SPDX-License-Identifier: Apache-2.0
#include "../store/faultydisk.h"
#include "recordsprobe.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;

class RecordsStoreTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void everythingArrivesInTheDatabase();
    void timesAreReadable();
    void namesAreData();
    void commitsWhileCheckpointsRun();
    void outboxSurvives();
    void numbersAreNeverReused();
    void messageThatCameAndWentIsNotWritten();
    void acknowledgementsAreSyncedLater();
    void lowWearProfileSharesCommits();
    void oldRunsGo();
    void secondProcessIsRefused();

private:
    QString path(const char *name) const { return m_dir->filePath(QLatin1String(name)); }
    QString database() const { return path("records.db"); }
    QByteArray logs() const;

    std::unique_ptr<QTemporaryDir> m_dir;
    FakeClock m_clock;
};

void RecordsStoreTest::init()
{
    m_dir = temporaryFolder();
}

QByteArray RecordsStoreTest::logs() const
{
    QByteArray all;
    for (const QString &name : files(m_dir->path(), "records-*.log"))
        all += readFile(m_dir->filePath(name));
    return all;
}

void RecordsStoreTest::everythingArrivesInTheDatabase()
{
    {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        Commits commits(store);
        QCOMPARE(store.append(anAlarm(QStringLiteral("Zu heiß"))), RecordNumber{1});
        store.append(aControl(2, QStringLiteral("shave#300")));
        store.append(aRun(300));
        QCOMPARE(store.append(aMessage(41, QByteArray("\0\xff", 2))), RecordNumber{4});
        QVERIFY(commits.waitFor(4));
        QVERIFY(commits.isCommitted(1) && commits.isCommitted(4) && commits.isGapless(0));
        QCOMPARE(store.statistics().appended, std::uint64_t{4});
        QCOMPARE(store.statistics().committed, std::uint64_t{4});
        QCOMPARE(store.statistics().outboxEntries, std::uint64_t{1});
        QVERIFY(store.takeFaults().isEmpty());
        // The last ones come by close() alone.
        store.append(anAlarm(QStringLiteral("last")));
        store.close();
        QVERIFY(commits.isCommitted(5));
        QVERIFY(store.statistics().bytesWritten > 0);
    }
    QCOMPARE(rows(database(), "SELECT * FROM alarm_transitions"),
             (QStringList{
                 QStringLiteral("1|set.hot|Normal|Unacknowledged|high|1785542400000001|Zu heiß|18446744073709551615|0"),
                 QStringLiteral("5|set.hot|Normal|Unacknowledged|high|1785542400000001|last|18446744073709551615|0")}));
    QCOMPARE(rows(database(), "SELECT * FROM control_records"),
             QStringList(QStringLiteral(
                 "2|2|pv1.limit|12.5||shave#300|gridLimit|TimedOut|no answer|1785542400000001|2000000")));
    QCOMPARE(rows(database(), "SELECT * FROM run_records"),
             QStringList(QStringLiteral("3|300|shave|Ok||1785542400000001|10|20|null|3000|null|50|60|{\"a\":1}")));
    QCOMPARE(
        rows(database(), "SELECT number, sink, message_id, hex(topic), hex(payload), qos, retained, class FROM outbox"),
        QStringList(QStringLiteral("4|mqtt|41|677269646C6F6F6D2F76312F78|00FF|1|1|0")));
    QCOMPARE(integrity(database()), QStringLiteral("ok"));
    QCOMPARE(files(m_dir->path(), "*").size(), 3); // the database, its empty journal, and one log
    QVERIFY(readLog(logs()).records.empty());
}

void RecordsStoreTest::timesAreReadable()
{
    {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        for (const std::int64_t us :
             {0LL, -1LL, 1'785'542'400'000'001LL, 1'785'542'400'500'000LL, 951'782'400'000'000LL}) {
            AlarmTransition a = anAlarm({});
            a.time = WallTime(std::chrono::microseconds(us));
            store.append(a);
        }
    }
    QCOMPARE(rows(database(), "SELECT time FROM alarm_transitions_text ORDER BY number"),
             (QStringList{QStringLiteral("1970-01-01T00:00:00Z"), QStringLiteral("1969-12-31T23:59:59.999999Z"),
                          QStringLiteral("2026-08-01T00:00:00.000001Z"), QStringLiteral("2026-08-01T00:00:00.5Z"),
                          QStringLiteral("2000-02-29T00:00:00Z")}));
}

// PC-24
void RecordsStoreTest::namesAreData()
{
    const QString evil = QStringLiteral("x'); DROP TABLE run_records;-- \" ; %1 %s \u03a9");
    {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        AlarmTransition a = anAlarm(evil);
        a.alarmId = evil;
        store.append(a);
        store.append(aRun(1, evil));
        store.append(OutboxEntry{evil, {7, evil.toUtf8(), evil.toUtf8(), 1, false, MessageClass::Telemetry}, kTime});
    }
    QCOMPARE(rows(database(), "SELECT alarm_id FROM alarm_transitions"), QStringList(evil));
    QCOMPARE(rows(database(), "SELECT error FROM run_records"), QStringList(evil));
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(store.pendingOutbox().size(), std::size_t{1});
    QCOMPARE(store.pendingOutbox()[0].sink, evil);
    QCOMPARE(store.pendingOutbox()[0].message.topic, evil.toUtf8());
    QCOMPARE(store.pendingOutbox()[0].message.kind, MessageClass::Telemetry);
}

void RecordsStoreTest::commitsWhileCheckpointsRun()
{
    constexpr int kCount = 3000;
    RecordsStore store({milliseconds(5), milliseconds(0), {}}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    for (int i = 1; i <= kCount; ++i) {
        store.append(anAlarm(QString::number(i)));
        if (i % 10 == 0)
            QVERIFY(commits.waitFor(static_cast<RecordNumber>(i)));
    }
    // Read while it is written: what people's tools do.
    QTRY_VERIFY(rows(database(), "SELECT count(*) FROM alarm_transitions")[0].toInt() >= kCount / 2);
    store.close();
    QVERIFY(commits.isGapless(0) && store.takeFaults().isEmpty());
    QCOMPARE(rows(database(), "SELECT count(*), count(DISTINCT text), max(number) FROM alarm_transitions"),
             QStringList(QStringLiteral("3000|3000|3000")));
}

void RecordsStoreTest::outboxSurvives()
{
    {
        RecordsStore store({milliseconds(1), milliseconds(0), {}}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        Commits commits(store);
        for (std::uint64_t id = 1; id <= 10; ++id)
            QVERIFY(commits.waitFor(store.append(aMessage(id, QByteArray::number(static_cast<int>(id))))));
        for (const std::uint64_t id : {3, 1, 8})
            QVERIFY(commits.waitFor(store.append(anAcknowledgement(id))));
        store.append(OutboxAcknowledged{QStringLiteral("other"), 5}); // of another sink
        store.append(anAcknowledgement(99));                          // never heard of
    }
    for (int start = 0; start < 3; ++start) {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        QByteArrayList left;
        for (const OutboxEntry &entry : store.pendingOutbox())
            left << entry.message.payload;
        QCOMPARE(left.join(' '), QByteArray("2 4 5 6 7 9 10"));
        QCOMPARE(store.pendingOutbox()[0].message.id, std::uint64_t{2});
        QCOMPARE(store.pendingOutbox()[0].created, kTime);
        QCOMPARE(store.statistics().outboxEntries, std::uint64_t{7});
    }
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    for (const OutboxEntry &entry : store.pendingOutbox())
        store.append(anAcknowledgement(entry.message.id));
    store.close();
    QCOMPARE(rows(database(), "SELECT * FROM outbox"), QStringList());
}

void RecordsStoreTest::numbersAreNeverReused()
{
    std::uint64_t lastMessage = 0;
    std::uint64_t lastRun = 0;
    std::uint64_t lastCommand = 0;
    RecordNumber lastRecord = 0;
    for (int start = 0; start < 5; ++start) {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        QVERIFY(store.nextMessageId() > lastMessage && store.nextRun() > lastRun && store.nextCommand() > lastCommand);
        QVERIFY(start > 0 || (store.nextMessageId() == 1 && store.nextRun() == 1 && store.nextCommand() == 1));
        // More than any reserve; the messages come and go within their group, which is never written.
        lastMessage = store.nextMessageId() + 250'000;
        lastRun = store.nextRun() + 250'000;
        lastCommand = store.nextCommand() + 250'000;
        store.append(aMessage(lastMessage));
        store.append(anAcknowledgement(lastMessage));
        store.append(aRun(lastRun));
        const RecordNumber number = store.append(aControl(lastCommand, {}));
        QVERIFY(number > lastRecord);
        lastRecord = number;
        store.close();
        // The database alone, or the log alone, knows them as well.
        if (start == 2)
            QVERIFY(QFile::remove(database()));
        if (start == 3)
            QVERIFY(QFile::remove(m_dir->filePath(files(m_dir->path(), "records-*.log").value(0))));
    }
}

void RecordsStoreTest::messageThatCameAndWentIsNotWritten()
{
    RecordsStore store({milliseconds(10'000), milliseconds(300), {}}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    QVERIFY(commits.waitFor(store.append(anAlarm(QStringLiteral("first"))))); // the next commit is 300 ms away
    store.append(aMessage(1, "CAME-AND-WENT"));
    store.append(aMessage(2, "STAYS"));
    const RecordNumber last = store.append(anAcknowledgement(1));
    QVERIFY(commits.waitFor(last));
    QVERIFY(commits.isCommitted(last - 2) && commits.isCommitted(last));
    const QByteArray log = logs();
    QVERIFY(log.contains("STAYS"));
    QVERIFY(!log.contains("CAME-AND-WENT"));
    QCOMPARE(store.statistics().committed, std::uint64_t{4});
    QCOMPARE(store.statistics().outboxEntries, std::uint64_t{1});
    const auto commitsBefore = store.statistics().commits;
    store.append(aMessage(3, "CAME-AND-WENT"));
    QVERIFY(commits.waitFor(store.append(anAcknowledgement(3)))); // nothing at all to write
    QCOMPARE(store.statistics().commits, commitsBefore);
}

void RecordsStoreTest::acknowledgementsAreSyncedLater()
{
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    for (std::uint64_t id = 1; id <= 20; ++id)
        store.append(aMessage(id));
    QVERIFY(commits.waitFor(20));
    QTRY_COMPARE(files(m_dir->path(), "records-*.log").size(), 2); // the next log is ready: no more syncs by itself
    const int syncs = FaultyDisk::syncs();
    for (std::uint64_t id = 1; id <= 10; ++id)
        QVERIFY(commits.waitFor(store.append(anAcknowledgement(id))));
    QVERIFY(FaultyDisk::syncs() <= syncs + 1); // one a second at most
    QCOMPARE(readLog(readFile(path("records-00000001.log"))).records.size(), std::size_t{30});
    QTRY_COMPARE(FaultyDisk::syncs(), syncs + 1);
    QVERIFY(commits.waitFor(store.append(anAlarm(QStringLiteral("now")))));
    QCOMPARE(FaultyDisk::syncs(), syncs + 2);
}

void RecordsStoreTest::lowWearProfileSharesCommits()
{
    RecordsStore store({milliseconds(10'000), milliseconds(100), {}}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    const auto begin = std::chrono::steady_clock::now();
    RecordNumber last = 0;
    while (std::chrono::steady_clock::now() - begin < milliseconds(450)) {
        last = store.append(anAlarm({}));
        std::this_thread::yield();
        if (last % 64 == 0)
            QVERIFY(commits.waitFor(last - 63));
    }
    QVERIFY(commits.waitFor(last));
    const auto periods = static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin) / milliseconds(100)) + 2;
    QVERIFY(store.statistics().commits <= periods);
    QVERIFY(store.statistics().commits >= 2);
    QVERIFY(commits.isGapless(0));
}

void RecordsStoreTest::oldRunsGo()
{
    RecordsOptions options;
    options.checkpointPeriod = milliseconds(1);
    options.retention.runRecords.rows = 100;
    options.retention.alarmTransitions.rows = 10;
    for (int start = 0; start < 2; ++start) {
        RecordsStore store(options, m_clock);
        QVERIFY(store.open(m_dir->path()));
        Commits commits(store);
        for (std::uint64_t i = 1; i <= 300; ++i) {
            const RecordNumber number = store.append(aRun(static_cast<std::uint64_t>(start) * 1000 + i));
            if (i % 50 == 0)
                QVERIFY(commits.waitFor(number));
        }
        store.append(anAlarm(QStringLiteral("kept")));
    }
    QCOMPARE(rows(database(), "SELECT count(*), min(run), max(run) FROM run_records"),
             QStringList(QStringLiteral("100|1201|1300")));
    QCOMPARE(rows(database(), "SELECT count(*) FROM alarm_transitions"), QStringList(QStringLiteral("2")));
}

void RecordsStoreTest::secondProcessIsRefused()
{
    RecordsStore first({}, m_clock);
    QVERIFY(first.open(m_dir->path()));
    RecordsStore second({}, m_clock);
    const auto refused = second.open(m_dir->path());
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, QStringLiteral("records.inUse"));
    first.close();
    QVERIFY(second.open(m_dir->path()));
}

QTEST_GUILESS_MAIN(RecordsStoreTest)
#include "tst_recordsstore.moc"
