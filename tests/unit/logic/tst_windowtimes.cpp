// SPDX-License-Identifier: Apache-2.0
// TumblingWindow and time: local days (PC-19, T10), steps of the clock (T09), samples too early and too late.
#include "unit/logic/windowfixture.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::windowtest;
using namespace std::chrono_literals;

class WindowTimesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void waitingSamplesFindTheirWindow();
    void lateSampleSaysWhatHolds();
    void dailyEnergyFollowsTheLocalDay_data();
    void dailyEnergyFollowsTheLocalDay();
    void clockSetBackWithinAWindow();
    void clockSetBackOneHour();
    void clockAYearAheadAndBack();
    void clockFromTheEpoch();
    void sourceWithAClockAhead();
};

// A whole batch first, then close(): every sample is in its own window.
void WindowTimesTest::waitingSamplesFindTheirWindow()
{
    const Fixture f(FoldKind::Sum, 10s, 2);
    TumblingWindow window = f.window();
    window.add(sampleOf(kNoon, 1)); // before the first close()
    window.close(kNoon);
    window.add(sampleOf(kNoon + 11s, 20));
    window.add(sampleOf(kNoon + 9s, 2, Quality::Good, 11));
    window.add(sampleOf(kNoon + 12s, 40, Quality::Good, 11));
    window.add(sampleOf(kNoon + 45s, 500));
    window.add(sampleOf(kNoon + 51s, 6000));
    const auto results = window.close(kNoon + 52s);
    QCOMPARE(results.size(), 3U);
    QCOMPARE(results[0].value.real(), 3.0);
    QCOMPARE(results[1].value.real(), 60.0);
    QVERIFY(results[1].start == kNoon + 10s);
    QCOMPARE(results[2].value.real(), 500.0);
    QVERIFY(results[2].start == kNoon + 40s);
    QCOMPARE(window.close(kNoon + 60s).at(0).value.real(), 6000.0);
}

void WindowTimesTest::lateSampleSaysWhatHolds()
{
    const Fixture f(FoldKind::TimeWeightedMean, 10s);
    TumblingWindow window = f.window();
    window.close(kNoon - 5s);
    window.add(sampleOf(kNoon - 2s, 1));
    QCOMPARE(window.close(kNoon).size(), 1U);
    window.add(sampleOf(kNoon - 1s, 7)); // was still on its way
    window.add(sampleOf(kNoon + 1s, 3));
    const WindowResult r = window.preview(kNoon + 2s);
    QCOMPARE(r.offered, 1U);
    QCOMPARE(r.value.real(), 5.0); // 7 for 1 s, 3 for 1 s
}

void WindowTimesTest::dailyEnergyFollowsTheLocalDay_data()
{
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<qint64>("startOfDay");
    QTest::addColumn<int>("halfHours");
    QTest::addColumn<double>("kW");
    // PC-19 and T10
    QTest::newRow("Shanghai") << QByteArray("Asia/Shanghai") << qint64{1785340800} << 48 << 1.0;
    QTest::newRow("Vienna, 25 h") << QByteArray("Europe/Vienna") << qint64{1761429600} << 50 << 4.0;
    QTest::newRow("Vienna, 23 h") << QByteArray("Europe/Vienna") << qint64{1774738800} << 46 << 4.0;
    QTest::newRow("Santiago, no midnight") << QByteArray("America/Santiago") << qint64{1757217600} << 46 << 2.0;
    QTest::newRow("Lord Howe, 24.5 h") << QByteArray("Australia/Lord_Howe") << qint64{1775307600} << 49 << 2.0;
}

void WindowTimesTest::dailyEnergyFollowsTheLocalDay()
{
    QFETCH(QByteArray, zone);
    QFETCH(qint64, startOfDay);
    QFETCH(int, halfHours);
    QFETCH(double, kW);
    Fixture day(FoldKind::Integral, 24h);
    day.point.period = 60s;
    Fixture quarter(FoldKind::Integral, 15min);
    quarter.point.period = 60s;
    TumblingWindow days(day.aggregation, QTimeZone(zone), day.design);
    TumblingWindow quarters(quarter.aggregation, QTimeZone(zone), quarter.design);
    const WallTime start{std::chrono::seconds(startOfDay)};
    const WallTime end = start + std::chrono::minutes(30 * halfHours);
    std::vector<WindowResult> daily, quarterly;
    for (WallTime t = start - 24h; t <= end + 36h; t += 1min) {
        for (auto &r : days.close(t))
            daily.push_back(r);
        for (auto &r : quarters.close(t))
            quarterly.push_back(r);
        const Sample s = sampleOf(t, t >= start && t < end ? kW : 0.0);
        days.add(s);
        quarters.add(s);
    }
    const double expected = kW * halfHours / 2.0;
    int found = 0;
    for (const WindowResult &r : daily) {
        if (r.start == start) {
            ++found;
            QVERIFY(r.end == end);
            QVERIFY(std::abs(r.value.real() - expected) < 1e-9);
        } else if (r.end > start) {
            QVERIFY(std::abs(r.value.real()) < 1e-9);
        }
    }
    QCOMPARE(found, 1);
    int inDay = 0;
    double sum = 0;
    for (const WindowResult &r : quarterly) {
        if (r.start >= start && r.start < end) {
            ++inDay;
            sum += r.value.real();
        }
    }
    QCOMPARE(inDay, 2 * halfHours);
    QVERIFY(std::abs(sum - expected) < 1e-9);
}

