// SPDX-License-Identifier: Apache-2.0
// WriteRate: bytes written, as a rate per day: the mean of the last 24 to 25 hours, or of what is known of them. Flash
// wears by days, not by seconds. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace gridloom {

class WriteRate {
public:
    /// A reading of the counter; `uptimeS` never goes back. One that is lower than before starts anew.
    void note(double uptimeS, std::uint64_t bytes);
    /// 1 GB = 10^9 bytes; nothing before ten seconds are known.
    std::optional<double> gbPerDay() const;
    void reset() { m_marks.clear(); }

private:
    struct Mark {
        double uptimeS;
        std::uint64_t bytes;
    };
    std::deque<Mark> m_marks; ///< an hour apart at least, oldest first
    Mark m_newest{};
};

/// How long a flash memory lasts that takes `enduranceTb` (TBW, 10^12 bytes) in all; at most 999, also with no writes.
double yearsOfLife(double enduranceTb, double gbPerDay);

} // namespace gridloom
