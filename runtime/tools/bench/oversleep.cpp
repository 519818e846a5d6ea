// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/oversleep.h"

namespace gridloom {

void Oversleep::start()
{
    m_thread.stop();
    m_worst.clear();
    m_thread.start(std::chrono::milliseconds(1), [this](SteadyTime due) {
        const double late = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - due).count();
        if (m_worst.empty() || due - m_worst.back().first >= std::chrono::seconds(1))
            m_worst.emplace_back(due, late);
        else
            m_worst.back().second = std::max(m_worst.back().second, late);
    });
}

double Oversleep::longestMs(SteadyTime from, SteadyTime to) const
{
    double longest = 0;
    for (const auto &[second, late] : m_worst)
        if (second > from && second <= to)
            longest = std::max(longest, late);
    return longest;
}

} // namespace gridloom
