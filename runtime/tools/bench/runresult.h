// SPDX-License-Identifier: Apache-2.0
// RunResult: everything one demo or bench run left behind, and the figures derived from it. Pure.
#pragma once

#include "tools/bench/reconcile.h"
#include "tools/bench/sampler.h"
#include "tools/bench/scenario.h"

#include <optional>

namespace gridloom {

/// What was measured on, for the report.
struct Machine {
    QString cpu, kernel, system, fileSystem;
    int cores = 0;
    std::uint64_t memoryMb = 0;
};

struct RunResult {
    std::optional<Scenario> scenario;     ///< none: the demo
    std::optional<RuntimeStatus> opening; ///< status at the opening of the measuring window; none: the whole run
    RuntimeStatus final;
    double seconds = 0; ///< length of the window, or of the whole run, of the runtime's clock
    double speed = 1;
    OutsideCounts outside;
    UseOfMachine use;
    Summary canaryMs;
    double oversleepMs = 0; ///< of an idle 1 ms timer, the longest
    int busyLoops = 0;
    bool isLowWear = false;
    std::uint64_t samplerTimeouts = 0;
    Machine machine;

    /// Latency within the window; one of RuntimeStatus' histograms.
    Histogram latency(Histogram RuntimeStatus::*which) const
    {
        return opening ? (final.*which).since((*opening).*which) : final.*which;
    }
    /// One class of work within the window. `inFlightAtOpening` is work of before that ended in it, so
    /// offered + inFlightAtOpening = done + failed + timedOut + discarded + inFlight.
    struct Account {
        Ledger ledger;
        std::uint64_t inFlightAtOpening = 0;
        /// Everything that was due came to its end as it should.
        bool allDone() const { return ledger.done == ledger.offered + inFlightAtOpening; }
    };
    Account account(Ledger Ledgers::*which) const;
    /// Work that had to become due in the window: `perS` times its seconds.
    double target(int perS) const { return perS * seconds; }
    /// done / target in the window; the demo has no target but what became due.
    double triggerAttainment() const;
    double mqttAttainment() const;
    double coordinationAttainment() const;
};

} // namespace gridloom
