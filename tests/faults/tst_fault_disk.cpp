// SPDX-License-Identifier: Apache-2.0
// T05, T06, T07: the disk is full, read-only, slow. Control and triggers go on; what is lost is counted and said; all is
// well again soon after the disk is.
#include "core/histogram.h"
#include "faults/faultsize.h"
#include "faults/faultswitch.h"
#include "faults/loadbed.h"

#include <QCryptographicHash>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QTest>

using namespace gridloom;
using namespace gridloom::faults;
using namespace std::chrono_literals;

namespace {
constexpr double kNormalAfterS = 10;

QByteArray hashOf(const QString &folder)
{
    QStringList paths;
    for (QDirIterator it(folder, QDir::Files, QDirIterator::Subdirectories); it.hasNext();)
        paths << it.next();
    paths.sort();
    QCryptographicHash hash(QCryptographicHash::Sha256);
    for (const QString &path : paths) {
        QFile file(path);
        if (!file.open(QIODevice::ReadOnly))
            return {};
        hash.addData(path.toUtf8());
        hash.addData(file.readAll());
    }
    return hash.result();
}

Histogram latency(const QJsonObject &status, const char *name)
{
    return Histogram::fromState(status[QLatin1String("latency")][QLatin1String(name)].toObject());
}

qint64 grown(const QJsonObject &from, const QJsonObject &to, std::initializer_list<const char *> path)
{
    return numberAt(to, path) - numberAt(from, path);
}

/// done / offered of a class between two lines, in percent; what is in flight at the ends does not count.
double percentDone(const QJsonObject &from, const QJsonObject &to, const char *ledger)
{
    const qint64 ended =
        grown(from, to, {"ledger", ledger, "offered"}) - grown(from, to, {"ledger", ledger, "inFlight"});
    return ended == 0
        ? 0
        : 100.0 * static_cast<double>(grown(from, to, {"ledger", ledger, "done"})) / static_cast<double>(ended);
}

/// Trigger runs whose effects were issued, of those that fell due, in percent.
double percentIssued(const QJsonObject &from, const QJsonObject &to)
{
    const auto issued = latency(to, "triggerIssued").since(latency(from, "triggerIssued")).count();
    const qint64 offered = grown(from, to, {"ledger", "triggers", "offered"});
    return offered == 0 ? 0 : 100.0 * static_cast<double>(issued) / static_cast<double>(offered);
}

QString alarmText(const QJsonObject &status, const char *name)
{
    for (const QJsonValue &alarm : status[QLatin1String("alarms")].toArray())
        if (alarm[QLatin1String("name")].toString() == QLatin1String(name))
            return alarm[QLatin1String("text")].toString();
    return {};
}

bool isActive(const QJsonObject &status, const char *name)
{
    for (const QJsonValue &alarm : status[QLatin1String("alarms")].toArray())
        if (alarm[QLatin1String("name")].toString() == QLatin1String(name))
            return !alarm[QLatin1String("state")].toString().startsWith(QLatin1String("ReturnToNormal"));
    return false;
}
} // namespace

class DiskTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void full();
    void readOnly();
    void slow_data();
    void slow();

private:
    void start(LoadBed &bed, FaultSwitch &faults, QJsonObject &before);
    void checkNormalAgain(LoadBed &bed);
    void stop(LoadBed &bed);
};

// Up, polled and stored something.
void DiskTest::start(LoadBed &bed, FaultSwitch &faults, QJsonObject &before)
{
    bed.setEnvironment(faults.environment());
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    before = bed.statusWhere([](const QJsonObject &s) {
        return numberAt(s, {"store", "rows"}) > 1'000 && numberAt(s, {"ledger", "triggers", "done"}) > 40;
    });
    QVERIFY2(!before.isEmpty(), bed.runtime().output().constData());
}

