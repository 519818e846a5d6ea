// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/runresult.h"

namespace gridloom {

RunResult::Account RunResult::account(Ledger Ledgers::*which) const
{
    Account a{final.ledgers.*which, 0};
    if (opening) {
        const Ledger &before = opening->ledgers.*which;
        a.ledger.offered -= before.offered;
        a.ledger.done -= before.done;
        a.ledger.failed -= before.failed;
        a.ledger.timedOut -= before.timedOut;
        a.ledger.discarded -= before.discarded;
        a.inFlightAtOpening = before.inFlight;
    }
    return a;
}

namespace {
double share(std::uint64_t done, double target)
{
    return target > 0 ? static_cast<double>(done) / target : 1.0;
}
} // namespace

double RunResult::triggerAttainment() const
{
    const Ledger l = account(&Ledgers::triggers).ledger;
    return share(l.done, scenario ? target(scenario->triggerTargetPerS) : static_cast<double>(l.offered));
}

double RunResult::coordinationAttainment() const
{
    const Ledger l = account(&Ledgers::coordination).ledger;
    return share(l.done, scenario ? target(scenario->coordinationPerS) : static_cast<double>(l.offered));
}

double RunResult::mqttAttainment() const
{
    const Ledger l = account(&Ledgers::publications).ledger;
    return share(l.done, scenario ? target(scenario->mqttTargetPerS) : static_cast<double>(l.offered));
}

} // namespace gridloom
