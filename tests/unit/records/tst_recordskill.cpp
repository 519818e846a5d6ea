// SPDX-License-Identifier: Apache-2.0
// kill -9 at random moments (T01): a child process, this executable with --append FOLDER, appends records and prints
// what it was told is durable. After each kill the files must hold every such record exactly once.
#include "recordsprobe.h"

#include <QCoreApplication>
#include <QProcess>
#include <QSet>
#include <QTest>

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <random>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;

namespace {
// One write(2): lines of the two threads never mix, and nothing is left in a buffer by the kill.
void say(const QByteArray &line)
{
    const QByteArray whole = line + '\n';
    if (::write(STDOUT_FILENO, whole.constData(), static_cast<std::size_t>(whole.size())) != whole.size())
        ::_exit(3);
}

// Lines: "ids MESSAGE RUN COMMAND" after open; "use MESSAGE RUN COMMAND" before each append; "alarm N", "control N",
// "run N", "out ID", "acked ID" once durable; "acking ID" before an acknowledgement is appended.
int appendUntilKilled(const QString &folder)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const SystemClock clock;
    RecordsStore store({milliseconds(7), milliseconds(0), {}}, clock);
    if (!store.open(folder))
        return 2;
    for (const QString &fault : store.takeFaults())
        say("fault " + fault.toUtf8());
    std::mutex mutex;
    std::map<RecordNumber, QByteArray> waiting; // what to say once a record is durable
    store.setCommitted([&](const Records::CommitReport &report) {
        if (!report.result)
            return say("failed");
        const std::lock_guard lock(mutex);
        const auto end = waiting.upper_bound(report.last);
        for (auto it = waiting.begin(); it != end; it = waiting.erase(it))
            say(it->second);
    });
    std::uint64_t message = store.nextMessageId();
    std::uint64_t runNumber = store.nextRun();
    std::uint64_t command = store.nextCommand();
    const auto numbers = [&] {
        return QByteArray::number(qulonglong{message}) + ' ' + QByteArray::number(qulonglong{runNumber}) + ' '
            + QByteArray::number(qulonglong{command});
    };
    say("ids " + numbers());
    const auto append = [&](const Record &record, const QByteArray &line) {
        const std::lock_guard lock(mutex); // the report may be faster than this thread
        waiting[store.append(record)] = line;
    };
    std::mt19937_64 random(message); // another course in each round
    std::vector<std::uint64_t> open;
    for (;;) {
        say("use " + numbers());
        const QByteArray id = QByteArray::number(qulonglong{message});
        append(aMessage(message, id), "out " + id);
        open.push_back(message++);
        append(anAlarm(QString::fromLatin1(id)), "alarm " + id);
        append(aRun(runNumber), "run " + QByteArray::number(qulonglong{runNumber}));
        append(aControl(command, {}), "control " + QByteArray::number(qulonglong{command}));
        ++runNumber;
        ++command;
        while (!open.empty() && random() % 3 != 0) {
            const std::size_t at = random() % open.size();
            const QByteArray done = QByteArray::number(qulonglong{open[at]});
            say("acking " + done);
            append(anAcknowledgement(open[at]), "acked " + done);
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
        }
        if (random() % 8 == 0) // let groups differ in size
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
}
} // namespace

class RecordsKillTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void killedAtRandomMoments();

private:
    void runAndKill(int lines);
    void take(const QByteArray &line);
    void check();

    QTemporaryDir m_dir;
    QSet<QString> m_alarms, m_runs, m_controls, m_out, m_acking, m_acked;
    std::array<qulonglong, 3> m_lastUsed{};
    int m_starts = 0;
};

void RecordsKillTest::killedAtRandomMoments()
{
    std::random_device seed;
    const unsigned s = seed();
    qInfo("seed %u", s);
    std::mt19937 random(s);
    for (int round = 0; round < 24; ++round) {
        // Zero lines: in the middle of open(), mostly.
        runAndKill(round % 6 == 5 ? 0 : static_cast<int>(random() % 900));
        if (QTest::currentTestFailed())
            return;
        if (round % 3 == 2) // the other rounds leave it to the next child to put things right
            check();
        if (QTest::currentTestFailed())
            return;
    }
    QVERIFY(m_starts >= 16);
    QVERIFY(m_alarms.size() > 200 && m_acked.size() > 100);
    qInfo("%lld alarms and %lld messages confirmed, %lld acknowledged", qlonglong{m_alarms.size()},
          qlonglong{m_out.size()}, qlonglong{m_acked.size()});
}

