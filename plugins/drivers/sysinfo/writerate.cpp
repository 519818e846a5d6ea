// SPDX-License-Identifier: Apache-2.0
#include "writerate.h"

#include <algorithm>

namespace gridloom {

namespace {
constexpr double kHourS = 3'600;
constexpr double kDayS = 24 * kHourS;
constexpr double kShortestS = 10;
constexpr double kBytesPerGb = 1e9;
constexpr double kGbPerTb = 1e3;
constexpr double kDaysPerYear = 365.25;
constexpr double kMostYears = 999;
} // namespace

void WriteRate::note(double uptimeS, std::uint64_t bytes)
{
    if (!m_marks.empty() && bytes < m_newest.bytes)
        m_marks.clear();
    m_newest = {uptimeS, bytes};
    if (m_marks.empty() || uptimeS - m_marks.back().uptimeS >= kHourS)
        m_marks.push_back(m_newest);
    while (m_marks.size() > 1 && uptimeS - m_marks[1].uptimeS >= kDayS)
        m_marks.pop_front();
}

std::optional<double> WriteRate::gbPerDay() const
{
    if (m_marks.empty())
        return std::nullopt;
    const Mark &oldest = m_marks.front();
    const double seconds = m_newest.uptimeS - oldest.uptimeS;
    if (seconds < kShortestS)
        return std::nullopt;
    return static_cast<double>(m_newest.bytes - oldest.bytes) / kBytesPerGb / seconds * kDayS;
}

double yearsOfLife(double enduranceTb, double gbPerDay)
{
    const double gbPerYear = gbPerDay * kDaysPerYear;
    return gbPerYear > 0 ? std::min(kMostYears, enduranceTb * kGbPerTb / gbPerYear) : kMostYears;
}

} // namespace gridloom
