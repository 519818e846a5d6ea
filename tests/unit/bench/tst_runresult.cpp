// SPDX-License-Identifier: Apache-2.0
#include "benchsamples.h"
#include "tools/bench/report.h"

#include <QJsonObject>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

class RunResultTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void statusLineIsRead();
    void missingCounterIsAnError_data();
    void missingCounterIsAnError();
    void windowIsTheDifference();
    void boundsMetExactlyAndMissedByOne();
    void latencyBoundGrowsWithTheDisk();
    void maximumGrowsWithTheMachine();
    void fastClassIsPunctualAlsoBesideBusyLoops();
    void writtenBytesAreBoundAtLowWear();
    void smallGatewayBoundsOnlyAtS35();
    void jsonHoldsWhatIsPromised();
};

namespace {

Scenario scenario(const char *id)
{
    Scenario s;
    s.id = QLatin1String(id);
    s.pointsPerS = 2000;
    s.regularTriggers = 20;
    s.fastTriggers = 2;
    s.triggerTargetPerS = 40;
    s.mqttTargetPerS = 10;
    s.coordinationPerS = 2;
    return s;
}

/// 60 s of S2.5 in which everything that was due was done.
RunResult perfectRun(const char *id = "S2.5")
{
    RunResult r;
    r.scenario = scenario(id);
    r.opening = stoppedStatus();
    r.opening->ledgers.triggers = {240, 238, 0, 0, 0, 2};
    r.opening->ledgers.publications = {60, 60, 0, 0, 0, 0};
    r.final = *r.opening;
    r.final.ledgers.triggers = {240 + 2400, 238 + 2402, 0, 0, 0, 0};
    r.final.ledgers.publications = {60 + 600, 60 + 600, 0, 0, 0, 0};
    r.opening->ledgers.coordination = {12, 11, 0, 0, 0, 1};
    r.final.ledgers.coordination = {12 + 120, 11 + 121, 0, 0, 0, 0};
    for (int i = 0; i < 2400; ++i)
        r.final.trigger.add(1ms);
    for (int i = 0; i < 1200; ++i)
        r.final.fastStart.add(500us);
    r.final.store.lost = 0;
    r.seconds = 60;
    r.canaryMs = {600, 0.4, 0.8, 1.0, 3.0};
    return r;
}

QStringList missed(const RunResult &r)
{
    QStringList texts;
    for (const Bound &b : bounds(r))
        if (!b.isMet())
            texts << b.text;
    return texts;
}

} // namespace

void RunResultTest::statusLineIsRead()
{
    const RuntimeStatus s = stoppedStatus();
    QCOMPARE(s.sequence, std::uint64_t(66));
    QCOMPARE(s.pid, std::int64_t(4711));
    QCOMPARE(s.ledgers.triggers, (Ledger{77, 70, 1, 2, 4, 0}));
    QCOMPARE(s.requests.readBacks, std::uint64_t(70));
    QCOMPARE(s.trigger.count(), std::uint64_t(2));
    QCOMPARE(s.trigger.averageMs(), 1.5);
    QCOMPARE(s.process.threads, std::uint64_t(9));
    QCOMPARE(parseRuntimeStatus("{\"sequence\":1").error().code, QStringLiteral("status.syntax"));
}

void RunResultTest::missingCounterIsAnError_data()
{
    QTest::addColumn<QByteArray>("key");
    for (const char *key : {"offered", "readBacks", "mismatch", "samplesOffered", "skippedByPolicy", "aggregationRuns",
                            "runsKept", "triggerIssued", "fastStart", "coordinationWrites", "rssKb"})
        QTest::newRow(key) << QByteArray(key);
}

// A counter that is not there must never pass for 0.
void RunResultTest::missingCounterIsAnError()
{
    QFETCH(QByteArray, key);
    QByteArray line = stoppedStatusLine();
    line.replace('"' + key + '"', "\"other\"");
    const auto parsed = parseRuntimeStatus(line);
    QVERIFY(!parsed);
    QCOMPARE(parsed.error().code, QStringLiteral("status.missing"));
    QVERIFY2(parsed.error().message.contains(QString::fromUtf8(key)), qPrintable(parsed.error().message));
}

