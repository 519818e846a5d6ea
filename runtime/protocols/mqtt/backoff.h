// SPDX-License-Identifier: Apache-2.0
// Backoff: how long to wait before the next try. Doubles from `first` to `longest`; each wait is spread over half its
// length by chance, so that many gateways do not return to a restarted broker in one moment. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace gridloom {

class Backoff {
public:
    using Milliseconds = std::chrono::milliseconds;

    Backoff(Milliseconds first, Milliseconds longest) : m_first(first), m_longest(longest), m_base(first) {}

    /// The next wait, within [first, longest]. `chance` is a random number in [0, 1).
    Milliseconds next(double chance)
    {
        // At the end of the range the spread goes downwards, or all would wait exactly `longest`.
        const Milliseconds base = std::min(m_base, std::max(m_first, m_longest * 2 / 3));
        m_base = std::min(m_base * 2, m_longest);
        const auto spread = static_cast<Milliseconds::rep>(static_cast<double>(base.count()) * 0.5 * chance);
        return std::min(base + Milliseconds(spread), m_longest);
    }
    void reset() { m_base = m_first; }

private:
    Milliseconds m_first;
    Milliseconds m_longest;
    Milliseconds m_base;
};

} // namespace gridloom
