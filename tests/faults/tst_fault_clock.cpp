// SPDX-License-Identifier: Apache-2.0
// T09 and PC-20: the wall clock jumps, the runtime is started again, the design changes, a point goes bad. Polls and
// triggers keep their pace, and no point has a gap in its history on the clock that does not jump.
#include "faults/faultsize.h"
#include "faults/faultswitch.h"
#include "faults/historyrows.h"
#include "faults/loadbed.h"

#include <QElapsedTimer>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace gridloom;
using namespace gridloom::faults;
using namespace std::chrono_literals;

namespace {
using std::chrono::seconds;

constexpr auto kStill = R"({"devices":[{"id":"dev","type":"bulk","changeEveryMs":3600000}]})";
constexpr std::chrono::milliseconds kLateness{500};

qint64 realMicros()
{
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// A device whose `points` registers never change, each polled once a second, and rows by change or after maxInterval.
DesignDocument stillDesign(int brokerPort, int port, int points, std::chrono::milliseconds maxInterval)
{
    DesignDocument files = GatewayBed::baseDesign(brokerPort);
    files["gridloom.json"].replace(R"({"mode":"realTime"})",
                                   R"({"mode":"onChange","maxIntervalMs":)" + QByteArray::number(maxInterval.count())
                                       + '}');
    GatewayBed::addBulkDevice(files, port);
    QByteArray list;
    for (int i = 0; i < points; ++i) {
        QByteArray point =
            R"({"id":"cN","name":"cN","kind":"measured","address":"holding:N","type":"uint16","periodMs":1000})";
        list += (i == 0 ? "" : ",") + point.replace('N', QByteArray::number(i));
    }
    files["devices/dev.json"] =
        R"({"id":"dev","name":"dev","channel":"dev-bus","params":{"unit":1},"points":[)" + list + "]}";
    return files;
}

QStringList seriesOf(int points)
{
    QStringList series;
    for (int i = 0; i < points; ++i)
        series << QStringLiteral("dev.c%1").arg(i);
    return series;
}

/// A stretch of the run in which the wall clock was off by `offset`.
struct Phase {
    seconds offset{0};
    qint64 beginUs = 0; ///< real
    qint64 endUs = 0;
};

/// The real moments of rows whose stamps are of the wall clocks of `phases`, earliest first.
std::vector<qint64> realTimes(const std::vector<HistoryRow> &rows, const std::vector<Phase> &phases)
{
    std::vector<qint64> times;
    for (const HistoryRow &row : rows)
        for (const Phase &phase : phases) {
            const qint64 us = row.time.time_since_epoch().count() - std::chrono::microseconds(phase.offset).count();
            // Half a second: a step comes between a sample's stamp and now.
            if (us >= phase.beginUs - 500'000 && us <= phase.endUs + 500'000) {
                times.push_back(us);
                break;
            }
        }
    std::sort(times.begin(), times.end());
    return times;
}

qint64 longestGap(const std::vector<qint64> &times, qint64 endUs)
{
    qint64 longest = times.empty() ? endUs : endUs - times.back();
    for (std::size_t i = 1; i < times.size(); ++i)
        longest = std::max(longest, times[i] - times[i - 1]);
    return longest;
}
} // namespace

class ClockTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void stepsOfTheWallClock();
    void constantPointsLeaveNoGap();
};