void RunResultTest::windowIsTheDifference()
{
    RunResult r = perfectRun();
    const auto triggers = r.account(&Ledgers::triggers);
    QCOMPARE(triggers.ledger, (Ledger{2400, 2402, 0, 0, 0, 0}));
    QCOMPARE(triggers.inFlightAtOpening, std::uint64_t(2));
    QVERIFY(triggers.allDone());
    QCOMPARE(r.latency(&RuntimeStatus::trigger).count(), std::uint64_t(2400)); // the two of the warm-up are out
    QCOMPARE(r.triggerAttainment(), 2402.0 / 2400.0);
    r.opening.reset();
    QCOMPARE(r.latency(&RuntimeStatus::trigger).count(), std::uint64_t(2402));
}

void RunResultTest::boundsMetExactlyAndMissedByOne()
{
    QCOMPARE(missed(perfectRun()), QStringList());

    RunResult late = perfectRun(); // 0.999 x 2400 = 2397.6
    late.final.ledgers.triggers = {240 + 2398, 238 + 2400, 0, 0, 0, 0};
    QCOMPARE(missed(late), QStringList());
    late.final.ledgers.triggers = {240 + 2397, 238 + 2399, 0, 0, 0, 0};
    QCOMPARE(missed(late), QStringList{QStringLiteral("triggers offered, of target x seconds")});

    RunResult failing = perfectRun();
    --failing.final.ledgers.publications.done;
    ++failing.final.ledgers.publications.failed;
    QCOMPARE(missed(failing), QStringList{QStringLiteral("MQTT publications done, of those offered")});

    RunResult halved = perfectRun();
    halved.final.ledgers.coordination = {12 + 119, 11 + 119, 1, 0, 0, 0};
    QCOMPARE(missed(halved),
             (QStringList{QStringLiteral("coordination runs offered, of target x seconds"),
                          QStringLiteral("coordination runs done, of those offered")}));
    QCOMPARE(halved.coordinationAttainment(), 119.0 / 120.0);
    halved.scenario->coordinationPerS = 0; // S1 has none
    QCOMPARE(missed(halved), QStringList());

    RunResult lossy = perfectRun();
    lossy.final.store.lost = 1;
    QCOMPARE(missed(lossy), QStringList{QStringLiteral("samples lost by the store")});
}

void RunResultTest::latencyBoundGrowsWithTheDisk()
{
    RunResult r = perfectRun();
    for (int i = 0; i < 200; ++i) // 7.7 % of the runs
        r.final.trigger.add(17ms);
    const QStringList tooSlow{QStringLiteral("trigger P95, all four effects confirmed, ms"),
                              QStringLiteral("trigger P99, all four effects confirmed, ms")};
    QCOMPARE(missed(r), tooSlow);
    r.canaryMs.p95 = 2.0;
    QCOMPARE(missed(r), tooSlow);
    r.canaryMs.p95 = 10.0; // 5 + 8 ms, 10 + 8 ms
    QCOMPARE(missed(r), tooSlow.first(1));
    r.canaryMs.p95 = 15.0;
    QCOMPARE(missed(r), QStringList());
}

void RunResultTest::maximumGrowsWithTheMachine()
{
    RunResult r = perfectRun();
    r.final.trigger.add(110ms);
    const QStringList tooSlow{QStringLiteral("trigger maximum (beside the disk's and the longest oversleep), ms")};
    QCOMPARE(missed(r), tooSlow); // 100 + 3 of the disk
    r.oversleepMs = 6;
    QCOMPARE(missed(r), tooSlow);
    r.oversleepMs = 8;
    QCOMPARE(missed(r), QStringList());
}

