// SPDX-License-Identifier: Apache-2.0
// Folds against hand-computed values and against a reference that walks through each window millisecond by millisecond.
#include "core/window/tumblingwindow.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

constexpr WallTime kNoon{std::chrono::seconds(1'785'585'600)}; // 2026-08-01T12:00:00Z

/// A design of points with a period of 1 s, as far as a window looks at it.
struct Fixture {
    explicit Fixture(FoldKind fold, Milliseconds window, int inputs = 1)
    {
        point.period = 1s;
        for (int i = 0; i < inputs; ++i) {
            PointRef ref;
            ref.handle = static_cast<PointHandle>(10 + i);
            ref.point = &point;
            aggregation.inputs.append(ref.handle);
        }
        design.points.resize(10 + inputs);
        for (PointRef &ref : design.points)
            ref.point = &point;
        aggregation.fold = fold;
        aggregation.window = window;
    }
    TumblingWindow window() const { return {aggregation, QTimeZone::utc(), design}; }

    Design design;
    Point point;
    Aggregation aggregation;
};

Sample sampleOf(WallTime t, double value, Quality quality = Quality::Good, PointHandle point = 10)
{
    Sample s;
    s.point = point;
    s.quality = quality;
    s.value = isBad(quality) ? Value() : Value(value);
    s.sourceTime = t;
    return s;
}

/// A sample every second with the value at(second of the run).
template<typename At>
std::vector<WindowResult> run(TumblingWindow &window, WallTime from, std::chrono::seconds duration, At at)
{
    std::vector<WindowResult> results;
    for (std::chrono::seconds s{0}; s <= duration; ++s) {
        for (auto &r : window.close(from + s))
            results.push_back(std::move(r));
        window.add(sampleOf(from + s, at(s.count())));
    }
    return results;
}

} // namespace

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
    void waitingSamplesFindTheirWindow();
    void lateSampleSaysWhatHolds();
    void slowInputHoldsOverShortWindows();
    void dailyEnergyFollowsTheLocalDay_data();
    void dailyEnergyFollowsTheLocalDay();
    void clockSetBackOneHour();
    void clockAYearAheadAndBack();
    void clockFromTheEpoch();
    void sourceWithAClockAhead();
    void preview();
    void agreesWithMillisecondReference_data();
    void agreesWithMillisecondReference();
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
    window.add(sampleOf(kNoon + 2s, 20)); // 2 s, bridged: 30
    window.add(sampleOf(kNoon + 5s, 20)); // 3 s, just bridged: 60
    window.add(sampleOf(kNoon + 9s, 40)); // 4 s: a gap
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

// A whole batch first, then close(): every sample is in its own window.
void TumblingWindowTest::waitingSamplesFindTheirWindow()
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

void TumblingWindowTest::lateSampleSaysWhatHolds()
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

void TumblingWindowTest::dailyEnergyFollowsTheLocalDay_data()
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

void TumblingWindowTest::dailyEnergyFollowsTheLocalDay()
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

// T09
void TumblingWindowTest::clockSetBackOneHour()
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

void TumblingWindowTest::clockAYearAheadAndBack()
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

void TumblingWindowTest::clockFromTheEpoch()
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
void TumblingWindowTest::sourceWithAClockAhead()
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

void TumblingWindowTest::agreesWithMillisecondReference_data()
{
    QTest::addColumn<int>("fold");
    QTest::newRow("time-weighted mean") << static_cast<int>(FoldKind::TimeWeightedMean);
    QTest::newRow("integral") << static_cast<int>(FoldKind::Integral);
}

namespace {

struct Reference {
    double area = 0; // value x ms
    int covered = 0; // ms
};

bool isUsable(const Sample &s)
{
    return isGood(s.quality) && std::isfinite(s.value.real());
}

/// For each millisecond of [start, end): which value is known in its middle, from all samples before `end`.
Reference walk(const std::vector<Sample> &samples, WallTime start, WallTime end, FoldKind fold, Milliseconds maxGap)
{
    Reference r;
    for (WallTime t = start; t < end; t += 1ms) {
        const Sample *before = nullptr, *after = nullptr;
        bool isBroken = false;
        for (const Sample &s : samples) {
            if (s.sourceTime >= end)
                break;
            const bool isStale = s.quality == Quality::UncertainLastUsable;
            if (s.sourceTime <= t && isUsable(s)) {
                before = &s;
                isBroken = false;
            } else if (fold == FoldKind::TimeWeightedMean && s.sourceTime <= t && !isStale) {
                before = nullptr;
            } else if (fold == FoldKind::Integral && !after) {
                if (s.sourceTime > t && isUsable(s))
                    after = &s;
                else if (!isStale)
                    isBroken = true;
            }
        }
        if (!before)
            continue;
        if (fold == FoldKind::TimeWeightedMean) {
            if (t - before->sourceTime >= maxGap)
                continue;
            r.area += before->value.real();
        } else if (after) {
            const auto gap = after->sourceTime - before->sourceTime;
            if (gap > maxGap)
                continue;
            const double share = std::chrono::duration<double>(t + 500us - before->sourceTime) / std::chrono::duration<double>(gap);
            r.area += before->value.real() + share * (after->value.real() - before->value.real());
        } else {
            if (isBroken || end - before->sourceTime > maxGap)
                continue;
            r.area += before->value.real();
        }
        ++r.covered;
    }
    return r;
}

} // namespace

void TumblingWindowTest::agreesWithMillisecondReference()
{
    QFETCH(int, fold);
    std::mt19937 random(7);
    int compared = 0;
    for (int round = 0; round < 60; ++round) {
        Fixture f(static_cast<FoldKind>(fold), 2s);
        f.aggregation.maxGap = Milliseconds(100 + random() % 900);
        TumblingWindow window = f.window();
        window.close(kNoon);
        std::vector<Sample> samples;
        const auto compare = [&](const WindowResult &r) {
            const Reference expected =
                    walk(samples, r.start, r.end, f.aggregation.fold, f.aggregation.maxGap);
            QCOMPARE(qRound(r.coverage * 2000), expected.covered);
            if (expected.covered == 0) {
                QVERIFY(r.value.isNull());
                return;
            }
            const double value = f.aggregation.fold == FoldKind::Integral ? expected.area / 3'600'000 : expected.area / expected.covered;
            QVERIFY2(std::abs(r.value.real() - value) < 1e-9, qPrintable(QString::number(value)));
            ++compared;
        };
        for (WallTime t = kNoon; t < kNoon + 20s; t += std::chrono::milliseconds(1 + random() % 700)) {
            for (const WindowResult &r : window.close(t))
                compare(r);
            const unsigned dice = random() % 10;
            const Quality quality = dice == 0 ? Quality::BadCommunicationError
                    : dice == 1 ? Quality::UncertainLastUsable : Quality::Good;
            samples.push_back(sampleOf(t, dice == 2 ? std::nan("") : static_cast<double>(random() % 1000) / 8, quality));
            window.add(samples.back());
        }
    }
    QVERIFY2(compared > 400, qPrintable(QString::number(compared)));
}

QTEST_APPLESS_MAIN(TumblingWindowTest)
#include "tst_tumblingwindow.moc"
