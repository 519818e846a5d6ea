// SPDX-License-Identifier: Apache-2.0
// What a start gets from earlier runs: states, answers to commands, deployments, exact numbers; from files of version 1
// and of a version yet to come; and how long rows are kept.
#include "recordsprobe.h"

#include <QCryptographicHash>
#include <QFile>
#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;

class RecordsKeptTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { m_dir = temporaryFolder(); }
    void lastStateOfAKeyWins();
    void aFlippedStateIsNoState();
    void openAlarmsAreThoseNotNormal();
    void repliesAndDeploymentsSurvive();
    void everyKindHasItsRow();
    void auditIsAChain();
    void orderlyEndLeavesNoGap();
    void numbersAfterTheEndAreNoEnd();
    void versionOneIsTakenOver();
    void newerDatabaseIsKeptAside();
    void newerLogIsKeptAside();
    void savedFromADamagedDatabase();
    void oldRowsGoByAge();

private:
    QString database() const { return m_dir->filePath(QStringLiteral("records.db")); }
    void append(const std::vector<Record> &records);

    std::unique_ptr<QTemporaryDir> m_dir;
    FakeClock m_clock;
};

void RecordsKeptTest::append(const std::vector<Record> &records)
{
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    for (const Record &record : records)
        store.append(record);
}

namespace {
StateRecord state(const char *key, const QByteArray &value)
{
    return {QLatin1String(key), value};
}
using States = std::map<QString, QByteArray>;
} // namespace

void RecordsKeptTest::lastStateOfAKeyWins()
{
    append({state("window/a.b", "1"), state("script/t", QByteArray("\0\1", 2)), state("window/a.b", "2"),
            state("alarm/gone", "x")});
    append({state("alarm/gone", {}), state("script/u", "new"), state("script/never", {})});
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    const States expected{{QStringLiteral("window/a.b"), "2"},
                          {QStringLiteral("script/t"), QByteArray("\0\1", 2)},
                          {QStringLiteral("script/u"), "new"}};
    QCOMPARE(store.states(), expected);
    QCOMPARE(rows(database(), "SELECT key FROM states ORDER BY key"),
             (QStringList{QStringLiteral("script/t"), QStringLiteral("script/u"), QStringLiteral("window/a.b")}));
    store.append(aRun(1)); // from here on they are the engine's
    QVERIFY(store.states().empty());
}

// PC-18 (d): SQLite would not notice.
void RecordsKeptTest::aFlippedStateIsNoState()
{
    append({state("script/t", "a state to flip"), state("script/u", "whole")});
    QByteArray bytes = readFile(database());
    const qsizetype at = bytes.indexOf("state to flip");
    QVERIFY(at > 0);
    bytes[at] ^= 4;
    writeFile(database(), bytes);
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(store.states(), (States{{QStringLiteral("script/u"), "whole"}}));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    QVERIFY2(faults[0].contains(QStringLiteral("script/t")) && faults[0].contains(database()), qPrintable(faults[0]));
}

void RecordsKeptTest::openAlarmsAreThoseNotNormal()
{
    const auto transition = [](const char *id, const char *to, const char *text) {
        AlarmTransition a = anAlarm(QLatin1String(text));
        a.alarmId = QLatin1String(id);
        a.to = QLatin1String(to);
        return a;
    };
    append({transition("s.a", "Unacknowledged", "a1"), transition("s.b", "Unacknowledged", "b1"),
            transition("s.c", "Unacknowledged", "c1"), transition("s.a", "Acknowledged", "a2"),
            transition("s.c", "Normal", "c2")});
    const auto open = [](const RecordsStore &store) {
        QStringList texts;
        for (const AlarmTransition &a : store.openAlarms())
            texts << a.alarmId + QLatin1Char('=') + a.to + QLatin1Char('=') + a.text;
        texts.sort();
        return texts.join(QLatin1Char(' '));
    };
    {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        QCOMPARE(open(store), QStringLiteral("s.a=Acknowledged=a2 s.b=Unacknowledged=b1"));
        QVERIFY(store.openAlarms()[0].severity == Severity::High && store.openAlarms()[0].time == kTime);
        store.append(transition("s.b", "Normal", "b2"));
        store.append(transition("s.c", "Unacknowledged", "c3"));
    }
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(open(store), QStringLiteral("s.a=Acknowledged=a2 s.c=Unacknowledged=c3"));
    QCOMPARE(rows(database(), "SELECT alarm_id, state, severity, text FROM alarm_states_text ORDER BY alarm_id"),
             (QStringList{QStringLiteral("s.a|Acknowledged|high|a2"), QStringLiteral("s.c|Unacknowledged|high|c3")}));
}

void RecordsKeptTest::repliesAndDeploymentsSurvive()
{
    append({CommandReply{"1", "first", kTime}, CommandReply{"2", "second", kTime}, aDeployment(QStringLiteral("r1"))});
    append({CommandReply{"3", "third", kTime}, aDeployment(QStringLiteral("r2"))});
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QByteArrayList replies;
    for (const CommandReply &reply : store.replies())
        replies << reply.id + '=' + reply.reply;
    QCOMPARE(replies.join(' '), QByteArray("1=first 2=second 3=third"));
    QVERIFY(store.replies()[0].time == kTime);
    QVERIFY(store.lastDeployment().has_value());
    QCOMPARE(store.lastDeployment()->revision, QStringLiteral("r2"));
    QCOMPARE(store.lastDeployment()->who, QStringLiteral("start"));
}

