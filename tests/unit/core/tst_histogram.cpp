// SPDX-License-Identifier: Apache-2.0
// Histogram against a sorted list of the same durations.
#include "core/histogram.h"

#include "core/json.h"

#include <QJsonDocument>
#include <QTest>

#include <random>

using namespace gridloom;
using namespace std::chrono_literals;

class HistogramTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void emptyIsZero();
    void percentilesAreNeverTooLowAndLittleTooHigh();
    void averageAndMaximumAreExact();
    void extremesStayInside();
    void addsUp();
    void subtracts();
    void stateSurvivesJson();
    void damagedStateIsIgnored();
};

namespace {

std::vector<std::chrono::nanoseconds> randomDurations(unsigned seed, int count)
{
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> latency(14.0, 2.0); // median e^14 ns = 1.2 ms
    std::vector<std::chrono::nanoseconds> durations;
    for (int i = 0; i < count; ++i)
        durations.emplace_back(static_cast<std::int64_t>(latency(random)));
    return durations;
}

Histogram histogramOf(const std::vector<std::chrono::nanoseconds> &durations)
{
    Histogram h;
    for (const auto d : durations)
        h.add(d);
    return h;
}

QJsonObject state(const Histogram &h)
{
    JsonWriter w;
    h.writeState(w);
    return QJsonDocument::fromJson(w.text()).object();
}

} // namespace

void HistogramTest::emptyIsZero()
{
    const Histogram h;
    QCOMPARE(h.count(), std::uint64_t(0));
    QCOMPARE(h.percentileMs(99), 0.0);
    QCOMPARE(h.averageMs(), 0.0);
    QCOMPARE(h.maxMs(), 0.0);
}

void HistogramTest::percentilesAreNeverTooLowAndLittleTooHigh()
{
    for (const int count : {1, 2, 7, 1'000, 20'000}) {
        auto durations = randomDurations(static_cast<unsigned>(count), count);
        const Histogram h = histogramOf(durations);
        std::sort(durations.begin(), durations.end());
        for (const double p : {0.0, 1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0}) {
            // Nearest rank: the smallest value with at least p % of all values at or below it.
            const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(p / 100.0 * count)));
            const double exact = static_cast<double>(durations[rank - 1].count()) * 1e-6;
            const double found = h.percentileMs(p);
            QVERIFY2(found >= exact * (1 - 1e-12), qPrintable(QStringLiteral("%1 %2 %3").arg(p).arg(found).arg(exact)));
            // Below 1,024 ns there is one bucket.
            QVERIFY2(found <= std::max(exact * (1 + 1.0 / 32) + 1e-9, 0.001057),
                     qPrintable(QStringLiteral("%1 %2 %3").arg(p).arg(found).arg(exact)));
        }
    }
}

void HistogramTest::averageAndMaximumAreExact()
{
    const Histogram h = histogramOf({1ms, 2ms, 9ms});
    QCOMPARE(h.averageMs(), 4.0);
    QCOMPARE(h.maxMs(), 9.0);
    QCOMPARE(h.percentileMs(100), 9.0); // never above the maximum
}

void HistogramTest::extremesStayInside()
{
    const Histogram h = histogramOf({-5ns, 0ns, 1ns, std::chrono::hours(24 * 365)});
    QCOMPARE(h.count(), std::uint64_t(4));
    QCOMPARE(h.maxMs(), 365 * 86'400e3);
    QVERIFY(h.percentileMs(75) <= 0.001057);
    QVERIFY(h.percentileMs(76) > 1e9);
}

void HistogramTest::addsUp()
{
    const auto a = randomDurations(1, 500);
    const auto b = randomDurations(2, 700);
    auto both = a;
    both.insert(both.end(), b.begin(), b.end());
    Histogram sum = histogramOf(a);
    sum.add(histogramOf(b));
    QCOMPARE(state(sum), state(histogramOf(both)));
    QCOMPARE(sum.count(), std::uint64_t(1'200));
}

void HistogramTest::subtracts()
{
    Histogram h = histogramOf({1ms, 5ms});
    const Histogram earlier = h;
    h.add(2ms);
    h.add(8ms);
    const Histogram difference = h.since(earlier);
    QCOMPARE(difference.count(), std::uint64_t(2));
    QCOMPARE(difference.averageMs(), 5.0);
    QCOMPARE(difference.maxMs(), 8.0); // the overall maximum lies in the difference
    // The older maximum does not come back: the upper edge of the bucket that grew is at most 1/32 above the value.
    Histogram later = h;
    later.add(3ms);
    QVERIFY(later.since(h).maxMs() >= 3.0 && later.since(h).maxMs() <= 3.0 * 33 / 32);
    QCOMPARE(h.since(h).count(), std::uint64_t(0));
    QCOMPARE(h.since(h).maxMs(), 0.0);
}

void HistogramTest::stateSurvivesJson()
{
    const Histogram h = histogramOf(randomDurations(3, 2'000));
    const Histogram copy = Histogram::fromState(state(h));
    QCOMPARE(state(copy), state(h));
    QCOMPARE(copy.count(), h.count());
    QCOMPARE(copy.percentileMs(95), h.percentileMs(95));
    QCOMPARE(copy.averageMs(), h.averageMs());
    JsonWriter w;
    histogramOf({1ms, 3ms}).writeSummary(w);
    const QJsonObject summary = QJsonDocument::fromJson(w.text()).object();
    QCOMPARE(summary[QLatin1String("n")].toInt(), 2);
    QCOMPARE(summary[QLatin1String("avg")].toDouble(), 2.0);
    QCOMPARE(summary[QLatin1String("max")].toDouble(), 3.0);
}

void HistogramTest::damagedStateIsIgnored()
{
    const QJsonObject damaged =
        QJsonDocument::fromJson(R"({"buckets": {"5": 2, "x": 3, "99999": 1, "-1": 1}, "sumNs": "many"})").object();
    QCOMPARE(Histogram::fromState(damaged).count(), std::uint64_t(2));
    QCOMPARE(Histogram::fromState({}).count(), std::uint64_t(0));
}

QTEST_APPLESS_MAIN(HistogramTest)
#include "tst_histogram.moc"
