// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

class ScheduleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void earliestFirst();
    void gridHasNoDrift_data();
    void gridHasNoDrift();
};

void ScheduleTest::earliestFirst()
{
    Schedule<int> schedule;
    schedule.add(SteadyTime(30ms), 3);
    schedule.add(SteadyTime(10ms), 1);
    schedule.add(SteadyTime(20ms), 2);
    QCOMPARE(*schedule.next(), SteadyTime(10ms));
    QCOMPARE(schedule.take(SteadyTime(20ms))->second, 1);
    QCOMPARE(schedule.take(SteadyTime(20ms))->second, 2);
    QVERIFY(!schedule.take(SteadyTime(29ms)));
    QCOMPARE(schedule.take(SteadyTime(30ms))->second, 3);
    QVERIFY(!schedule.next());
}

void ScheduleTest::gridHasNoDrift_data()
{
    QTest::addColumn<qint64>("t");
    QTest::addColumn<qint64>("phase");
    QTest::addColumn<qint64>("next");
    QTest::newRow("between") << qint64(1234) << qint64(0) << qint64(1300);
    QTest::newRow("on the grid: the one after") << qint64(1300) << qint64(0) << qint64(1400);
    QTest::newRow("phase") << qint64(1234) << qint64(50) << qint64(1250);
    QTest::newRow("before the first point") << qint64(10) << qint64(50) << qint64(50);
}

void ScheduleTest::gridHasNoDrift()
{
    QFETCH(qint64, t);
    QFETCH(qint64, phase);
    QFETCH(qint64, next);
    QCOMPARE(nextOnGrid(SteadyTime(std::chrono::milliseconds(t)), 100ms, std::chrono::milliseconds(phase)),
             SteadyTime(std::chrono::milliseconds(next)));
}

QTEST_APPLESS_MAIN(ScheduleTest)
#include "tst_schedule.moc"