void DiskTest::checkNormalAgain(LoadBed &bed)
{
    QElapsedTimer time;
    time.start();
    QJsonObject last = bed.nextStatus();
    bool isNormal = false;
    while (!isNormal && time.elapsed() < 30'000) {
        const QJsonObject next = bed.nextStatus();
        QVERIFY2(!next.isEmpty(), bed.runtime().output().right(2000).constData());
        isNormal = grown(last, next, {"store", "lost"}) == 0 && grown(last, next, {"store", "rows"}) > 0
            && grown(last, next, {"records", "failed"}) == 0 && grown(last, next, {"records", "committed"}) > 0
            && percentDone(last, next, "alarms") >= 99 && !isActive(next, "system.historyLost")
            && !isActive(next, "system.recordsLost");
        last = next;
    }
    report("normalAfterS", static_cast<double>(time.elapsed()) * 1e-3);
    QVERIFY2(isNormal && static_cast<double>(time.elapsed()) * 1e-3 <= kNormalAfterS,
             qPrintable(alarmText(last, "system.historyLost") + alarmText(last, "system.recordsLost")));
}

void DiskTest::stop(LoadBed &bed)
{
    QJsonObject last;
    QVERIFY2(bed.stopRuntime(last) == 0, bed.runtime().output().right(2000).constData());
    QVERIFY(ledgersAddUp(last));
    QCOMPARE(numberAt(last, {"ledger", "alarms", "inFlight"}), 0);
    QCOMPARE(integrityOf(bed.recordsDb()), QStringLiteral("ok"));
    // What was said to be durable is in the journal; what was said to have failed is not.
    QCOMPARE(sqlNumber(bed.recordsDb(), "SELECT count(*) FROM alarm_transitions"),
             numberAt(last, {"ledger", "alarms", "done"}));
}

