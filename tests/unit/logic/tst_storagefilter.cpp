// SPDX-License-Identifier: Apache-2.0
#include "core/storage/storagefilter.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kStart{1h};
constexpr WallTime kWall{std::chrono::seconds(1'785'542'400)};

Sample sampleAt(std::chrono::nanoseconds t, Value value, Quality quality = Quality::Good)
{
    return {0, quality, std::move(value), kWall + std::chrono::duration_cast<std::chrono::microseconds>(t), kStart + t};
}

StoragePolicy onChange(double deadband, Milliseconds maxInterval = 10s)
{
    return {StoragePolicy::Mode::OnChange, deadband, maxInterval};
}

} // namespace

class StorageFilterTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void modes();
    void deadbandCountsFromTheLastRow();
    void stepOfExactlyTheDeadbandIsNoChange();
    void bigIntegersKeepTheirLastDigit();
    void onlyNumbersHaveADeadband();
    void qualityIsAChange();
    void heartbeatGapStaysBelowItsBound();
    void wallClockDoesNotMatter();
};

void StorageFilterTest::modes()
{
    StorageFilter none({StoragePolicy::Mode::None, 0, 10s});
    QVERIFY(!none.accept(sampleAt(0s, Value(1.0))));
    QVERIFY(!none.heartbeatDue());
    StorageFilter all({StoragePolicy::Mode::RealTime, 5, 10s});
    QVERIFY(all.accept(sampleAt(0s, Value(1.0))));
    QVERIFY(all.accept(sampleAt(1s, Value(1.0))));
    QVERIFY(!all.heartbeatDue());
    StorageFilter changes(onChange(0));
    QVERIFY(!changes.heartbeatDue());
    QVERIFY(changes.accept(sampleAt(0s, Value(1.0))));
    QVERIFY(!changes.accept(sampleAt(1s, Value(1.0))));
    QVERIFY(changes.accept(sampleAt(2s, Value(1.5))));
    QCOMPARE(*changes.heartbeatDue(), kStart + 12s);
    StorageFilter noHeartbeat(onChange(0, 0ms));
    QVERIFY(noHeartbeat.accept(sampleAt(0s, Value(1.0))));
    QVERIFY(!noHeartbeat.accept(sampleAt(1h, Value(1.0))));
    QVERIFY(!noHeartbeat.heartbeatDue());
}

void StorageFilterTest::deadbandCountsFromTheLastRow()
{
    StorageFilter filter(onChange(1.0, 1h));
    QVERIFY(filter.accept(sampleAt(0s, Value(10.0))));
    // A slow drift: each step is small, but the third one has left the band around the row.
    QVERIFY(!filter.accept(sampleAt(1s, Value(10.4))));
    QVERIFY(!filter.accept(sampleAt(2s, Value(10.8))));
    QVERIFY(filter.accept(sampleAt(3s, Value(11.2))));
    QVERIFY(!filter.accept(sampleAt(4s, Value(10.3))));
    QVERIFY(filter.accept(sampleAt(5s, Value(10.1))));
}

void StorageFilterTest::stepOfExactlyTheDeadbandIsNoChange()
{
    StorageFilter filter(onChange(0.1, 1h));
    QVERIFY(filter.accept(sampleAt(0s, Value(20.0))));
    QVERIFY(!filter.accept(sampleAt(1s, Value(20.1)))); // 20.1 - 20.0 = 0.10000000000000142
    QVERIFY(!filter.accept(sampleAt(2s, Value(19.9))));
    QVERIFY(filter.accept(sampleAt(3s, Value(20.11))));
}

