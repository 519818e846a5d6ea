// SPDX-License-Identifier: Apache-2.0
// What a point costs: memory of gridloomd with 100,000 points against 1,000, and the time to the first acquisition. The
// points are acquired and not stored, so that the store's own memory budget is not in it; its list of series is.
#include "bench/microbench.h"
#include "bench/widerun.h"

namespace gridloom {

namespace {
constexpr int kSeconds = 5;
constexpr double kBytesPerMb = 1024.0 * 1024.0;
constexpr WideLoad kFew{.devices = 10, .pointsPerDevice = 100, .isStoredAlways = false};
constexpr WideLoad kMany{.devices = 10, .pointsPerDevice = 10'000, .isStoredAlways = false};
} // namespace

Result<MicroBenchResult> benchPoints(const MicroBenchOptions &options)
{
    const int seconds = options.seconds > 0 ? options.seconds : kSeconds;
    const auto few = runWide(kFew, seconds, options.interrupt);
    if (!few)
        return few.error();
    const auto many = runWide(kMany, seconds, options.interrupt);
    if (!many)
        return many.error();
    const double bytesPerPoint =
        (many.value().rssMb - few.value().rssMb) * kBytesPerMb / (kMany.points() - kFew.points());
    MicroBenchResult result;
    result.text =
        QStringLiteral("%1 points: %2 MB; %3 points: %4 MB; %5 bytes a point. Start to first acquisition: %6 ms\n")
            .arg(kFew.points())
            .arg(few.value().rssMb, 0, 'f', 1)
            .arg(kMany.points())
            .arg(many.value().rssMb, 0, 'f', 1)
            .arg(bytesPerPoint, 0, 'f', 0)
            .arg(many.value().startMs, 0, 'f', 0)
            .toUtf8();
    result.bounds = {{QStringLiteral("bytes a point"), bytesPerPoint, Bound::Kind::AtMost, 400},
                     {QStringLiteral("start to first acquisition with 100,000 points, ms"), many.value().startMs,
                      Bound::Kind::AtMost, 1'000}};
    result.identities = many.value().identities;
    result.json = {{QStringLiteral("bytesPerPoint"), bytesPerPoint}, {QStringLiteral("startMs"), many.value().startMs}};
    return result;
}

} // namespace gridloom
