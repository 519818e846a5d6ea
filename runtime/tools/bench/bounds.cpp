// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bounds.h"

#include <algorithm>

namespace gridloom {

namespace {
constexpr double kOfferedShare = 0.999;
constexpr double kTriggerP95Ms = 15.0;
constexpr double kDiskP95Ms = 2.0;
constexpr double kRssMb = 64.0;
constexpr double kCpuPercent = 15.0;
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
    all.push_back({QStringLiteral("trigger P95, all four effects confirmed, ms"),
                   result.latency(&RuntimeStatus::trigger).percentileMs(95), Bound::Kind::AtMost,
                   kTriggerP95Ms + std::max(0.0, result.canaryMs.p95 - kDiskP95Ms)});
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