void StorageFilterTest::bigIntegersKeepTheirLastDigit()
{
    StorageFilter exact(onChange(0, 1h));
    QVERIFY(exact.accept(sampleAt(0s, Value(std::int64_t{9007199254740992}))));
    QVERIFY(exact.accept(sampleAt(1s, Value(std::int64_t{9007199254740993})))); // the same double
    QVERIFY(!exact.accept(sampleAt(2s, Value(std::int64_t{9007199254740993}))));
    QVERIFY(exact.accept(sampleAt(3s, Value(std::uint64_t{18446744073709551615ULL}))));
    QVERIFY(exact.accept(sampleAt(4s, Value(std::uint64_t{18446744073709551614ULL}))));

    StorageFilter banded(onChange(1, 1h));
    QVERIFY(banded.accept(sampleAt(0s, Value(std::uint64_t{18446744073709551615ULL}))));
    QVERIFY(!banded.accept(sampleAt(1s, Value(std::uint64_t{18446744073709551614ULL}))));
    QVERIFY(banded.accept(sampleAt(2s, Value(std::uint64_t{18446744073709551613ULL}))));
    QVERIFY(banded.accept(sampleAt(3s, Value(std::int64_t{-9223372036854775807LL}))));
    QVERIFY(!banded.accept(sampleAt(4s, Value(std::int64_t{-9223372036854775806LL}))));
    QVERIFY(banded.accept(sampleAt(5s, Value(std::int64_t{9223372036854775807LL}))));
}

void StorageFilterTest::onlyNumbersHaveADeadband()
{
    StorageFilter filter(onChange(5, 1h)); // a site's deadband reaches its switches too
    QVERIFY(filter.accept(sampleAt(0s, Value(false))));
    QVERIFY(filter.accept(sampleAt(1s, Value(true))));
    QVERIFY(!filter.accept(sampleAt(2s, Value(true))));
    QVERIFY(filter.accept(sampleAt(3s, Value(QByteArray("on")))));
    QVERIFY(!filter.accept(sampleAt(4s, Value(QByteArray("on")))));
    QVERIFY(filter.accept(sampleAt(5s, Value())));
    QVERIFY(!filter.accept(sampleAt(6s, Value())));
    QVERIFY(filter.accept(sampleAt(7s, Value(std::nan("")))));
    QVERIFY(!filter.accept(sampleAt(8s, Value(std::nan("")))));
    QVERIFY(filter.accept(sampleAt(9s, Value(1.0))));
}

void StorageFilterTest::qualityIsAChange()
{
    StorageFilter filter(onChange(5));
    QVERIFY(filter.accept(sampleAt(0s, Value(1.0))));
    QVERIFY(filter.accept(sampleAt(1s, Value(1.0), Quality::UncertainLastUsable)));
    QVERIFY(filter.accept(sampleAt(2s, Value(), Quality::BadCommunicationError)));
    QVERIFY(!filter.accept(sampleAt(11s, Value(), Quality::BadCommunicationError)));
    QVERIFY(filter.accept(sampleAt(12s, Value(), Quality::BadCommunicationError))); // a bad heartbeat
    QVERIFY(filter.accept(sampleAt(13s, Value(), Quality::BadNotConnected)));
}

// PC-20: with samples that come a little before each second and the caller's heartbeat at heartbeatDue().
void StorageFilterTest::heartbeatGapStaysBelowItsBound()
{
    std::mt19937 random(20);
    StorageFilter filter(onChange(0));
    std::vector<SteadyTime> rows;
    const auto offer = [&](SteadyTime t) {
        if (filter.accept(sampleAt(t - kStart, Value(230.5))))
            rows.push_back(t);
    };
    for (int second = 0; second <= 600; ++second) {
        const SteadyTime t = kStart + std::chrono::seconds(second) - std::chrono::microseconds(random() % 3000);
        while (filter.heartbeatDue() && *filter.heartbeatDue() <= t)
            offer(*filter.heartbeatDue());
        offer(t);
    }
    for (std::size_t i = 1; i < rows.size(); ++i)
        QVERIFY(rows[i] - rows[i - 1] <= 10s + 1ms);
    QVERIFY2(rows.size() >= 60 && rows.size() <= 61, qPrintable(QString::number(rows.size())));
}

void StorageFilterTest::wallClockDoesNotMatter()
{
    StorageFilter filter(onChange(0));
    QVERIFY(filter.accept(sampleAt(0s, Value(1.0))));
    Sample back = sampleAt(5s, Value(1.0));
    back.sourceTime -= 1h;
    QVERIFY(!filter.accept(back));
    Sample due = sampleAt(10s, Value(1.0));
    due.sourceTime -= 1h;
    QVERIFY(filter.accept(due));
    Sample ahead = sampleAt(11s, Value(1.0));
    ahead.sourceTime += 24h * 365;
    QVERIFY(!filter.accept(ahead));
}

QTEST_APPLESS_MAIN(StorageFilterTest)
#include "tst_storagefilter.moc"
