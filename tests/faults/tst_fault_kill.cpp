// SPDX-License-Identifier: Apache-2.0
// T01: kill -9 at random moments under the load of S2.5. What was acknowledged to the outside before a kill (by the last
// status line, by what the subscriber saw) is there after it, exactly once.
#include "faults/faultsize.h"
#include "faults/historyrows.h"
#include "faults/loadbed.h"
#include "tools/bench/outside.h"

#include <QElapsedTimer>
#include <QRandomGenerator>
#include <QSet>
#include <QTest>

#include <algorithm>

using namespace gridloom;
using namespace gridloom::faults;
using namespace std::chrono_literals;

namespace {
constexpr int kKillsPerFolder = 50;
constexpr int kTriggers = 22; // of S2.5: 20 once a second, 2 each 100 ms

qint64 microsNow()
{
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// What one life of the runtime had acknowledged before it was killed.
struct Life {
    qint64 beginUs = 0;
    qint64 endUs = 0;
    QJsonObject last; ///< status line
};
} // namespace

class KillTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void killedAtRandomMoments();

private:
    void live(LoadBed &bed, std::chrono::milliseconds span);
    void checkRecords(const LoadBed &bed) const;
    void checkMessages(const LoadBed &bed) const;
    void checkHistory(const LoadBed &bed) const;

    std::vector<Life> m_lives;
    std::vector<double> m_firstPollS;
};

void KillTest::live(LoadBed &bed, std::chrono::milliseconds span)
{
    Life life;
    life.beginUs = microsNow();
    QElapsedTimer age;
    age.start();
    QVERIFY(bed.launchRuntime());
    bool hasPolled = false;
    while (age.elapsed() < span.count()) {
        const QJsonObject status = bed.takeStatus();
        if (!status.isEmpty())
            life.last = status;
        if (!hasPolled && numberAt(life.last, {"ledger", "points", "done"}) > 0) {
            hasPolled = true;
            m_firstPollS.push_back(static_cast<double>(age.elapsed()) * 1e-3);
        }
        QTest::qWait(2);
    }
    QVERIFY2(bed.runtime().isRunning(), bed.runtime().output().right(2000).constData());
    bed.killRuntime();
    life.endUs = microsNow();
    m_lives.push_back(life);
}