// T09: seconds that come twice count once.
void WindowTimesTest::clockSetBackWithinAWindow()
{
    const Fixture f(FoldKind::TimeWeightedMean, 60s);
    TumblingWindow window = f.window();
    QVERIFY(run(window, kNoon, 30s, [](auto) { return 1.0; }).empty());
    const auto results = run(window, kNoon + 20s, 40s, [](auto) { return 2.0; });
    QCOMPARE(results.size(), 1U);
    QCOMPARE(results[0].coverage, 1.0);
    QCOMPARE(results[0].value.real(), 1.5); // 30 s each
}

// T09
void WindowTimesTest::clockSetBackOneHour()
{
    const Fixture f(FoldKind::Sum, 15min);
    TumblingWindow window = f.window();
    auto results = run(window, kNoon - 2h, 2h + 5min, [](auto) { return 1.0; });
    // An hour again: all of its windows were given out already.
    for (auto &r : run(window, kNoon - 55min + 1s, 2h, [](auto) { return 1.0; }))
        results.push_back(r);
    for (std::size_t i = 1; i < results.size(); ++i)
        QVERIFY(results[i].start == results[i - 1].end);
    // The window that was open goes on where it stopped: 301 samples of before and all after 12:05.
    QVERIFY(results[8].start == kNoon);
    QCOMPARE(results[8].count, 301U + 900U);
    QCOMPARE(results[9].count, 900U);
    QVERIFY(results.size() >= 11);
}

void WindowTimesTest::clockAYearAheadAndBack()
{
    const Fixture f(FoldKind::Sum, 15min);
    TumblingWindow window = f.window();
    std::vector<WindowResult> results;
    const auto follow = [&](WallTime from, std::chrono::seconds duration) {
        for (std::chrono::seconds s{0}; s <= duration; ++s) {
            window.add(sampleOf(from + s, 1));
            if (*window.nextClose() <= from + s || s.count() == 0) {
                for (auto &r : window.close(from + s))
                    results.push_back(r);
            }
        }
    };
    const auto year = std::chrono::hours(24 * 365);
    window.close(kNoon);
    follow(kNoon, 20min);
    follow(kNoon + 20min + year, 9min);
    follow(kNoon + 31min, 2h); // back at 12:31, in the quarter after the one that was cut short
    // It goes on at once, not in a year, and gives no window twice.
    std::vector<WallTime> expected{kNoon, kNoon + 15min, kNoon + 15min + year};
    for (int i = 0; i < 8; ++i)
        expected.push_back(kNoon + 30min + i * 15min);
    std::vector<WallTime> starts;
    std::uint64_t counted = window.preview(kNoon + 151min).offered;
    for (const WindowResult &r : results) {
        starts.push_back(r.start);
        counted += r.offered;
    }
    QVERIFY(starts == expected);
    QVERIFY(results[1].isPartial && results[2].isPartial && results[3].isPartial && !results[4].isPartial);
    // Every sample but the one by which the step back was noticed.
    QCOMPARE(counted, 1201U + 541U + 7201U - 1U);
}

void WindowTimesTest::clockFromTheEpoch()
{
    const Fixture f(FoldKind::Mean, 15min);
    TumblingWindow window = f.window();
    auto results = run(window, WallTime(100s), 60s, [](auto) { return 1.0; });
    QVERIFY(results.empty());
    for (auto &r : run(window, kNoon, 30min, [](auto) { return 1.0; })) // NTP
        results.push_back(r);
    QCOMPARE(results.size(), 3U);
    QVERIFY(results[0].start == WallTime{} && results[0].isPartial);
    QVERIFY(results[1].start == kNoon);
    QVERIFY(results[2].start == kNoon + 15min);
}

// Samples from the future neither end windows nor take memory without end, and keep no other input from its place.
void WindowTimesTest::sourceWithAClockAhead()
{
    const Fixture f(FoldKind::Sum, 10s, 2);
    TumblingWindow window = f.window();
    window.close(kNoon);
    for (int s = 0; s < 1000; ++s) {
        const WallTime now = kNoon + std::chrono::seconds(s);
        for (const WindowResult &r : window.close(now)) {
            QCOMPARE(r.count, 10U);
            QCOMPARE(r.value.real(), 10.0);
        }
        window.add(sampleOf(now + 24h, 1, Quality::Good, 11));
        window.add(sampleOf(now, 1));
    }
    QVERIFY(*window.nextClose() == kNoon + 1000s);
}

QTEST_APPLESS_MAIN(WindowTimesTest)
#include "tst_windowtimes.moc"
