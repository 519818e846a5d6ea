// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bounds.h"

#include <algorithm>

namespace gridloom {

namespace {
constexpr double kOfferedShare = 0.999;
constexpr double kDiskP95Ms = 2.0;
// All four effects confirmed; due time to PUBACK.
constexpr double kTriggerP50Ms = 2.0;
constexpr double kTriggerP95Ms = 5.0;
constexpr double kTriggerP99Ms = 10.0;
constexpr double kTriggerMaxMs = 100.0;
constexpr double kMqttP95Ms = 5.0;
constexpr double kFastStartRealTimeMs = 1.0;
constexpr double kFastStartPlainMs = 6.0;
constexpr double kRssMb = 48.0;
constexpr double kCpuPercent = 8.0;
// In the low-wear profile.
constexpr double kWrittenGbOnChange = 15.0;
constexpr double kWrittenGbRealTime = 25.0;

void addLatencies(std::vector<Bound> &all, const RunResult &result)
{
    const double excess = std::max(0.0, result.canaryMs.p95 - kDiskP95Ms);
    const auto atMost = [&](const char *text, double value, double limit) {
        all.push_back({QString::fromLatin1(text), value, Bound::Kind::AtMost, limit});
    };
    const Histogram trigger = result.latency(&RuntimeStatus::trigger);
    atMost("trigger P50, all four effects confirmed, ms", trigger.percentileMs(50), kTriggerP50Ms + excess);
    atMost("trigger P95, all four effects confirmed, ms", trigger.percentileMs(95), kTriggerP95Ms + excess);
    atMost("trigger P99, all four effects confirmed, ms", trigger.percentileMs(99), kTriggerP99Ms + excess);
    atMost("trigger maximum (beside the disk's and the longest oversleep), ms", trigger.maxMs(),
           kTriggerMaxMs + result.canaryMs.peak + result.oversleepMs);
    atMost("MQTT P95, due to PUBACK, ms", result.latency(&RuntimeStatus::mqtt).percentileMs(95), kMqttP95Ms + excess);
}
} // namespace

bool Bound::isMet() const
{
    switch (kind) {
    case Kind::AtLeast: return value >= limit;
    case Kind::AtMost: return value <= limit;
    case Kind::Equal: break;
    }
    return value == limit;
}

std::vector<Bound> bounds(const RunResult &result)
{
    std::vector<Bound> all;
    const auto work = [&](const QString &name, Ledger Ledgers::*which, int perS) {
        const RunResult::Account a = result.account(which);
        all.push_back({QStringLiteral("%1 offered, of target x seconds").arg(name),
                       static_cast<double>(a.ledger.offered), Bound::Kind::AtLeast,
                       kOfferedShare * result.target(perS)});
        all.push_back({QStringLiteral("%1 done, of those offered").arg(name), static_cast<double>(a.ledger.done),
                       Bound::Kind::Equal, static_cast<double>(a.ledger.offered + a.inFlightAtOpening)});
    };
    work(QStringLiteral("triggers"), &Ledgers::triggers, result.scenario->triggerTargetPerS);
    work(QStringLiteral("MQTT publications"), &Ledgers::publications, result.scenario->mqttTargetPerS);
    if (result.scenario->coordinationPerS > 0)
        work(QStringLiteral("coordination runs"), &Ledgers::coordination, result.scenario->coordinationPerS);
    // Beside busy loops of the same nice only the 100 ms class has a bound: its start. In the low-wear profile each
    // confirmation waits for its turn.
    if (result.busyLoops == 0 && !result.isLowWear)
        addLatencies(all, result);
    if (const Histogram start = result.latency(&RuntimeStatus::fastStart); start.count() > 0)
        all.push_back({QStringLiteral("start of 100 ms triggers P99 (%1), ms")
                           .arg(result.final.isRealTime ? QStringLiteral("SCHED_FIFO") : QStringLiteral("plain")),
                       start.percentileMs(99), Bound::Kind::AtMost,
                       result.final.isRealTime ? kFastStartRealTimeMs : kFastStartPlainMs});
    if (result.isLowWear)
        all.push_back({QStringLiteral("written by the runtime, GB a day"), result.use.writtenGbPerDay,
                       Bound::Kind::AtMost,
                       result.scenario->isRealTimeStorage ? kWrittenGbRealTime : kWrittenGbOnChange});
    all.push_back({QStringLiteral("samples lost by the store"), static_cast<double>(result.final.store.lost),
                   Bound::Kind::Equal, 0});
    if (result.scenario->id == QLatin1String("S3.5")) {
        all.push_back({QStringLiteral("runtime RSS, MB"), result.use.runtimeRssMb, Bound::Kind::AtMost, kRssMb});
        all.push_back({QStringLiteral("runtime CPU, % of one core"), result.use.runtimeCpuPercent, Bound::Kind::AtMost,
                       kCpuPercent});
    }
    return all;
}

} // namespace gridloom
