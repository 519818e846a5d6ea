// SPDX-License-Identifier: Apache-2.0
// RuntimeStatus: one status line of gridloomd (docs/status.md) as plain data. Pure.
#pragma once

#include "core/histogram.h"
#include "core/ledger.h"
#include "core/result.h"

#include <QByteArray>
#include <QJsonObject>
#include <QString>

#include <array>
#include <cstdint>
#include <string_view>

namespace gridloom {

/// The classes of work, each with an account of its own.
struct Ledgers {
    Ledger points, triggers, control, mqtt, alarms, publications, coordination;

    struct Named {
        std::string_view name;
        const Ledger &ledger;
    };
    /// All of them, in the order of the status line.
    std::array<Named, 7> all() const
    {
        return {{{"points", points},
                 {"triggers", triggers},
                 {"control", control},
                 {"mqtt", mqtt},
                 {"alarms", alarms},
                 {"publications", publications},
                 {"coordination", coordination}}};
    }
    std::uint64_t inFlight() const;
};

struct RuntimeStatus {
    std::uint64_t sequence = 0;
    double uptimeS = 0; ///< of the runtime's clock: faster than real time under --speed
    QString state;      ///< "running", "draining", "stopped"
    std::int64_t pid = 0;
    Ledgers ledgers;
    Histogram trigger, triggerIssued, fastStart, mqtt, coordination; ///< latencies since the start
    bool isRealTime = false;                                         ///< engine and fast scripts run under SCHED_FIFO
    struct {
        std::uint64_t reads = 0, readBacks = 0, writes = 0, timeouts = 0, exceptions = 0;
    } requests;
    std::uint64_t mismatches = 0;
    struct {
        std::uint64_t samplesOffered = 0, rows = 0, skippedByPolicy = 0, lost = 0, pending = 0, bytes = 0,
                      aggregationRows = 0;
    } store;
    std::uint64_t runsKept = 0;
    std::uint64_t aggregationRuns = 0;
    std::uint64_t coordinationWrites = 0;
    struct {
        std::uint64_t cpuMs = 0, rssKb = 0, threads = 0;
    } process;
    QJsonObject json; ///< the whole line, for what is only shown
};

/// Every counter above must be there: one that is missing must not pass for 0 and make an account hold. Error
/// "status.syntax" for text that is no JSON object, "status.missing" with the path of the first missing counter.
Result<RuntimeStatus> parseRuntimeStatus(const QByteArray &line);

} // namespace gridloom