// The first boot is in 1970.
void ClockTest::stepsOfTheWallClock()
{
    const auto maxInterval = bySize(1'000ms, 10'000ms, 10'000ms);
    const int phaseMs = bySize(1'200, 22'000, 120'000);
    constexpr int kPoints = 10;
    LoadBed bed;
    const auto ports = bed.startSimulator(kStill);
    const QString why = bed.startBroker();
    QVERIFY2(why.isEmpty(), qPrintable(why));
    DesignDocument files = stillDesign(bed.broker().port(), ports[QStringLiteral("dev")], kPoints, maxInterval);
    GatewayBed::addPeriodicTrigger(files, "beat", 1'000, R"(mqtt.publish("beat", {run = run.number}))");
    bed.writeDesign(files);

    FaultSwitch faults(bed.stateDir());
    const seconds epoch{-realMicros() / 1'000'000 + 60};
    faults.setWallOffset(epoch);
    bed.setEnvironment(faults.environment());
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    std::vector<qint64> beats;
    bed.whenReceived([&](const MqttMessage &message) {
        if (message.topic.endsWith("/beat"))
            beats.push_back(realMicros());
    });
    // Not by waiting for the status socket alone: messages are stamped when they come.
    const auto statusLine = [&bed](qint64 leastPoints) {
        QJsonObject status;
        const auto came = [&] {
            status = bed.takeStatus();
            return numberAt(status, {"ledger", "points", "done"}) > leastPoints;
        };
        return QTest::qWaitFor(came, 10'000) ? status : QJsonObject();
    };
    const QJsonObject first = statusLine(0);
    QVERIFY(!first.isEmpty());

    std::vector<Phase> phases;
    for (const seconds offset :
         {epoch, seconds(0), seconds(-3'600), seconds(3'600), seconds(365 * 86'400), seconds(0)}) {
        const qint64 now = realMicros();
        if (!phases.empty())
            phases.back().endUs = now;
        faults.setWallOffset(offset);
        phases.push_back({offset, now, now});
        QTest::qWait(phaseMs);
    }
    // 500 ppm: 50 us in 100 ms.
    for (int step = 1; step <= phaseMs / 100; ++step) {
        faults.setWallOffset(std::chrono::microseconds(50 * step));
        QTest::qWait(100);
    }
    phases.back().endUs = realMicros();
    // What was written down before a status line of now is stored.
    const QJsonObject last = statusLine(1);
    QVERIFY2(!last.isEmpty(), bed.runtime().output().right(2000).constData());
    const double passed = last[QLatin1String("uptimeS")].toDouble() - first[QLatin1String("uptimeS")].toDouble();
    QVERIFY(ledgersAddUp(last));
    QJsonObject final;
    QVERIFY2(bed.stopRuntime(final) == 0, bed.runtime().output().right(2000).constData());

    // Polls: once a second, each.
    const qint64 polled =
        numberAt(last, {"ledger", "points", "offered"}) - numberAt(first, {"ledger", "points", "offered"});
    const double missed = passed - static_cast<double>(polled) / kPoints;
    report("T09.missedPollsPerPoint", missed);
    QVERIFY(std::abs(missed) <= 1.1);
    QCOMPARE(numberAt(last, {"ledger", "points", "discarded"}), 0);
    // The trigger: no burst, no pause.
    QVERIFY(beats.size() > 3);
    qint64 longestBeat = 0;
    for (std::size_t i = 2; i < beats.size(); ++i) {
        QVERIFY2(beats[i] - beats[i - 2] > 1'000'000, "more than two runs within a second");
        longestBeat = std::max(longestBeat, beats[i] - beats[i - 1]);
    }
    report("T09.longestBeatMs", static_cast<double>(longestBeat) * 1e-3);
    QVERIFY(longestBeat <= 2'100'000);
    // Nothing expired on its way, and the order is that of the numbers.
    for (const QList<qint64> &ids : bed.order())
        QVERIFY(std::is_sorted(ids.begin(), ids.end()));
    QCOMPARE(numberAt(final, {"ledger", "mqtt", "offered"}), numberAt(final, {"ledger", "mqtt", "done"}));

    QString fault;
    const auto history = historyRows(bed.stateDir(), seriesOf(kPoints), fault);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
    qint64 longest = 0;
    for (const QString &series : seriesOf(kPoints))
        longest =
            std::max(longest, longestGap(realTimes(history.value(series), phases), phases.back().endUs - 500'000));
    report("T09.longestGapMs", static_cast<double>(longest) * 1e-3);
    QVERIFY2(longest <= std::chrono::microseconds(maxInterval + kLateness).count(),
             qPrintable(QStringLiteral("a gap of %1 ms").arg(longest / 1'000)));
}

// PC-20: constant points, a restart, another design, the wall clock back by an hour, one point bad.
void ClockTest::constantPointsLeaveNoGap()
{
    const auto maxInterval = bySize(1'000ms, 10'000ms, 10'000ms);
    const int minuteMs = bySize(500, 12'000, 60'000);
    constexpr int kPoints = 100;
    GatewayBed lonely; // a device of its own, that can be switched off
    const auto lonelyPorts = lonely.startSimulator(kStill);
    LoadBed bed;
    const auto ports = bed.startSimulator(kStill);
    DesignDocument files =
        stillDesign(PrivateBroker::findFreePort(), ports[QStringLiteral("dev")], kPoints - 1, maxInterval);
    GatewayBed::addBulkDevice(files, lonelyPorts[QStringLiteral("dev")], "lonely");
    files["devices/lonely.json"] =
        R"({"id":"lonely","name":"lonely","channel":"lonely-bus","params":{"unit":1},"points":[
            {"id":"bad","name":"bad","kind":"measured","address":"holding:0","type":"uint16","periodMs":1000}]})";
    bed.writeDesign(files);
    FaultSwitch faults(bed.stateDir());
    bed.setEnvironment(faults.environment());
    QJsonObject ending;

    std::vector<Phase> phases{{seconds(0), realMicros(), 0}};
    std::vector<qint64> starts{realMicros()};
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QTest::qWait(5 * minuteMs);
    QVERIFY(bed.stopRuntime(ending) == 0);
    starts.push_back(realMicros());
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QTest::qWait(2 * minuteMs);
    QVERIFY(bed.stopRuntime(ending) == 0);
    files["gridloom.json"].replace(R"("name":"S")", R"("name":"Other")");
    bed.writeDesign(files);
    starts.push_back(realMicros());
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QTest::qWait(minuteMs);
    phases.back().endUs = realMicros();
    faults.setWallOffset(seconds(-3'600));
    phases.push_back({seconds(-3'600), realMicros(), 0});
    QTest::qWait(minuteMs);
    const qint64 badFromUs = realMicros();
    lonely.killSimulator();
    QTest::qWait(std::max<int>(minuteMs, static_cast<int>(maxInterval.count()) + 3'000));
    phases.back().endUs = realMicros();
    QVERIFY(bed.stopRuntime(ending) == 0);
    QVERIFY(ledgersAddUp(ending));

    QString fault;
    const QStringList series = seriesOf(kPoints - 1) + QStringList{QStringLiteral("lonely.bad")};
    const auto history = historyRows(bed.stateDir(), series, fault);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
    qint64 longest = 0;
    qint64 latest = 0; // first row after a start
    std::size_t rows = 0;
    for (const QString &id : series) {
        const std::vector<qint64> times = realTimes(history.value(id), phases);
        rows += times.size();
        longest = std::max(longest, longestGap(times, phases.back().endUs - 500'000));
        for (const qint64 start : starts) {
            const auto firstRow = std::upper_bound(times.begin(), times.end(), start);
            QVERIFY2(firstRow != times.end(), qPrintable(id));
            latest = std::max(latest, *firstRow - start);
        }
    }
    report("PC-20.rowsPerPoint", static_cast<double>(rows) / kPoints);
    report("PC-20.longestGapMs", static_cast<double>(longest) * 1e-3);
    report("PC-20.firstRowAfterStartMs", static_cast<double>(latest) * 1e-3);
    // The short size has an interval in which a restart (and the first poll after it, up to a second) does not fit.
    const auto allowed = maxInterval + kLateness + bySize(1'500ms, 0ms, 0ms);
    QVERIFY2(longest <= std::chrono::microseconds(allowed).count(),
             qPrintable(QStringLiteral("%1 ms").arg(longest / 1'000)));
    QVERIFY(latest <= 2'500'000); // start, first poll within its second

    // The bad point: heartbeats that say so.
    int bad = 0;
    for (const HistoryRow &row : history.value(QStringLiteral("lonely.bad"))) {
        const qint64 us = row.time.time_since_epoch().count() + 3'600'000'000LL;
        if (us < badFromUs + 2'500'000 || us > phases.back().endUs)
            continue; // of another hour, or before the time-out
        QVERIFY2(!isGood(row.quality), "a row of a dead device says good");
        ++bad;
    }
    QVERIFY2(bad >= 1, "the bad point has no heartbeat");
}

QTEST_GUILESS_MAIN(ClockTest)
#include "tst_fault_clock.moc"