void RecordsKeptTest::everyKindHasItsRow()
{
    append({anAudit(QStringLiteral("anna")), aDeployment(QStringLiteral("r1")),
            CoordinationRecord{7, QStringLiteral("shed"), QStringLiteral("Failed"), QStringLiteral("step 2"), kTime, -1,
                               true, "[{}]"},
            CommandReply{"id", "{}", kTime}});
    QCOMPARE(rows(database(), "SELECT number, time, who, act, object, detail, allowed, length(hash) FROM audit_text"),
             QStringList(QStringLiteral("1|2026-08-01T00:00:00.000001Z|anna|write|pv1.limit|12.5|0|32")));
    QCOMPARE(rows(database(), "SELECT number, time_us, revision, state, who, detail FROM deployments_text"),
             QStringList(QStringLiteral("2|1785542400000001|r1|Applied|start|")));
    QCOMPARE(rows(database(), "SELECT * FROM coordination_records"),
             QStringList(QStringLiteral("3|7|shed|Failed|step 2|1785542400000001|null|1|[{}]")));
    QCOMPARE(rows(database(), "SELECT number, id, reply, time FROM command_replies_text"),
             QStringList(QStringLiteral("4|id|{}|2026-08-01T00:00:00.000001Z")));
}

// Checked by the rule of docs/records.md alone.
void RecordsKeptTest::auditIsAChain()
{
    append({anAudit(QStringLiteral("anna")), aRun(1), anAudit(QStringLiteral("b\u00f6b"))});
    append({anAudit(QStringLiteral("carl"))});
    QByteArray before(32, '\0');
    const QStringList found = rows(database(),
                                   "SELECT hex(hash), number, time_us, who, act, object, detail, allowed FROM audit "
                                   "ORDER BY number");
    QCOMPARE(found.size(), 3);
    for (const QString &row : found) {
        QByteArray text = before;
        for (const QString &field : row.split(QLatin1Char('|')).mid(1))
            text += field.toUtf8() + '\0';
        before = QCryptographicHash::hash(text, QCryptographicHash::Sha256);
        QCOMPARE(row.section(QLatin1Char('|'), 0, 0).toLatin1(), before.toHex().toUpper());
    }
}

void RecordsKeptTest::orderlyEndLeavesNoGap()
{
    for (std::uint64_t start = 0; start < 3; ++start) {
        append({aRun(start * 10 + 1), NumbersUsed{start * 100 + 50, start * 10 + 11, start + 5}});
        // Database and log know the same; each alone is enough.
        if (start == 1)
            QVERIFY(QFile::remove(database()));
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        QCOMPARE(store.nextMessageId(), start * 100 + 50);
        QCOMPARE(store.nextRun(), start * 10 + 11);
        QCOMPARE(store.nextCommand(), start + 5);
        store.append(NumbersUsed{store.nextMessageId(), store.nextRun(), store.nextCommand()});
        store.close();
        if (start == 2)
            QVERIFY(QFile::remove(m_dir->filePath(files(m_dir->path(), "records-*.log").value(0))));
    }
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(store.nextRun(), std::uint64_t{31});
}

void RecordsKeptTest::numbersAfterTheEndAreNoEnd()
{
    append({NumbersUsed{50, 11, 5}, aRun(70)});
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QVERIFY(store.nextRun() > 70);
    QVERIFY(store.nextMessageId() >= 50);
}

