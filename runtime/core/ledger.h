// SPDX-License-Identifier: Apache-2.0
// Ledger: the account of one class of work. Owned by the engine thread; a snapshot is a copy.
// At every moment offered = done + failed + timedOut + discarded + inFlight.
#pragma once

#include <cstdint>

namespace gridloom {

class JsonWriter;

enum class Outcome : std::uint8_t { Done, Failed, TimedOut, Discarded };

struct Ledger {
    std::uint64_t offered = 0; ///< counted where the work arises: due list, request, broker
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t timedOut = 0;
    std::uint64_t discarded = 0;
    std::uint64_t inFlight = 0;

    void offer(std::uint64_t n = 1)
    {
        offered += n;
        inFlight += n;
    }
    /// Ends n pieces of work; n must be in flight.
    void finish(Outcome outcome, std::uint64_t n = 1);
    bool addsUp() const { return offered == done + failed + timedOut + discarded + inFlight; }
    /// {"offered":..,"done":..,"failed":..,"timedOut":..,"discarded":..,"inFlight":..}
    void write(JsonWriter &w) const;

    friend bool operator==(const Ledger &, const Ledger &) = default;
};

} // namespace gridloom
