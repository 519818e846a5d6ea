// SPDX-License-Identifier: Apache-2.0
#include "writerate.h"

#include <QTest>

using namespace gridloom;

class WriteRateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void meanOfTheLastDay();
    void counterThatFallsStartsAnew();
    void yearsByHand();
};

void WriteRateTest::meanOfTheLastDay()
{
    WriteRate rate;
    QVERIFY(!rate.gbPerDay());
    rate.note(0, 0);
    QVERIFY(!rate.gbPerDay());
    // Two days of 1 MB a second, a reading a minute, and then silence.
    constexpr int kDay = 86'400;
    for (int s = 60; s <= 2 * kDay; s += 60) {
        rate.note(s, static_cast<std::uint64_t>(s) * 1'000'000);
        QCOMPARE(rate.gbPerDay().value(), 86.4);
    }
    for (int s = 60; s <= kDay / 2; s += 60)
        rate.note(2 * kDay + s, 2ULL * kDay * 1'000'000);
    // Of 24 to 25 hours twelve were silent.
    QVERIFY(rate.gbPerDay().value() >= 43.2 && rate.gbPerDay().value() <= 86.4 * 13 / 25);
    for (int s = 60; s <= kDay; s += 60)
        rate.note(2.5 * kDay + s, 2ULL * kDay * 1'000'000);
    QCOMPARE(rate.gbPerDay().value(), 0.0);
}

void WriteRateTest::counterThatFallsStartsAnew()
{
    WriteRate rate;
    rate.note(0, 5'000'000);
    rate.note(100, 9'000'000);
    rate.note(200, 1'000'000);
    QVERIFY(!rate.gbPerDay());
    rate.note(300, 2'000'000);
    QCOMPARE(rate.gbPerDay().value(), 0.864);
}

void WriteRateTest::yearsByHand()
{
    QCOMPARE(yearsOfLife(36.525, 10), 10.0); // 3.6525 TB a year
    QCOMPARE(yearsOfLife(20, 0), 999.0);
    QCOMPARE(yearsOfLife(20, 1e-9), 999.0);
}

QTEST_APPLESS_MAIN(WriteRateTest)
#include "tst_writerate.moc"
