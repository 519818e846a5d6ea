// SPDX-License-Identifier: Apache-2.0
// Damaged files (PC-18) and a disk that refuses (T04, T05): the store starts and goes on, never claims what is not
// so, and loses no more than the damage took.
#include "../store/faultydisk.h"
#include "recordsprobe.h"

#include <QFile>
#include <QTest>

#include <sqlite3.h>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;

class RecordsFaultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { m_dir = temporaryFolder(); }
    void damagedLog_data();
    void damagedLog();
    void damagedDatabase_data();
    void damagedDatabase();
    void everythingLost();
    void leftOverFiles();
    void tornAtEachByte();
    void logMovedTwiceDoublesNothing();
    void fullDisk();
    void failedSyncIsNoCommit();
    void lockedDatabaseIsTriedAgain();
    void eachFailingCallIsSurvived_data();
    void eachFailingCallIsSurvived();

private:
    QString database() const { return m_dir->filePath(QStringLiteral("records.db")); }
    QStringList texts() const { return rows(database(), "SELECT text FROM alarm_transitions ORDER BY number"); }
    void fill(int first, int count, bool isClosed);
    QString newestLog() const;

    std::unique_ptr<QTemporaryDir> m_dir;
    FakeClock m_clock;
};

namespace {
void damage(QByteArray &bytes, const QString &form)
{
    if (form == QLatin1String("empty"))
        bytes.clear();
    else if (form == QLatin1String("zeros"))
        bytes.fill('\0');
    else if (form == QLatin1String("half"))
        bytes.truncate(bytes.size() / 2);
    else if (form == QLatin1String("header"))
        bytes[5] ^= 1;
    else
        bytes[bytes.size() / 2] ^= 0x10;
}

// A log without the space it reserves: a cut or a flip would else mostly meet that.
QByteArray trimmed(QByteArray log)
{
    while (log.endsWith('\0'))
        log.chop(1);
    return log;
}
} // namespace

// Alarms "first", "first + 1" ... and messages of the same ids; left as a kill leaves them unless closed.
void RecordsFaultsTest::fill(int first, int count, bool isClosed)
{
    const QString copy = m_dir->filePath(QStringLiteral("copy"));
    QString log;
    {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        Commits commits(store);
        RecordNumber last = 0;
        for (int i = first; i < first + count; ++i) {
            store.append(anAlarm(QString::number(i)));
            last = store.append(aMessage(static_cast<std::uint64_t>(i)));
        }
        QVERIFY(commits.waitFor(last));
        log = newestLog();
        for (const QString &name : files(m_dir->path(), "records-*.log")) {
            if (!readLog(readFile(m_dir->filePath(name))).records.empty())
                log = m_dir->filePath(name);
        }
        writeFile(copy, readFile(log));
    }
    if (!isClosed) {
        // The records as they lay in the log, and a database that has not got them yet.
        for (const char *sql : {"DELETE FROM alarm_transitions", "DELETE FROM outbox",
                                "UPDATE meta SET value = 0 WHERE key = 'last_moved'"})
            QCOMPARE(rows(database(), sql), QStringList());
        writeFile(log, trimmed(readFile(copy)));
    }
    QFile::remove(copy);
}

QString RecordsFaultsTest::newestLog() const
{
    const QStringList logs = files(m_dir->path(), "records-*.log");
    return logs.isEmpty() ? QString() : m_dir->filePath(logs.last());
}

void RecordsFaultsTest::damagedLog_data()
{
    QTest::addColumn<QString>("form");
    QTest::addColumn<int>("atLeast"); // records of 20 that no damage of this form takes
    QTest::newRow("0 bytes") << QStringLiteral("empty") << 0;
    QTest::newRow("zeros") << QStringLiteral("zeros") << 0;
    QTest::newRow("half") << QStringLiteral("half") << 8;
    QTest::newRow("flipped byte") << QStringLiteral("flipped") << 19;
    QTest::newRow("flipped byte in the header") << QStringLiteral("header") << 0;
}

void RecordsFaultsTest::damagedLog()
{
    QFETCH(QString, form);
    QFETCH(int, atLeast);
    fill(1, 20, false);
    const QString log = m_dir->filePath(QStringLiteral("records-00000001.log"));
    QByteArray bytes = readFile(log);
    damage(bytes, form);
    writeFile(log, bytes);

    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    const QString aside = QStringLiteral("records-00000001.log.corrupt-20260801T000000Z");
    QVERIFY2(faults[0].contains(log) && faults[0].contains(aside), qPrintable(faults[0]));
    QCOMPARE(readFile(m_dir->filePath(aside)), bytes);
    QVERIFY(store.nextMessageId() > 20); // the numbers that were used stay used
    QVERIFY(store.pendingOutbox().size() >= static_cast<std::size_t>(atLeast));
    store.append(anAlarm(QStringLiteral("after")));
    store.close();
    QVERIFY(store.takeFaults().isEmpty());
    const QStringList left = texts();
    QVERIFY(left.size() > atLeast && left.size() <= 21);
    QCOMPARE(left.last(), QStringLiteral("after"));
    QCOMPARE(QSet<QString>(left.begin(), left.end()).size(), left.size());
    RecordsStore again({}, m_clock);
    QVERIFY(again.open(m_dir->path()));
    QVERIFY(again.takeFaults().isEmpty());
}

