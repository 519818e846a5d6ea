// SPDX-License-Identifier: Apache-2.0
// What the low-wear profile has written, by the kernel's own count: one minute of the records of a load, in its groups of
// 100 ms (one after the other without waiting), and its one checkpoint, with old rows going as new ones come.
#include "recordsprobe.h"

#include <QFile>
#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using namespace std::chrono_literals;

namespace {
// Bytes that this process has had written; nothing when the kernel does not count or the folder is in memory.
std::optional<qint64> writtenBytes()
{
    QFile file(QStringLiteral("/proc/self/io"));
    if (!file.open(QIODevice::ReadOnly))
        return std::nullopt;
    const QByteArray text = file.readAll();
    const qsizetype at = text.indexOf("\nwrite_bytes: ");
    return at < 0 ? std::nullopt : std::optional(text.mid(at + 14).split('\n')[0].toLongLong());
}

constexpr int kGroups = 600; // a minute
constexpr std::size_t kTriggers = 90;

/// A run with all four effects, as the engine records it. Its message is acknowledged within the group but for one in
/// `lateEvery`, as with a broker that answers in some milliseconds.
class Load {
public:
    Load(RecordsStore &store, int lateEvery) : m_store(store), m_lateEvery(lateEvery) {}

    void run()
    {
        ++m_run;
        m_time += 11ms;
        const auto us = [this](std::int64_t least) { return least + static_cast<std::int64_t>(m_run * 7919 % 4001); };
        const QString trigger = QStringLiteral("trigger-%1").arg(m_run % kTriggers);
        ControlRecord control;
        control.command = m_run;
        control.pointId = QStringLiteral("bulk-%1.set-%2").arg(m_run % 9).arg(m_run % 10);
        control.value = control.readBack = Value(m_run);
        control.reason = trigger + QLatin1Char('#') + QString::number(m_run);
        control.priority = QStringLiteral("schedule");
        control.state = QStringLiteral("Confirmed");
        control.requested = m_time;
        control.durationUs = us(400);
        m_store.append(control);
        AlarmTransition alarm = anAlarm({});
        const bool isRaise = m_run / kTriggers % 2 == 0;
        alarm.alarmId = QStringLiteral("site.event-%1").arg(m_run % kTriggers);
        alarm.from = isRaise ? QStringLiteral("ReturnToNormal-Unacknowledged") : QStringLiteral("Unacknowledged");
        alarm.to = isRaise ? QStringLiteral("Unacknowledged") : QStringLiteral("ReturnToNormal-Unacknowledged");
        alarm.time = m_time;
        alarm.value.clear();
        alarm.run = m_run;
        m_store.append(alarm);
        publish(QByteArray(R"({"id":)") + QByteArray::number(qulonglong{m_run}) + R"(,"trigger":"task","run":1})");
        RunRecord run;
        run.run = m_run;
        run.triggerId = trigger;
        run.outcome = QStringLiteral("Ok");
        run.due = m_time;
        run.startUs = us(30);
        run.evalUs = us(60);
        run.controlUs = us(900);
        run.alarmUs = us(50'000);
        run.mqttUs = us(1'500);
        run.aggregationUs = us(400);
        run.doneUs = us(50'100);
        run.detail = "{}";
        m_last = m_store.append(run);
    }
    void publish(const QByteArray &payload)
    {
        const std::uint64_t id = ++m_message;
        m_store.append(OutboxEntry{
            kSink, {id, "gridloom/v1/gateway/alarm/task-" + QByteArray::number(id % 90), payload, 1, false}, m_time});
        if (id % static_cast<std::uint64_t>(m_lateEvery) == 0)
            m_late.push_back(id);
        else
            m_last = m_store.append(anAcknowledgement(id));
    }
    /// The group ends; answers that came too late for it come in the next one.
    RecordNumber endGroup()
    {
        for (const std::uint64_t id : std::exchange(m_answering, std::exchange(m_late, {})))
            m_last = m_store.append(anAcknowledgement(id));
        return m_last;
    }

private:
    RecordsStore &m_store;
    int m_lateEvery;
    std::uint64_t m_run = 0, m_message = 0;
    WallTime m_time = kTime;
    RecordNumber m_last = 0;
    std::vector<std::uint64_t> m_late, m_answering;
};
} // namespace

class RecordsWearTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aDayIsAffordable_data();
    void aDayIsAffordable();
};

void RecordsWearTest::aDayIsAffordable_data()
{
    QTest::addColumn<int>("runs");         // a second
    QTest::addColumn<int>("publications"); // a second, QoS 1, 300 bytes
    QTest::addColumn<double>("growing");   // GB a day at most while the tables grow,
    QTest::addColumn<double>("full");      // and once old rows go as new ones come
    QTest::newRow("S2.5") << 40 << 10 << 5.5 << 6.5;
    QTest::newRow("S3.5") << 90 << 20 << 7.0 << 9.0;
    QTest::newRow("S6") << 150 << 50 << 9.0 << 12.5;
}

void RecordsWearTest::aDayIsAffordable()
{
    QFETCH(int, runs);
    QFETCH(int, publications);
    QFETCH(double, growing);
    QFETCH(double, full);
    if (!writtenBytes())
        QSKIP("the kernel does not count the bytes that a process writes");
    QTemporaryDir folder(QStringLiteral(GRIDLOOM_BINARY_DIR "/wear-XXXXXX")); // on a disk
    const FakeClock clock;
    RecordsOptions options;
    options.checkpointPeriod = 1h; // when its minute ends, by close()
    options.durableCommit = 5ms;   // longer than it takes to append a group
    // So that the second minute pushes the first one out.
    for (auto *limit :
         {&options.retention.alarmTransitions, &options.retention.controlRecords, &options.retention.runRecords})
        limit->rows = 60 * runs;
    const QByteArray payload(300, 'x');
    for (const double bound : {growing, full}) {
        RecordsStore store(options, clock);
        QVERIFY(store.open(folder.path()));
        Commits commits(store);
        Load load(store, 4);
        const qint64 begin = writtenBytes().value();
        for (int group = 0; group < kGroups; ++group) {
            for (int i = runs * group / 10; i < runs * (group + 1) / 10; ++i)
                load.run();
            for (int i = publications * group / 10; i < publications * (group + 1) / 10; ++i)
                load.publish(payload);
            QVERIFY(commits.waitFor(load.endGroup()));
        }
        const qint64 log = writtenBytes().value() - begin;
        store.close();
        const auto made = static_cast<qint64>(store.statistics().commits);
        if (made > kGroups * 3 / 2)
            QSKIP("the machine is too busy: most groups were written in parts");
        // A group that was written in parts counts as one commit all the same: the profile makes ten a second.
        const qint64 database = writtenBytes().value() - begin - log;
        const auto perDay = [](qint64 bytes) { return static_cast<double>(bytes) * 1440 / 1e9; };
        const double logDay = perDay(log * kGroups / made);
        const double day = logDay + perDay(database);
        if (day < 0.5)
            QSKIP("the build folder is not on a disk");
        qInfo("%d runs a second, %s: %.2f GB a day, %.2f of it for the log", runs,
              bound == growing ? "growing" : "full", day, logDay);
        QVERIFY2(day < bound, qPrintable(QString::number(day)));
    }
}

QTEST_GUILESS_MAIN(RecordsWearTest)
#include "tst_recordswear.moc"