void RecordsKillTest::runAndKill(int lines)
{
    QProcess child;
    child.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--append"), m_dir.path()});
    QVERIFY(child.waitForStarted());
    for (int seen = 0; seen < lines;) {
        QVERIFY2(child.canReadLine() || child.waitForReadyRead(20'000), child.readAllStandardError().constData());
        for (; seen < lines && child.canReadLine(); ++seen)
            take(child.readLine().trimmed());
    }
    child.kill();
    QVERIFY(child.waitForFinished());
    while (child.canReadLine())
        take(child.readLine().trimmed());
    QCOMPARE(child.exitStatus(), QProcess::CrashExit);
    QCOMPARE(child.readAllStandardError(), QByteArray());
}

void RecordsKillTest::take(const QByteArray &line)
{
    const QByteArrayList words = line.split(' ');
    const QString id = QString::fromLatin1(words.value(1));
    const QByteArray what = words[0];
    if (what == "ids" || what == "use") {
        for (int i = 0; i < 3; ++i) {
            const qulonglong number = words.value(i + 1).toULongLong();
            QVERIFY2(number > m_lastUsed[static_cast<std::size_t>(i)] || what == "use", line.constData());
            if (what == "use")
                m_lastUsed[static_cast<std::size_t>(i)] = std::max(m_lastUsed[static_cast<std::size_t>(i)], number);
        }
        m_starts += what == "ids" ? 1 : 0;
        return;
    }
    // A kill can tear what was being written, and that is told; it must not take anything that was confirmed.
    if (what == "fault")
        return;
    QSet<QString> *set = what == "alarm" ? &m_alarms
        : what == "run"                  ? &m_runs
        : what == "control"              ? &m_controls
        : what == "out"                  ? &m_out
        : what == "acking"               ? &m_acking
        : what == "acked"                ? &m_acked
                                         : nullptr;
    QVERIFY2(set != nullptr, line.constData());
    QVERIFY2(!set->contains(id), line.constData());
    set->insert(id);
}

void RecordsKillTest::check()
{
    const SystemClock clock;
    QSet<QString> pending;
    {
        RecordsStore store({}, clock);
        QVERIFY(store.open(m_dir.path()));
        for (const OutboxEntry &entry : store.pendingOutbox()) {
            QCOMPARE(entry.message.payload, QByteArray::number(qulonglong{entry.message.id}));
            const QString id = QString::number(entry.message.id);
            QVERIFY2(!pending.contains(id), qPrintable(id));
            pending.insert(id);
        }
        m_lastUsed[0] = std::max(m_lastUsed[0], qulonglong{store.nextMessageId()});
    }
    for (const QString &id : std::as_const(m_out))
        QVERIFY2(pending.contains(id) || m_acking.contains(id), qPrintable(id));
    for (const QString &id : std::as_const(m_acked))
        QVERIFY2(!pending.contains(id), qPrintable(id));

    const QString database = m_dir.filePath(QStringLiteral("records.db"));
    QCOMPARE(integrity(database), QStringLiteral("ok"));
    const auto verify = [&](const char *sql, const QSet<QString> &confirmed) {
        const QStringList found = rows(database, sql);
        const QSet<QString> once(found.begin(), found.end());
        QCOMPARE(once.size(), found.size()); // exactly once
        const QSet<QString> missing = confirmed - once;
        QVERIFY2(missing.isEmpty(), qPrintable(QStringList(missing.values()).join(QLatin1Char(' '))));
    };
    verify("SELECT text FROM alarm_transitions", m_alarms);
    verify("SELECT run FROM run_records", m_runs);
    verify("SELECT command FROM control_records", m_controls);
}

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    if (app.arguments().value(1) == QLatin1String("--append"))
        return appendUntilKilled(app.arguments().value(2));
    RecordsKillTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "tst_recordskill.moc"