void RunResultTest::fastClassIsPunctualAlsoBesideBusyLoops()
{
    RunResult r = perfectRun();
    r.busyLoops = 2;
    for (int i = 0; i < 2400; ++i) {
        r.final.trigger.add(500ms); // has no bound then
        r.final.fastStart.add(5ms);
    }
    QCOMPARE(missed(r), QStringList{QStringLiteral("start of 100 ms triggers P99 (SCHED_FIFO), ms")});
    r.final.isRealTime = false;
    QCOMPARE(missed(r), QStringList());
}

void RunResultTest::writtenBytesAreBoundAtLowWear()
{
    RunResult r = perfectRun();
    r.use.writtenGbPerDay = 15.1;
    QCOMPARE(missed(r), QStringList());
    r.isLowWear = true;
    QCOMPARE(missed(r), QStringList{QStringLiteral("written by the runtime, GB a day")});
    r.scenario->isRealTimeStorage = true;
    QCOMPARE(missed(r), QStringList());
    r.use.writtenGbPerDay = 25.1;
    QCOMPARE(missed(r).size(), 1);
}

void RunResultTest::smallGatewayBoundsOnlyAtS35()
{
    RunResult r = perfectRun();
    r.use.runtimeRssMb = 48.5;
    r.use.runtimeCpuPercent = 8.1;
    QCOMPARE(missed(r), QStringList());
    r.scenario->id = QStringLiteral("S3.5");
    QCOMPARE(missed(r).size(), 2);
    r.use.runtimeRssMb = 48.0;
    r.use.runtimeCpuPercent = 8.0;
    QCOMPARE(missed(r), QStringList());
}

void RunResultTest::jsonHoldsWhatIsPromised()
{
    RunResult r = perfectRun();
    r.outside = fittingCounts();
    const auto json = QJsonDocument::fromJson(reportJson(r, reconcile(r.final, fittingCounts()))).object();
    for (const char *path : {"ledger.points.offered",
                             "ledger.triggers.done",
                             "ledger.control.failed",
                             "ledger.mqtt.timedOut",
                             "ledger.alarms.discarded",
                             "attainment.trigger",
                             "attainment.mqtt",
                             "attainment.coordination",
                             "ledger.coordination.offered",
                             "latencyMs.coordination.p95",
                             "outside.dbCoordinationRows",
                             "outside.simCoordinationWrites",
                             "window.ledger.coordination.done",
                             "latencyMs.trigger.p95",
                             "latencyMs.triggerIssued.p50",
                             "latencyMs.mqtt.p99",
                             "store.samplesOffered",
                             "store.rows",
                             "store.skippedByPolicy",
                             "store.lost",
                             "store.pending",
                             "store.bytes",
                             "requests.reads",
                             "requests.readBacks",
                             "requests.writes",
                             "outside.simReads",
                             "outside.simWrites",
                             "outside.subscriberMessages",
                             "outside.dbAggregationRows",
                             "outside.dbAlarmRows",
                             "runtime.cpuPercentOfOneCore",
                             "runtime.rssMb",
                             "runtime.threads",
                             "device.cpuPercent.avg",
                             "device.cpuPercent.peak",
                             "device.memoryMb.p95",
                             "canary.fdatasyncMs.p95",
                             "canary.fdatasyncMs.max",
                             "latencyMs.fastStart.p99",
                             "oversleepMs",
                             "writtenGbPerDay",
                             "busyLoops",
                             "samplerTimeouts",
                             "recordsKept",
                             "seconds",
                             "machine.cores",
                             "window.seconds",
                             "window.ledger.triggers.offered"}) {
        QJsonValue at = json;
        for (const QString &key : QString::fromLatin1(path).split(QLatin1Char('.')))
            at = at.toObject().value(key);
        QVERIFY2(at.isDouble(), path);
    }
    QCOMPARE(json.value(QLatin1String("window"))
                 .toObject()
                 .value(QLatin1String("ledger"))
                 .toObject()
                 .value(QLatin1String("triggers"))
                 .toObject()
                 .value(QLatin1String("offered"))
                 .toInt(),
             2400);
}

QTEST_APPLESS_MAIN(RunResultTest)
#include "tst_runresult.moc"
