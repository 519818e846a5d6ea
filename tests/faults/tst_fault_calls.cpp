// SPDX-License-Identifier: Apache-2.0
// T04 on the whole runtime: its nth call that changes a file fails once. It starts or says why not, it never crashes, and what
// it said to be durable is there. tst_recordsfaults and tst_embeddedfaults do the same call by call inside records and store.
#include "faults/faultsize.h"
#include "faults/faultswitch.h"
#include "faults/loadbed.h"

#include <QDir>
#include <QTest>

#include <cerrno>

using namespace gridloom;
using namespace gridloom::faults;

class CallsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nthCallFails_data();
    void nthCallFails();

private:
    static DesignDocument design(const QHash<QString, int> &ports);
};

DesignDocument CallsTest::design(const QHash<QString, int> &ports)
{
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort());
    files.erase("sinks/mqtt.json"); // an orderly stop would wait for what nobody takes
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    files["alarms/site.json"] =
        R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})";
    GatewayBed::addPeriodicTrigger(files, "task", 20, R"(
        state.active = not state.active
        if state.active then alarm.raise("site.event") else alarm.clear("site.event") end
        control.write("dev.set", run.number))");
    return files;
}

void CallsTest::nthCallFails_data()
{
    QTest::addColumn<int>("error");
    QTest::addColumn<bool>("isShort");
    QTest::addColumn<quint32>("kinds");
    QTest::newRow("no space") << ENOSPC << false << quint32{kAnyCall};
    QTest::newRow("I/O error") << EIO << false << quint32{kAnyCall};
    if (size() == Size::Short)
        return;
    QTest::newRow("short write") << ENOSPC << true << quint32{kWrite};
    QTest::newRow("failed sync") << EIO << false << quint32{kSync};
    QTest::newRow("failed rename") << EIO << false << quint32{kRename};
}

// The first calls are those of the start; a step that grows reaches from there into the running.
void CallsTest::nthCallFails()
{
    QFETCH(int, error);
    QFETCH(bool, isShort);
    QFETCH(quint32, kinds);
    LoadBed bed;
    const auto ports = bed.startSimulator(R"({"devices":[{"id":"dev","type":"bulk"}]})");
    bed.writeDesign(design(ports));
    const int step = bySize(40, 5, 1);
    int injected = 0;
    int refused = 0;
    for (int n = 1 + (error == EIO ? step / 2 : 0); n < 120; n += step) {
        QDir(bed.stateDir()).removeRecursively();
        FaultSwitch faults(bed.stateDir());
        faults.failNth({n, kinds, error, isShort, false});
        bed.setEnvironment(faults.environment());
        QVERIFY(bed.launchRuntime());
        QJsonObject status;
        const auto isUp = [&] {
            const QJsonObject next = bed.takeStatus();
            if (!next.isEmpty())
                status = next;
            return !bed.runtime().isRunning()
                || (numberAt(status, {"ledger", "alarms", "done"}) > 20
                    && numberAt(status, {"control", "confirmed"}) > 20);
        };
        QVERIFY2(QTest::qWaitFor(isUp, 15'000), bed.runtime().output().right(2000).constData());
        if (!bed.runtime().isRunning()) {
            // It may refuse to start, with words.
            QVERIFY2(bed.runtime().exitCode() == 1 && !bed.runtime().output().isEmpty(),
                     qPrintable(QStringLiteral("call %1: exit code %2").arg(n).arg(bed.runtime().exitCode())));
            ++refused;
            continue;
        }
        const bool isHit = faults.injected() > 0;
        injected += isHit ? 1 : 0;
        QVERIFY(ledgersAddUp(status));
        QJsonObject last;
        QVERIFY2(bed.stopRuntime(last) == 0,
                 (QByteArray("call ") + QByteArray::number(n) + bed.runtime().output().right(2000)).constData());
        const auto endedUs =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count();
        QVERIFY(ledgersAddUp(last));
        QCOMPARE(integrityOf(bed.recordsDb()), QStringLiteral("ok"));
        // What was told as durable, and nothing of what was told as failed. A log that could not be moved into the
        // database at the end is moved at the next start.
        const qint64 told = numberAt(last, {"ledger", "alarms", "done"});
        const auto transitions = [&] {
            return sqlNumber(bed.recordsDb(),
                             QStringLiteral("SELECT count(*) FROM alarm_transitions WHERE time_us <= %1")
                                 .arg(endedUs)
                                 .toLatin1()
                                 .constData());
        };
        if (transitions() != told) {
            bed.setEnvironment({});
            QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
            bed.killRuntime();
        }
        QCOMPARE(transitions(), told);
        if (!isHit)
            break; // a run that had fewer calls
    }
    report((QByteArray("T04.injected ") + QTest::currentDataTag()).constData(), injected);
    report((QByteArray("T04.refused ") + QTest::currentDataTag()).constData(), refused);
    QVERIFY(injected + refused > 0);
}

QTEST_GUILESS_MAIN(CallsTest)
#include "tst_fault_calls.moc"
