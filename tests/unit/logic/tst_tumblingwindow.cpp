// SPDX-License-Identifier: Apache-2.0
// Folds of a TumblingWindow against hand-computed values.
#include "unit/logic/windowfixture.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace gridloom::windowtest;
using namespace std::chrono_literals;

class TumblingWindowTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void meanLeavesOutWhatIsNoNumber();
    void simpleFolds();
    void firstWindowIsPartial();
    void nothingGoodIsBad();
    void staleSamplesAreNotMeasurements();
    void integralOfARamp();
    void integralBridgesShortGapsOnly();
    void severalInputs();
    void slowInputHoldsOverShortWindows();
    void preview();
};

// PC-17
void TumblingWindowTest::meanLeavesOutWhatIsNoNumber()
{
    const Fixture f(FoldKind::Mean, 10s);
    TumblingWindow window = f.window();
    QVERIFY(!window.nextClose());
    QVERIFY(window.close(kNoon).empty());
    window.add(sampleOf(kNoon, 1));
    window.add(sampleOf(kNoon + 1s, std::nan("")));
    window.add(sampleOf(kNoon + 2s, 3));
    QVERIFY(*window.nextClose() == kNoon + 10s);
    QVERIFY(window.close(kNoon + 10s - 1us).empty());
    const auto results = window.close(kNoon + 10s);
    QCOMPARE(results.size(), 1U);
    QCOMPARE(results[0].value.real(), 2.0);
    QCOMPARE(results[0].count, 2U);
    QCOMPARE(results[0].offered, 3U);
    QCOMPARE(results[0].quality, Quality::UncertainSubNormal);
    QVERIFY(results[0].start == kNoon && results[0].end == kNoon + 10s);
    QVERIFY(window.close(kNoon + 10s).empty());
    // Held 0..1 s and 2..5 s (three periods): 4 of 10 s.
    QCOMPARE(results[0].coverage, 0.4);
    QVERIFY(results[0].isPartial);
}

void TumblingWindowTest::simpleFolds()
{
    const auto value = [](FoldKind fold) {
        const Fixture f(fold, 4s);
        TumblingWindow window = f.window();
        const auto results = run(window, kNoon, 4s, [](auto s) { return std::array{7.0, -2.0, 4.0, 3.0, 99.0}[s]; });
        return results.at(0);
    };
    QCOMPARE(value(FoldKind::Mean).value.real(), 3.0);
    QCOMPARE(value(FoldKind::Min).value.real(), -2.0);
    QCOMPARE(value(FoldKind::Max).value.real(), 7.0);
    QCOMPARE(value(FoldKind::Sum).value.real(), 12.0);
    QCOMPARE(value(FoldKind::TimeWeightedMean).value.real(), 3.0);
    const WindowResult whole = value(FoldKind::Mean);
    QCOMPARE(whole.quality, Quality::Good);
    QCOMPARE(whole.coverage, 1.0);
    QVERIFY(!whole.isPartial);
    QCOMPARE(whole.count, 4U);
}

// T11
void TumblingWindowTest::firstWindowIsPartial()
{
    std::mt19937 random(11);
    for (int i = 0; i < 200; ++i) {
        const std::chrono::seconds late(1 + random() % 899);
        const Fixture f(FoldKind::TimeWeightedMean, 15min);
        TumblingWindow window = f.window();
        const auto results = run(window, kNoon + late, 30min - late, [](auto) { return 5.0; });
        QCOMPARE(results.size(), 2U);
        QVERIFY(results[0].start == kNoon && results[0].end == kNoon + 15min);
        QVERIFY(results[0].isPartial);
        QCOMPARE(results[0].quality, Quality::UncertainSubNormal);
        QCOMPARE(results[0].coverage, 1.0 - static_cast<double>(late.count()) / 900.0);
        QCOMPARE(results[0].value.real(), 5.0);
        QVERIFY(!results[1].isPartial);
        QCOMPARE(results[1].quality, Quality::Good);
        QCOMPARE(results[1].coverage, 1.0);
    }
}

void TumblingWindowTest::nothingGoodIsBad()
{
    for (const FoldKind fold : {FoldKind::Mean, FoldKind::Sum, FoldKind::TimeWeightedMean, FoldKind::Integral}) {
        const Fixture f(fold, 10s);
        TumblingWindow window = f.window();
        window.close(kNoon);
        window.add(sampleOf(kNoon, 0, Quality::BadCommunicationError));
        window.add(sampleOf(kNoon + 1s, std::numeric_limits<double>::infinity()));
        const auto results = window.close(kNoon + 10s);
        QCOMPARE(results.size(), 1U);
        QVERIFY(results[0].value.isNull());
        QCOMPARE(results[0].quality, Quality::BadNoData);
        QCOMPARE(results[0].count, 0U);
        QCOMPARE(results[0].offered, 2U);
        // Windows without anything are left out.
        QVERIFY(window.close(kNoon + 1h).empty());
        QVERIFY(*window.nextClose() == kNoon + 1h + 10s);
    }
}

