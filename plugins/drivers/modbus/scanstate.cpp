// SPDX-License-Identifier: Apache-2.0
#include "scanstate.h"

#include <algorithm>

namespace gridloom::modbus {

using namespace std::chrono_literals;

ScanState::ScanState(int failuresToOffScan, bool isSole) : m_limit(failuresToOffScan), m_isSole(isSole) {}

bool ScanState::admit(SteadyTime now)
{
    if (m_isOffScan && now >= m_probeAt)
        m_isProbing = true;
    return !m_isOffScan || m_isProbing;
}

void ScanState::answered()
{
    m_failures = 0;
    m_isOffScan = false;
    m_isProbing = false;
    m_backOff = {};
}

bool ScanState::failed(unsigned epoch, SteadyTime now)
{
    if (epoch != m_epoch)
        return m_isOffScan;
    ++m_epoch;
    ++m_failures;
    if (!m_isOffScan && m_failures < m_limit)
        return false;
    m_isOffScan = true;
    m_isProbing = false;
    m_backOff = std::clamp<Nanoseconds>(m_backOff * 2, m_isSole ? 500ms : 1s, m_isSole ? 3s : 29s);
    m_probeAt = now + m_backOff;
    return true;
}

} // namespace gridloom::modbus
