// SPDX-License-Identifier: Apache-2.0
// Acquisition through real processes: simulated devices, gridloomd with its store, a broker.
#include "bench/microbench.h"
#include "bench/widerun.h"

namespace gridloom {

namespace {

constexpr int kSeconds = 20;

// Ten percent more than the bound, so that what is measured is what arrives and not the rate of the timer.
constexpr WideLoad kFast{.devices = 50, .pointsPerDevice = 1'100, .periodMs = 100};
constexpr WideLoad kHundredThousand{
    .devices = 10, .pointsPerDevice = 10'000, .groupsPerDevice = 10, .writePeriodMs = 100};

QByteArray text(const WideRun &fast, const WideRun &many)
{
    const auto &offered = many.final.ledgers.publications;
    return QStringLiteral(
               "50 connections: %1 points/s answered, %2 rows/s stored, %3 us CPU a point (%4 % of one core), "
               "%5 MB\n"
               "100,000 points at 1 s: %6 points/s, %7 rows/s stored, %8 % of one core, %9 MB; %10 of %11 "
               "messages acknowledged; %12 writes, P50 %13, P95 %14, highest %15 ms\n")
        .arg(fast.pointsPerS, 0, 'f', 0)
        .arg(fast.rowsPerS, 0, 'f', 0)
        .arg(fast.cpuUsPerPoint, 0, 'f', 3)
        .arg(fast.cpuPercent, 0, 'f', 1)
        .arg(fast.rssMb, 0, 'f', 1)
        .arg(many.pointsPerS, 0, 'f', 0)
        .arg(many.rowsPerS, 0, 'f', 0)
        .arg(many.cpuPercent, 0, 'f', 1)
        .arg(many.rssMb, 0, 'f', 1)
        .arg(offered.done)
        .arg(offered.offered)
        .arg(many.writeMs.size())
        .arg(many.writeMs.empty() ? 0 : many.writeMs[many.writeMs.size() / 2], 0, 'f', 2)
        .arg(many.writeP95Ms, 0, 'f', 2)
        .arg(many.writeMs.empty() ? 0 : many.writeMs.back(), 0, 'f', 2)
        .toUtf8();
}

std::vector<Bound> boundsOf(const WideRun &fast, const WideRun &many)
{
    using Kind = Bound::Kind;
    const auto lost = [](const WideRun &run) { return static_cast<double>(run.final.store.lost); };
    const auto &publications = many.final.ledgers.publications;
    return {{QStringLiteral("points/s, 50 connections, stored"), fast.rowsPerS, Kind::AtLeast, 500'000},
            {QStringLiteral("CPU of all threads a point, us"), fast.cpuUsPerPoint, Kind::AtMost, 1},
            {QStringLiteral("samples lost at 50 connections"), lost(fast), Kind::Equal, 0},
            {QStringLiteral("100,000 points: stored rows/s"), many.rowsPerS, Kind::AtLeast, 99'900},
            {QStringLiteral("100,000 points: % of one core"), many.cpuPercent, Kind::AtMost, 25},
            {QStringLiteral("100,000 points: RSS, MB"), many.rssMb, Kind::AtMost, 80},
            {QStringLiteral("100,000 points: write to register, P95, ms"), many.writeP95Ms, Kind::AtMost, 3},
            {QStringLiteral("100,000 points: samples lost"), lost(many), Kind::Equal, 0},
            {QStringLiteral("100,000 points: messages acknowledged, of those offered"),
             static_cast<double>(publications.done), Kind::Equal, static_cast<double>(publications.offered)}};
}

} // namespace

Result<MicroBenchResult> benchAcquire(const MicroBenchOptions &options)
{
    const int seconds = options.seconds > 0 ? options.seconds : kSeconds;
    const auto fast = runWide(kFast, seconds, options.interrupt);
    if (!fast)
        return fast.error();
    const auto many = runWide(kHundredThousand, seconds, options.interrupt);
    if (!many)
        return many.error();
    MicroBenchResult result;
    result.text = text(fast.value(), many.value());
    result.bounds = boundsOf(fast.value(), many.value());
    for (const WideRun *run : {&fast.value(), &many.value()})
        result.identities.insert(result.identities.end(), run->identities.begin(), run->identities.end());
    const QJsonObject hundredThousand{{QStringLiteral("cpuPercent"), many.value().cpuPercent},
                                      {QStringLiteral("rssMb"), many.value().rssMb},
                                      {QStringLiteral("writeP95Ms"), many.value().writeP95Ms}};
    result.json = {{QStringLiteral("pointsPerS"), fast.value().rowsPerS},
                   {QStringLiteral("cpuUsPerPoint"), fast.value().cpuUsPerPoint},
                   {QStringLiteral("hundredThousand"), hundredThousand}};
    return result;
}

} // namespace gridloom