void TumblingWindowTest::staleSamplesAreNotMeasurements()
{
    const Fixture f(FoldKind::Mean, 10s);
    TumblingWindow window = f.window();
    window.close(kNoon);
    window.add(sampleOf(kNoon, 1));
    window.add(sampleOf(kNoon + 1s, 1, Quality::UncertainLastUsable));
    window.add(sampleOf(kNoon + 2s, 3));
    window.add(sampleOf(kNoon + 3s, 3, Quality::BadNotConnected));
    window.add(sampleOf(kNoon + 5s, 5, Quality::UncertainSubNormal));
    const auto results = window.close(kNoon + 10s);
    QCOMPARE(results[0].value.real(), 3.0);
    QCOMPARE(results[0].count, 3U);
    QCOMPARE(results[0].offered, 5U);
    QCOMPARE(results[0].coverage, 0.6); // 0..3 s, the stale sample ends nothing; 5..8 s
}

void TumblingWindowTest::integralOfARamp()
{
    // 0, 3.6, 7.2 kW ... per second: the trapezoid from 0 to 10 s is 0.5 * 36 kW * 10 s = 0.05 kWh. Windows of 5 s end
    // with the last known value: the first one holds 14.4 kW from 4 to 5 s, so 28.8 + 14.4 = 43.2 kWs.
    const Fixture f(FoldKind::Integral, 5s);
    TumblingWindow window = f.window();
    const auto results = run(window, kNoon, 10s, [](auto s) { return 3.6 * static_cast<double>(s); });
    QCOMPARE(results.size(), 2U);
    QCOMPARE(results[0].value.real(), 43.2 / 3600);
    // 5..9 s: (18 + 32.4) / 2 * 4 = 100.8; held to 10 s: 32.4
    QCOMPARE(results[1].value.real(), 133.2 / 3600);
    QCOMPARE(results[1].coverage, 1.0);
}

void TumblingWindowTest::integralBridgesShortGapsOnly()
{
    const Fixture f(FoldKind::Integral, 60s);
    TumblingWindow window = f.window();
    window.close(kNoon);
    window.add(sampleOf(kNoon, 10));
    window.add(sampleOf(kNoon + 1s, 0, Quality::BadCommunicationError));
    window.add(sampleOf(kNoon + 2s, 20));  // 2 s, bridged: 30
    window.add(sampleOf(kNoon + 5s, 20));  // 3 s, just bridged: 60
    window.add(sampleOf(kNoon + 9s, 40));  // 4 s: a gap
    window.add(sampleOf(kNoon + 10s, 60)); // 50
    const auto results = window.close(kNoon + 60s);
    QCOMPARE(results[0].value.real(), 140.0 / 3600);
    QCOMPARE(results[0].coverage, 6.0 / 60);
    QVERIFY(results[0].isPartial);
    QVERIFY(window.close(kNoon + 120s).empty());
}

void TumblingWindowTest::severalInputs()
{
    const auto result = [](FoldKind fold) {
        const Fixture f(fold, 2s, 2);
        TumblingWindow window = f.window();
        window.close(kNoon);
        window.add(sampleOf(kNoon, 10, Quality::Good, 10));
        window.add(sampleOf(kNoon, 2, Quality::Good, 11));
        window.add(sampleOf(kNoon + 1s, 10, Quality::Good, 10));
        window.add(sampleOf(kNoon + 1s, 1000, Quality::Good, 9)); // not an input
        window.add(sampleOf(kNoon + 1s, 4, Quality::BadDeviceFailure, 11));
        return window.close(kNoon + 2s).at(0);
    };
    QCOMPARE(result(FoldKind::Mean).value.real(), 22.0 / 3);
    QCOMPARE(result(FoldKind::Mean).coverage, 0.75);
    QCOMPARE(result(FoldKind::TimeWeightedMean).value.real(), (10 * 2 + 2 * 1) / 3.0);
    QCOMPARE(result(FoldKind::Integral).value.real(), 20.0 / 3600);
    QCOMPARE(result(FoldKind::Mean).offered, 4U);
}

void TumblingWindowTest::slowInputHoldsOverShortWindows()
{
    Fixture f(FoldKind::Integral, 10s);
    f.point.period = 60s;
    TumblingWindow window = f.window();
    window.close(kNoon);
    window.add(sampleOf(kNoon, 36));
    const auto results = window.close(kNoon + 60s);
    QCOMPARE(results.size(), 6U);
    for (const WindowResult &r : results)
        QCOMPARE(r.value.real(), 0.1);
    // The source is gone: after three periods nothing is made up.
    QCOMPARE(window.close(kNoon + 1h).size(), 12U);
}

void TumblingWindowTest::preview()
{
    const Fixture f(FoldKind::TimeWeightedMean, 10s);
    TumblingWindow window = f.window();
    QVERIFY(window.preview(kNoon).value.isNull());
    window.close(kNoon);
    window.add(sampleOf(kNoon, 4));
    window.add(sampleOf(kNoon + 2s, 8));
    const WindowResult r = window.preview(kNoon + 4s);
    QCOMPARE(r.value.real(), 6.0);
    QCOMPARE(r.coverage, 1.0);
    QCOMPARE(r.quality, Quality::Good);
    QCOMPARE(window.close(kNoon + 10s).at(0).value.real(), (4 * 2 + 8 * 3) / 5.0);
}

QTEST_APPLESS_MAIN(TumblingWindowTest)
#include "tst_tumblingwindow.moc"
