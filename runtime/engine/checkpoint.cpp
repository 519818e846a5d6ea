// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint.h"

namespace gridloom {

namespace {
// Inputs of windows, or alarms, a slice: some 0.1 us each.
constexpr std::size_t kSlice = 1'000;
} // namespace

bool Checkpoint::slice(SteadyTime now)
{
    const std::size_t windows = m_windows.size();
    const std::size_t end = windows + m_alarms.entries().size();
    for (std::size_t cost = 0; cost < kSlice && m_next < end; ++m_next) {
        if (m_next < windows) {
            m_windows.save(m_next, false);
            cost += m_windows.inputs(m_next);
        } else {
            m_alarms.save(m_next - windows, now);
            ++cost;
        }
    }
    if (m_next < end)
        return false;
    m_next = 0;
    return true;
}

void Checkpoint::last(SteadyTime now)
{
    for (std::size_t i = 0; i < m_windows.size(); ++i)
        m_windows.save(i, true);
    for (std::size_t i = 0; i < m_alarms.entries().size(); ++i)
        m_alarms.save(i, now);
}

} // namespace gridloom