void DiskTest::full()
{
    LoadBed bed;
    const QString why = bed.prepare(QStringLiteral("S2.5"));
    QVERIFY2(why.isEmpty(), qPrintable(why));
    const QByteArray design = hashOf(bed.designDir());
    FaultSwitch faults(bed.stateDir());
    QJsonObject before;
    start(bed, faults, before);
    faults.fillDisk();
    const double seconds = bySize(3, 60, 1'800);
    const double begin = before[QLatin1String("uptimeS")].toDouble();
    const QJsonObject after =
        bed.statusWhere([&](const QJsonObject &s) { return s[QLatin1String("uptimeS")].toDouble() >= begin + seconds; },
                        static_cast<int>(seconds * 1'000) + 20'000);
    QVERIFY2(!after.isEmpty(), bed.runtime().output().right(2000).constData());
    QVERIFY(ledgersAddUp(after));
    report("full.triggersIssuedPercent", percentIssued(before, after));
    report("full.controlPercent", percentDone(before, after, "control"));
    report("full.alarmsPercent", percentDone(before, after, "alarms"));
    report("full.rowsLost", grown(before, after, {"store", "lost"}));
    QVERIFY(percentIssued(before, after) >= 99);
    QVERIFY(percentDone(before, after, "control") >= 99);
    QVERIFY(grown(before, after, {"store", "lost"}) > 0);
    QVERIFY(hasAlarm(after, "system.historyLost"));
    // Alarms have a reserve.
    QVERIFY(percentDone(before, after, "alarms") >= 99);
    faults.healDisk();
    checkNormalAgain(bed);
    stop(bed);
    QCOMPARE(hashOf(bed.designDir()), design);
}

void DiskTest::readOnly()
{
    LoadBed bed;
    const QString why = bed.prepare(QStringLiteral("S2.5"));
    QVERIFY2(why.isEmpty(), qPrintable(why));
    FaultSwitch faults(bed.stateDir());
    QJsonObject before;
    start(bed, faults, before);
    faults.makeReadOnly();
    QElapsedTimer time;
    time.start();
    const QJsonObject alarmed = bed.statusWhere(
        [](const QJsonObject &s) { return hasAlarm(s, "system.historyLost") && hasAlarm(s, "system.recordsLost"); });
    QVERIFY2(!alarmed.isEmpty(), bed.runtime().output().right(2000).constData());
    report("readOnly.alarmAfterS", static_cast<double>(time.elapsed()) * 1e-3);
    QVERIFY(time.elapsed() <= 10'000);
    QVERIFY2(alarmText(alarmed, "system.recordsLost").contains(QLatin1String("Read-only file system")),
             qPrintable(alarmText(alarmed, "system.recordsLost")));
    const double seconds = bySize(2, 60, 1'800);
    const double begin = alarmed[QLatin1String("uptimeS")].toDouble();
    const QJsonObject after =
        bed.statusWhere([&](const QJsonObject &s) { return s[QLatin1String("uptimeS")].toDouble() >= begin + seconds; },
                        static_cast<int>(seconds * 1'000) + 20'000);
    QVERIFY2(!after.isEmpty(), bed.runtime().output().right(2000).constData());
    QVERIFY(ledgersAddUp(after));
    report("readOnly.triggersIssuedPercent", percentIssued(before, after));
    report("readOnly.controlPercent", percentDone(before, after, "control"));
    QVERIFY(percentIssued(before, after) >= 99);
    QVERIFY(percentDone(before, after, "control") >= 99);
    faults.healDisk();
    checkNormalAgain(bed);
    stop(bed);
}

void DiskTest::slow_data()
{
    QTest::addColumn<int>("delayMs");
    QTest::newRow("2s") << 2'000;
    if (size() != Size::Short)
        QTest::newRow("11s") << 11'000;
}

// All four effects follow the disk; what needs none does not wait for it.
void DiskTest::slow()
{
    QFETCH(int, delayMs);
    LoadBed bed;
    const QString why = bed.prepare(QStringLiteral("S2.5"));
    QVERIFY2(why.isEmpty(), qPrintable(why));
    FaultSwitch faults(bed.stateDir());
    QJsonObject before;
    start(bed, faults, before);
    const auto beganUs =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    faults.delaySyncs(std::chrono::milliseconds(delayMs));
    const double seconds = bySize(3, 60, 600);
    const double begin = before[QLatin1String("uptimeS")].toDouble();
    const QJsonObject after =
        bed.statusWhere([&](const QJsonObject &s) { return s[QLatin1String("uptimeS")].toDouble() >= begin + seconds; },
                        static_cast<int>(seconds * 1'000) + 20'000);
    QVERIFY2(!after.isEmpty(), bed.runtime().output().right(2000).constData());
    QVERIFY(ledgersAddUp(after));
    faults.delaySyncs(0ms);
    const Histogram issued = latency(after, "triggerIssued").since(latency(before, "triggerIssued"));
    const QByteArray name = QTest::currentDataTag();
    report((name + ".issuedP95Ms").constData(), issued.percentileMs(95));
    report((name + ".issuedMaxMs").constData(), issued.maxMs());
    report((name + ".triggersIssuedPercent").constData(), percentIssued(before, after));
    QVERIFY(issued.percentileMs(95) <= 50);
    QVERIFY(issued.maxMs() <= 1'000);
    QVERIFY(percentIssued(before, after) >= 99);
    checkNormalAgain(bed);
    stop(bed);

    const auto control = [&](const char *what) {
        return static_cast<double>(sqlNumber(bed.recordsDb(),
                                             QStringLiteral("SELECT %1 FROM control_records WHERE requested_us >= %2")
                                                 .arg(QLatin1String(what))
                                                 .arg(beganUs)
                                                 .toLatin1()
                                                 .constData()));
    };
    const double slowPercent = 100.0 * control("sum(duration_us > 50000)") / control("count(*)");
    report((name + ".controlOver50MsPercent").constData(), slowPercent);
    report((name + ".controlMaxMs").constData(), control("max(duration_us)") * 1e-3);
    QVERIFY(control("count(*)") >= 20 * seconds);
    QVERIFY(slowPercent <= 5);
    QVERIFY(control("max(duration_us)") <= 1'000'000);
}

QTEST_GUILESS_MAIN(DiskTest)
#include "tst_fault_disk.moc"
