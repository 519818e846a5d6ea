// SPDX-License-Identifier: Apache-2.0
// A full disk (T05): alarms and audit go on in the space that is kept for them, everything else is refused and says so.
// No file may grow: what has been taken before can still be written, as on a disk without space.
#include "recordsprobe.h"

#include <QFile>
#include <QTest>

#include <sys/resource.h>

#include <csignal>

using namespace gridloom;
using namespace gridloom::test;
using namespace std::chrono_literals;

namespace {
constexpr qint64 kReserve = 1 << 20;

// While it lives, no file of this process is written beyond so many bytes.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes)
    {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit limit{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &m_before); }
    FullDisk(const FullDisk &) = delete;
    FullDisk &operator=(const FullDisk &) = delete;

private:
    rlimit m_before{};
};

RecordsOptions options()
{
    RecordsOptions o;
    o.checkpointPeriod = 1h;
    o.reserve = kReserve;
    return o;
}
} // namespace

class RecordsReserveTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_dir = temporaryFolder();
        m_run = 0;
    }
    void alarmsAndAuditGoOn();
    void aKillWhileFullLosesNothing();
    void anOldReserveIsTakenAgain();

private:
    QString path(const char *name) const { return m_dir->filePath(QLatin1String(name)); }
    /// Appends runs until one is refused.
    bool fill(RecordsStore &store, Commits &commits);
    std::unique_ptr<QTemporaryDir> m_dir;
    FakeClock m_clock;
    std::uint64_t m_run = 0;
};

bool RecordsReserveTest::fill(RecordsStore &store, Commits &commits)
{
    for (int i = 0; i < 5'000; ++i) {
        const RecordNumber number = store.append(aRun(++m_run));
        if (!commits.waitFor(number))
            return false;
        if (commits.isFailed(number))
            return true;
    }
    return false;
}

void RecordsReserveTest::alarmsAndAuditGoOn()
{
    RecordsStore store(options(), m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(QFile(path("records-reserve.log")).size(), kReserve + kFileHeaderSize);
    Commits commits(store);
    QTRY_COMPARE(files(m_dir->path(), "records-0*.log").size(), 2); // the next log is ready
    QStringList kept;
    {
        const FullDisk full(60'000);
        QVERIFY(fill(store, commits)); // two logs of 60 kB
        const std::uint64_t runs = m_run - 1;
        QVERIFY2(runs > 1'000, qPrintable(QString::number(runs)));
        for (int i = 0; i < 100; ++i) {
            kept << QString::number(i);
            const RecordNumber alarm = store.append(anAlarm(kept.last()));
            const RecordNumber control = store.append(aControl(static_cast<std::uint64_t>(i + 1), {}));
            const RecordNumber audit = store.append(anAudit(kept.last()));
            QVERIFY(commits.waitFor(audit));
            QVERIFY(commits.isCommitted(alarm) && commits.isCommitted(audit) && commits.isFailed(control));
        }
        QVERIFY(!QFile::exists(path("records-reserve.log")));
        QCOMPARE(store.statistics().appended, store.statistics().committed + store.statistics().failed);
        QVERIFY(commits.isGapless(0));
    }
    // Normal within 10 s after space returns, by itself, with a reserve for the next time.
    const auto isBack = [&] {
        const RecordNumber number = store.append(aControl(1'000, {}));
        return commits.waitFor(number) && commits.isCommitted(number);
    };
    QTRY_VERIFY_WITH_TIMEOUT(isBack(), 10'000);
    QCOMPARE(QFile(path("records-reserve.log")).size(), kReserve + kFileHeaderSize);
    store.close();
    QVERIFY(commits.isGapless(0));
    const QString database = path("records.db");
    QCOMPARE(rows(database, "SELECT text FROM alarm_transitions ORDER BY number"), kept);
    QCOMPARE(rows(database, "SELECT who FROM audit ORDER BY number"), kept);
    QCOMPARE(rows(database, "SELECT DISTINCT command FROM control_records"), QStringList(QStringLiteral("1000")));
    QCOMPARE(rows(database, "SELECT count(*), max(run) FROM run_records"),
             QStringList(QStringLiteral("%1|%1").arg(m_run - 1)));
    RecordsStore again(options(), m_clock);
    QVERIFY(again.open(m_dir->path()));
    QCOMPARE(again.takeFaults(), QStringList());
}

// The files as they are in the middle of it: what was confirmed is read again.
void RecordsReserveTest::aKillWhileFullLosesNothing()
{
    const auto copy = temporaryFolder();
    std::uint64_t runs = 0;
    {
        RecordsStore store(options(), m_clock);
        QVERIFY(store.open(m_dir->path()));
        Commits commits(store);
        QTRY_COMPARE(files(m_dir->path(), "records-0*.log").size(), 2);
        auto full = std::make_unique<FullDisk>(60'000);
        QVERIFY(fill(store, commits));
        runs = m_run - 1;
        const RecordNumber alarm = store.append(anAlarm(QStringLiteral("in the reserve")));
        QVERIFY(commits.waitFor(alarm));
        QVERIFY(commits.isCommitted(alarm));
        QHash<QString, QByteArray> left;
        for (const QString &name : files(m_dir->path(), "*"))
            left[name] = readFile(m_dir->filePath(name));
        full.reset();
        for (auto it = left.begin(); it != left.end(); ++it)
            writeFile(copy->filePath(it.key()), it.value());
    }
    RecordsStore store(options(), m_clock);
    QVERIFY(store.open(copy->path()));
    QCOMPARE(store.takeFaults(), QStringList());
    QCOMPARE(store.openAlarms().size(), std::size_t{1});
    store.close();
    const QString database = copy->filePath(QStringLiteral("records.db"));
    QCOMPARE(rows(database, "SELECT text FROM alarm_transitions"), QStringList(QStringLiteral("in the reserve")));
    QCOMPARE(rows(database, "SELECT count(*), max(run) FROM run_records"),
             QStringList(QStringLiteral("%1|%1").arg(runs)));
    QCOMPARE(QFile(copy->filePath(QStringLiteral("records-reserve.log"))).size(), kReserve + kFileHeaderSize);
}

void RecordsReserveTest::anOldReserveIsTakenAgain()
{
    {
        RecordsStore store(options(), m_clock);
        QVERIFY(store.open(m_dir->path()));
    }
    const QString reserve = path("records-reserve.log");
    const auto marked = QFile(reserve).fileTime(QFileDevice::FileModificationTime);
    {
        RecordsStore store(options(), m_clock);
        QVERIFY(store.open(m_dir->path()));
        QCOMPARE(QFile(reserve).fileTime(QFileDevice::FileModificationTime), marked);
    }
    for (const QByteArray &damaged : {QByteArray(), QByteArray(64, '\0'), QByteArray("GLRECORD")}) {
        writeFile(reserve, damaged);
        RecordsStore store(options(), m_clock);
        QVERIFY(store.open(m_dir->path()));
        QCOMPARE(QFile(reserve).size(), kReserve + kFileHeaderSize);
        QCOMPARE(store.takeFaults(), QStringList()); // nothing was in it
    }
}

QTEST_GUILESS_MAIN(RecordsReserveTest)
#include "tst_recordsreserve.moc"