void KillTest::killedAtRandomMoments()
{
    const int kills = numberFrom("GRIDLOOM_FAULT_KILLS", bySize(3, 100, 1'000));
    const int longestMs = bySize(2'000, 5'000, 20'000);
    const auto seed = static_cast<quint32>(numberFrom("GRIDLOOM_FAULT_SEED", static_cast<int>(microsNow() & 0xFFFFFF)));
    report("seed", static_cast<qint64>(seed));
    QRandomGenerator random(seed);
    qint64 acknowledged = 0;
    for (int done = 0; done < kills;) {
        LoadBed bed;
        const QString why = bed.prepare(QStringLiteral("S2.5"));
        QVERIFY2(why.isEmpty(), qPrintable(why));
        m_lives.clear();
        for (int i = 0; i < kKillsPerFolder && done < kills; ++i, ++done) {
            // The short size has few kills: they come when there is something to lose.
            const int from = size() == Size::Short ? 1'200 : 50;
            live(bed, std::chrono::milliseconds(from + random.bounded(longestMs - from)));
            if (QTest::currentTestFailed())
                return;
        }
        QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
        QVERIFY(!bed.statusWhere([](const QJsonObject &s) {
                        return numberAt(s, {"ledger", "points", "done"}) > 0;
                    })
                     .isEmpty());
        QJsonObject last;
        QVERIFY2(bed.stopRuntime(last) == 0, bed.runtime().output().right(2000).constData());
        QVERIFY(ledgersAddUp(last));
        checkRecords(bed);
        checkMessages(bed);
        checkHistory(bed);
        if (QTest::currentTestFailed())
            return;
        for (const Life &life : m_lives)
            acknowledged += numberAt(life.last, {"records", "committed"});
        report("kills", done);
        report("recordsAcknowledged", acknowledged);
        std::sort(m_firstPollS.begin(), m_firstPollS.end());
        const double p95 = m_firstPollS.empty() ? 0 : m_firstPollS[(m_firstPollS.size() * 95 - 1) / 100];
        report("firstPollP95S", p95);
        QVERIFY(p95 <= 5.0);
    }
    QVERIFY2(acknowledged > 0, "no life got as far as a commit: nothing was tested");
}

void KillTest::checkRecords(const LoadBed &bed) const
{
    const QString db = bed.recordsDb();
    QCOMPARE(integrityOf(db), QStringLiteral("ok"));
    QCOMPARE(sqlNumber(db, "SELECT count(*) - count(DISTINCT command) FROM control_records"), 0);
    QCOMPARE(sqlNumber(db, "SELECT count(*) - count(DISTINCT run) FROM run_records"), 0);
    QCOMPARE(
        sqlNumber(db, "SELECT count(*) - count(DISTINCT run || '/' || alarm_id) FROM alarm_transitions WHERE run > 0"),
        0);
    for (const Life &life : m_lives) {
        const auto rows = [&](const char *table, const char *time) {
            return sqlNumber(db,
                             QStringLiteral("SELECT count(*) FROM %1 WHERE %2 BETWEEN %3 AND %4")
                                 .arg(QLatin1String(table), QLatin1String(time))
                                 .arg(life.beginUs)
                                 .arg(life.endUs)
                                 .toLatin1()
                                 .constData());
        };
        // An alarm is done once durable. Of the others at most what was appended and not yet committed may be missing.
        const qint64 open =
            numberAt(life.last, {"records", "appended"}) - numberAt(life.last, {"records", "committed"});
        const qint64 control = numberAt(life.last, {"ledger", "control", "offered"})
            - numberAt(life.last, {"ledger", "control", "inFlight"});
        QVERIFY(rows("alarm_transitions", "time_us") >= numberAt(life.last, {"ledger", "alarms", "done"}));
        QVERIFY(rows("control_records", "requested_us") >= control - open);
        QVERIFY(rows("run_records", "due_us") >= numberAt(life.last, {"records", "runsKept"}) - open);
    }
}

// Each run whose alarm is in the journal had published before. Alarms of a run that was killed between the two may be
// without their message, so those after the last acknowledged one of a life do not count.
void KillTest::checkMessages(const LoadBed &bed) const
{
    QCOMPARE(sqlNumber(bed.recordsDb(), "SELECT count(*) FROM outbox"), 0);
    qint64 wanted = 0;
    for (const Life &life : m_lives)
        wanted +=
            numberAt(life.last, {"ledger", "mqtt", "offered"}) - numberAt(life.last, {"ledger", "mqtt", "inFlight"});
    QVERIFY2(
        bed.received().size() >= wanted,
        qPrintable(QStringLiteral("%1 messages came, %2 were acknowledged").arg(bed.received().size()).arg(wanted)));
    qint64 again = 0;
    for (const int times : bed.received())
        again += times - 1;
    report("messagesTwice", again);
    // What is handed to the broker and not acknowledged in the record yet is sent again: the window, each life.
    QVERIFY(again <= 20 * static_cast<qint64>(m_lives.size()) + 20);
}

void KillTest::checkHistory(const LoadBed &bed) const
{
    QStringList series;
    for (int t = 1; t <= kTriggers; ++t)
        series << QStringLiteral("runs.trigger-%1").arg(t, 3, 10, QLatin1Char('0'));
    const auto count =
        countStoreRowsApart(GatewayBed::program("gridloom-bench"), bed.stateDir() + QLatin1String("/history"));
    QVERIFY2(count.ok(), qPrintable(count.ok() ? QString() : count.error().message));
    qint64 handedOver = 0;
    for (const Life &life : m_lives)
        handedOver += numberAt(life.last, {"store", "rows"});
    QVERIFY(static_cast<qint64>(count.value().rows) >= handedOver);

    QString why;
    const auto rows = historyRows(bed.stateDir(), series, why);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    QSet<std::uint64_t> runs;
    for (const auto &ofSeries : rows)
        for (const HistoryRow &row : ofSeries) {
            QVERIFY2(!runs.contains(row.run), "a row of a run is there twice");
            runs.insert(row.run);
        }
    for (const Life &life : m_lives) {
        qint64 found = 0;
        for (const auto &ofSeries : rows)
            found += std::count_if(ofSeries.begin(), ofSeries.end(), [&](const HistoryRow &row) {
                const qint64 us = row.time.time_since_epoch().count();
                return us >= life.beginUs - 1'000 && us <= life.endUs; // stored in whole milliseconds
            });
        QVERIFY(found >= numberAt(life.last, {"store", "aggregationRows"}));
    }
}

QTEST_GUILESS_MAIN(KillTest)
#include "tst_fault_kill.moc"