void RecordsFaultsTest::damagedDatabase_data()
{
    QTest::addColumn<QString>("form");
    QTest::newRow("0 bytes") << QStringLiteral("empty");
    QTest::newRow("zeros") << QStringLiteral("zeros");
    QTest::newRow("half") << QStringLiteral("half");
    QTest::newRow("flipped byte in the header") << QStringLiteral("header");
}

void RecordsFaultsTest::damagedDatabase()
{
    QFETCH(QString, form);
    fill(1, 500, true);
    QByteArray bytes = readFile(database());
    damage(bytes, form);
    writeFile(database(), bytes);

    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    const QString aside = QStringLiteral("records.db.corrupt-20260801T000000Z");
    QVERIFY2(faults[0].contains(database()) && faults[0].contains(aside), qPrintable(faults[0]));
    QCOMPARE(readFile(m_dir->filePath(aside)).size(), bytes.size());
    QVERIFY(store.nextMessageId() > 500); // the log knows
    for (const OutboxEntry &entry : store.pendingOutbox())
        QVERIFY(entry.message.id >= 1 && entry.message.id <= 500);
    store.append(anAlarm(QStringLiteral("after")));
    store.close();
    QCOMPARE(texts(), QStringList(QStringLiteral("after")));
    QCOMPARE(integrity(database()), QStringLiteral("ok"));
    RecordsStore again({}, m_clock);
    QVERIFY(again.open(m_dir->path()));
    QVERIFY(again.takeFaults().isEmpty());
}