// tests/unit/records/version1 was left by a kill of a gridloomd of version 1: "moved" stands in the database, "in the
// log" in a log only; of the messages 1 to 3 and 100001 the first two were acknowledged.
void RecordsKeptTest::versionOneIsTakenOver()
{
    const QString fixture = QStringLiteral(GRIDLOOM_SOURCE_DIR "/tests/unit/records/version1/");
    for (const char *name : {"records.db", "records-00000003.log", "records-00000004.log"})
        writeFile(m_dir->filePath(QLatin1String(name)), readFile(fixture + QLatin1String(name)));
    for (int start = 0; start < 2; ++start) {
        RecordsStore store({}, m_clock);
        QVERIFY(store.open(m_dir->path()));
        QCOMPARE(store.takeFaults(), QStringList());
        QVERIFY(store.nextRun() > 100'001 && store.nextMessageId() > 100'001 && store.nextCommand() > 100'001);
        QByteArrayList pending;
        for (const OutboxEntry &entry : store.pendingOutbox())
            pending << entry.message.payload;
        QCOMPARE(pending.join(' '), QByteArray("3 4"));
        QVERIFY(store.states().empty() && store.replies().empty() && !store.lastDeployment());
        QCOMPARE(store.openAlarms().size(), std::size_t{1});
        QCOMPARE(store.openAlarms()[0].text, QStringLiteral("in the log"));
    }
    QCOMPARE(rows(database(), "SELECT text FROM alarm_transitions ORDER BY number"),
             (QStringList{QStringLiteral("moved"), QStringLiteral("in the log")}));
    QCOMPARE(rows(database(), "SELECT reason FROM control_records ORDER BY number"),
             (QStringList{QStringLiteral("shave#300"), QStringLiteral("shave#301")}));
    QCOMPARE(rows(database(), "SELECT run FROM run_records ORDER BY number"),
             (QStringList{QStringLiteral("300"), QStringLiteral("100001")}));
    // The database alone knew what the alarm was in before.
    writeFile(database(), readFile(fixture + QStringLiteral("records.db")));
    for (const QString &name : files(m_dir->path(), "records-*.log"))
        QVERIFY(QFile::remove(m_dir->filePath(name)));
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(store.openAlarms().size(), std::size_t{1});
    QCOMPARE(store.openAlarms()[0].text, QStringLiteral("moved"));
    store.close();
    QCOMPARE(rows(database(), "SELECT value FROM meta WHERE key = 'schema_version'"), QStringList(QStringLiteral("2")));
    QCOMPARE(integrity(database()), QStringLiteral("ok"));
}

void RecordsKeptTest::newerDatabaseIsKeptAside()
{
    append({anAlarm(QStringLiteral("old")), aMessage(5), state("script/t", "s")});
    QCOMPARE(rows(database(), "UPDATE meta SET value = 3 WHERE key = 'schema_version'"), QStringList());
    const QByteArray bytes = readFile(database());
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    QVERIFY2(faults[0].contains(database()) && faults[0].contains(QStringLiteral("newer version of Gridloom")),
             qPrintable(faults[0]));
    QCOMPARE(readFile(m_dir->filePath(QStringLiteral("records.db.corrupt-20260801T000000Z"))), bytes);
    QCOMPARE(store.pendingOutbox().size(), std::size_t{1});
    QCOMPARE(store.states().size(), std::size_t{1});
}

void RecordsKeptTest::newerLogIsKeptAside()
{
    append({aRun(1)});
    const QString log = m_dir->filePath(QStringLiteral("records-00000077.log"));
    writeFile(log, fileHeader("GLRECORD", kLogVersion + 1) + "something new");
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    QVERIFY2(faults[0].contains(log) && faults[0].contains(QStringLiteral("newer version")), qPrintable(faults[0]));
    QVERIFY(QFile::exists(log + QStringLiteral(".corrupt-20260801T000000Z")));
    QVERIFY(store.nextRun() > 1);
}

void RecordsKeptTest::savedFromADamagedDatabase()
{
    std::vector<Record> records;
    for (int i = 1; i <= 300; ++i)
        records.push_back(anAlarm(QString::number(i)));
    for (const Record &record : std::initializer_list<Record>{
             aMessage(5), state("script/t", "s"), CommandReply{"1", "first", kTime}, aDeployment(QStringLiteral("r1"))})
        records.push_back(record);
    append(records);
    // Breaks the pages of alarm_transitions, which are the largest part.
    QByteArray bytes = readFile(database());
    const qsizetype page = bytes.lastIndexOf("set.hot") / 4096;
    std::fill(bytes.begin() + page * 4096, bytes.begin() + (page + 1) * 4096, '\x55');
    writeFile(database(), bytes);
    RecordsStore store({}, m_clock);
    QVERIFY(store.open(m_dir->path()));
    QCOMPARE(store.takeFaults().size(), 1);
    QCOMPARE(store.pendingOutbox().size(), std::size_t{1});
    QCOMPARE(store.states(), (States{{QStringLiteral("script/t"), "s"}}));
    QCOMPARE(store.replies().size(), std::size_t{1});
    QCOMPARE(store.openAlarms().size(), std::size_t{1});
    QVERIFY(store.lastDeployment() && store.lastDeployment()->revision == QStringLiteral("r1"));
    store.close();
    QCOMPARE(integrity(database()), QStringLiteral("ok"));
}

void RecordsKeptTest::oldRowsGoByAge()
{
    RecordsOptions options;
    options.retention.alarmTransitions = {1'000, std::chrono::hours(24), 3};
    const auto append = [&](int count, std::chrono::hours before) {
        RecordsStore store(options, m_clock);
        QVERIFY(store.open(m_dir->path()));
        for (int i = 0; i < count; ++i) {
            AlarmTransition a = anAlarm(QString::number(before.count()));
            a.time = m_clock.wallNow() - before;
            store.append(a);
        }
    };
    append(10, std::chrono::hours(30));
    // The newest three stay, however old: the clock may be wrong.
    QCOMPARE(rows(database(), "SELECT count(*), min(text) FROM alarm_transitions"),
             QStringList(QStringLiteral("3|30")));
    append(5, std::chrono::hours(23));
    QCOMPARE(rows(database(), "SELECT count(*), min(text) FROM alarm_transitions"),
             QStringList(QStringLiteral("5|23")));
}

QTEST_GUILESS_MAIN(RecordsKeptTest)
#include "tst_recordskept.moc"
