// SPDX-License-Identifier: Apache-2.0
#include "scanstate.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::modbus;
using namespace std::chrono_literals;

class ScanStateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void thirdFailureInARowPutsItOffScan();
    void failuresOnTheirWayTogetherCountOnce();
    void backOffGrowsToItsLimit_data();
    void backOffGrowsToItsLimit();
    void lateAnswersKeepItOnScan();
    void aNewConnectionProbesAtOnce();
};

void ScanStateTest::thirdFailureInARowPutsItOffScan()
{
    FakeClock clock;
    ScanState scan(3, true);
    const auto fail = [&] { return scan.failed(scan.epoch(), clock.steadyNow()); };
    QVERIFY(!fail());
    QVERIFY(!fail());
    scan.answered();
    QVERIFY(!fail());
    QVERIFY(!fail());
    QVERIFY(scan.admit(clock.steadyNow()));
    QVERIFY(fail());
    QVERIFY(!scan.admit(clock.steadyNow()));
    clock.advance(500ms);
    QVERIFY(scan.admit(clock.steadyNow()));
    scan.answered();
    QVERIFY(!scan.isOffScan());
}

void ScanStateTest::failuresOnTheirWayTogetherCountOnce()
{
    ScanState scan(2, true);
    const auto epoch = scan.epoch();
    for (int i = 0; i < 4; ++i)
        QVERIFY(!scan.failed(epoch, SteadyTime{}));
    QVERIFY(scan.failed(scan.epoch(), SteadyTime{}));
}

void ScanStateTest::backOffGrowsToItsLimit_data()
{
    QTest::addColumn<bool>("isSole");
    QTest::addColumn<QList<int>>("waits");
    QTest::newRow("sole") << true << QList<int>{500, 1000, 2000, 3000, 3000};
    QTest::newRow("shared") << false << QList<int>{1000, 2000, 4000, 8000, 16000, 29000, 29000};
}

void ScanStateTest::backOffGrowsToItsLimit()
{
    QFETCH(bool, isSole);
    QFETCH(QList<int>, waits);
    FakeClock clock;
    ScanState scan(1, isSole);
    for (const int wait : waits) {
        QVERIFY(scan.failed(scan.epoch(), clock.steadyNow()));
        clock.advance(std::chrono::milliseconds(wait) - 1ms);
        QVERIFY(!scan.admit(clock.steadyNow()));
        clock.advance(1ms);
        QVERIFY(scan.admit(clock.steadyNow()));
        QVERIFY(scan.admit(clock.steadyNow())); // the probe goes on
    }
}

void ScanStateTest::lateAnswersKeepItOnScan()
{
    ScanState scan(3, true);
    for (int i = 0; i < 20; ++i) {
        QVERIFY(!scan.failed(scan.epoch(), SteadyTime{}));
        scan.answeredLate();
    }
}

void ScanStateTest::aNewConnectionProbesAtOnce()
{
    FakeClock clock;
    ScanState scan(1, false);
    QVERIFY(scan.failed(scan.epoch(), clock.steadyNow()));
    QVERIFY(!scan.admit(clock.steadyNow()));
    scan.reconnected();
    QVERIFY(scan.admit(clock.steadyNow()));
}

QTEST_APPLESS_MAIN(ScanStateTest)
#include "tst_scanstate.moc"