void RecordsFaultsTest::everythingLost()
{
    fill(1, 100, true);
    writeFile(database(), QByteArray(8192, '\0'));
    writeFile(newestLog(), QByteArray(60, '\0'));
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(store.takeFaults().size(), 2);
    QVERIFY(store.nextMessageId() > 1'000'000'000); // above whatever was used
    QVERIFY(store.nextRun() > 1'000'000'000);
}

void RecordsFaultsTest::leftOverFiles()
{
    fill(1, 3, true);
    writeFile(m_dir->filePath(QStringLiteral("records-00000009.log.new")), "rest of a kill");
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QVERIFY(store.takeFaults().isEmpty());
    QVERIFY(!QFile::exists(m_dir->filePath(QStringLiteral("records-00000009.log.new"))));
    QCOMPARE(store.pendingOutbox().size(), std::size_t{3});
}

void RecordsFaultsTest::tornAtEachByte()
{
    fill(1, 5, false);
    const QString log = m_dir->filePath(QStringLiteral("records-00000001.log"));
    const QByteArray whole = readFile(log);
    const qsizetype lastFrame = whole.lastIndexOf("mqtt") - 12;
    for (qsizetype size = lastFrame + 1; size <= whole.size(); size += 3) {
        init();
        writeFile(m_dir->filePath(QStringLiteral("records-00000001.log")), whole.first(size));
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        QCOMPARE(store.pendingOutbox().size(), std::size_t{size == whole.size() ? 5U : 4U});
        store.close();
        QCOMPARE(texts().size(), 5);
    }
}

// As after a kill between the transaction and the removal of the log.
void RecordsFaultsTest::logMovedTwiceDoublesNothing()
{
    fill(1, 10, false);
    const QString log = m_dir->filePath(QStringLiteral("records-00000001.log"));
    const QByteArray bytes = readFile(log);
    for (int start = 0; start < 3; ++start) {
        {
            RecordsStore store({}, m_clock);
            QVERIFY(store.open(m_dir->path()));
            QCOMPARE(store.pendingOutbox().size(), std::size_t{start == 0 ? 10U : 9U});
            if (start == 0)
                store.append(anAcknowledgement(4));
        }
        QCOMPARE(texts().size(), 10);
        writeFile(log, bytes);
    }
}

void RecordsFaultsTest::fullDisk()
{
    RecordsStore store({milliseconds(20), milliseconds(0), {}}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    QVERIFY(commits.waitFor(store.append(anAlarm(QStringLiteral("before")))));
    FaultyDisk::failNth(1, Fault::NoSpace, true);
    RecordNumber failed = 0;
    for (int i = 0; i < 5; ++i) {
        failed = store.append(anAlarm(QStringLiteral("refused")));
        QVERIFY(commits.waitFor(failed));
        QVERIFY(commits.isFailed(failed) && !commits.isCommitted(failed));
    }
    QCOMPARE(store.statistics().failed, std::uint64_t{5});
    FaultyDisk::heal();
    // T05: normal within 10 s after space returns, by itself.
    bool isBack = false;
    const auto tryAgain = [&] {
        const RecordNumber number = isBack ? 0 : store.append(anAlarm(QStringLiteral("after")));
        isBack = isBack || (commits.waitFor(number) && commits.isCommitted(number));
        return isBack;
    };
    QTRY_VERIFY_WITH_TIMEOUT(tryAgain(), 10'000);
    store.close();
    QVERIFY(commits.isGapless(0));
    QCOMPARE(texts(), (QStringList{QStringLiteral("before"), QStringLiteral("after")}));
    const RecordsStatistics s = store.statistics();
    QCOMPARE(s.appended, s.committed + s.failed);
}

void RecordsFaultsTest::failedSyncIsNoCommit()
{
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    QVERIFY(commits.waitFor(store.append(anAlarm(QStringLiteral("before")))));
    QTRY_COMPARE(files(m_dir->path(), "records-*.log").size(), 2); // the next log is ready
    FaultyDisk::failSyncs();
    const RecordNumber failed = store.append(anAlarm(QStringLiteral("refused")));
    QVERIFY(commits.waitFor(failed));
    QVERIFY(commits.isFailed(failed));
    FaultyDisk::heal();
    const RecordNumber after = store.append(anAlarm(QStringLiteral("after")));
    QVERIFY(commits.waitFor(after));
    QVERIFY(commits.isCommitted(after));
    QVERIFY(
        readFile(m_dir->filePath(QStringLiteral("records-00000002.log"))).contains("after")); // not the doubtful one
    store.close();
    QCOMPARE(texts(), (QStringList{QStringLiteral("before"), QStringLiteral("after")}));
}

// Another program holds the database's write lock: commits go on, the logs wait their turn.
void RecordsFaultsTest::lockedDatabaseIsTriedAgain()
{
    RecordsStore store({milliseconds(10), milliseconds(0), {}}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    Commits commits(store);
    sqlite3 *other = nullptr;
    QCOMPARE(sqlite3_open(QFile::encodeName(database()).constData(), &other), SQLITE_OK);
    QCOMPARE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    QStringList faults;
    std::uint64_t count = 0;
    const auto isReported = [&] {
        const RecordNumber number = store.append(aRun(++count));
        faults << store.takeFaults();
        return commits.waitFor(number) && commits.isCommitted(number) && !faults.isEmpty();
    };
    QTRY_VERIFY_WITH_TIMEOUT(isReported(), 20'000);
    QCOMPARE(sqlite3_close(other), SQLITE_OK); // and with it the lock
    QTRY_COMPARE_WITH_TIMEOUT(rows(database(), "SELECT count(*) > 0 FROM run_records"),
                              QStringList(QStringLiteral("1")), 20'000);
    store.close();
    QCOMPARE(faults.size(), 1); // one lasting fault is one fault, however often it was tried
    QVERIFY(faults[0].contains(database()));
    QCOMPARE(rows(database(), "SELECT count(*), max(run) FROM run_records"),
             QStringList(QStringLiteral("%1|%1").arg(count)));
}

void RecordsFaultsTest::eachFailingCallIsSurvived_data()
{
    QTest::addColumn<int>("fault");
    QTest::newRow("no space") << static_cast<int>(Fault::NoSpace);
    QTest::newRow("I/O error") << static_cast<int>(Fault::InputOutput);
    QTest::newRow("short write") << static_cast<int>(Fault::ShortWrite);
}

// Fails the first call, the second, ... until a run meets none: what was reported as durable is there exactly once.
void RecordsFaultsTest::eachFailingCallIsSurvived()
{
    QFETCH(int, fault);
    int nth = 1;
    for (bool wasHit = true; wasHit; nth += nth < 60 ? 1 : 3) {
        init();
        FaultyDisk::failNth(nth, static_cast<Fault>(fault));
        QStringList acknowledgedTexts;
        QStringList all;
        {
            RecordsStore store({}, m_clock); // one checkpoint, at close(): the calls of each run are nearly the same
            if (!store.open(m_dir->path())) {
                wasHit = FaultyDisk::heal();
                continue;
            }
            Commits commits(store);
            for (int i = 1; i <= 12; ++i) {
                all << QString::number(i);
                const RecordNumber number = store.append(anAlarm(all.last()));
                store.append(aMessage(static_cast<std::uint64_t>(i)));
                QVERIFY(commits.waitFor(store.append(anAcknowledgement(static_cast<std::uint64_t>(i - 1)))));
                if (commits.isCommitted(number))
                    acknowledgedTexts << all.last();
            }
            store.close();
            QVERIFY(commits.isGapless(0));
            const RecordsStatistics s = store.statistics();
            QCOMPARE(s.appended, s.committed + s.failed);
        }
        wasHit = FaultyDisk::heal();
        QVERIFY(acknowledgedTexts.size() >= 11);
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        store.close();
        QCOMPARE(texts(), acknowledgedTexts);
        QCOMPARE(integrity(database()), QStringLiteral("ok"));
    }
    QVERIFY(nth > 60);
}

QTEST_GUILESS_MAIN(RecordsFaultsTest)
#include "tst_recordsfaults.moc"
