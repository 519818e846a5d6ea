// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/reconcile.h"

#include <algorithm>

namespace gridloom {

std::vector<Identity> reconcile(const RuntimeStatus &final, const OutsideCounts &outside)
{
    std::vector<Identity> all;
    const auto add = [&all](const QString &text, std::uint64_t left, std::uint64_t right) {
        all.push_back({text, left, right});
    };
    for (const auto &[name, ledger] : final.ledgers.all()) {
        const QString who = QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
        add(QStringLiteral("%1: offered = done + failed + timedOut + discarded + inFlight").arg(who), ledger.offered,
            ledger.done + ledger.failed + ledger.timedOut + ledger.discarded + ledger.inFlight);
        add(QStringLiteral("%1: inFlight = 0 after the stop").arg(who), ledger.inFlight, 0);
    }
    const auto &store = final.store;
    add(QStringLiteral("samplesOffered = rows + skippedByPolicy + lost + pending"), store.samplesOffered,
        store.rows + store.skippedByPolicy + store.lost + store.pending);
    add(QStringLiteral("rows counted in the store = rows"), outside.storeRows, store.rows);
    add(QStringLiteral("simReads = reads + readBacks"), outside.simReads,
        final.requests.reads + final.requests.readBacks);
    add(QStringLiteral("simWrites = control.done + mismatches"), outside.simWrites,
        final.ledgers.control.done + final.mismatches);
    add(QStringLiteral("simWrites = writes"), outside.simWrites, final.requests.writes);
    add(QStringLiteral("subscriberMessages = mqtt.done"), outside.subscriberMessages, final.ledgers.mqtt.done);
    add(QStringLiteral("dbAggregationRows = aggregationRows"), outside.dbAggregationRows, store.aggregationRows);
    add(QStringLiteral("dbAggregationRuns = runs whose aggregation stage is done"), outside.dbAggregationRuns,
        final.aggregationRuns);
    add(QStringLiteral("dbAlarmRows = alarms.done"), outside.dbAlarmRows, final.ledgers.alarms.done);
    const Ledger &coordination = final.ledgers.coordination;
    add(QStringLiteral("dbCoordinationRows = coordination.done + failed + timedOut"), outside.dbCoordinationRows,
        coordination.done + coordination.failed + coordination.timedOut);
    if (outside.simCoordinationWrites)
        add(QStringLiteral("simCoordinationWrites = coordinationWrites"), *outside.simCoordinationWrites,
            final.coordinationWrites);
    return all;
}

bool allHold(const std::vector<Identity> &identities)
{
    return std::all_of(identities.begin(), identities.end(), [](const Identity &i) { return i.holds(); });
}

} // namespace gridloom
