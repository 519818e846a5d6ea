// SPDX-License-Identifier: Apache-2.0
// ScanState: whether a unit is asked. After so many failures in a row it is off-scan: asked only now and then, so that
// a dead unit costs its neighbours little. Pure: time comes as a parameter (the injected clock). Driver's thread.
#pragma once

#include "core/clock.h"

namespace gridloom::modbus {

class ScanState {
public:
    /// A sole unit of a channel is probed after 0.5 to 3 s, one among others after 1 to 29 s: with a poll each
    /// second it is good again within 5 s and 31 s.
    ScanState(int failuresToOffScan, bool isSole);

    bool isOffScan() const { return m_isOffScan; }
    /// Requests that fail in the same epoch were on their way together and count as one failure.
    unsigned epoch() const { return m_epoch; }
    /// May the unit be asked now? Off-scan, it may once its back-off is over: this starts a probe, which goes on until
    /// answered() or failed().
    bool admit(SteadyTime now);
    void answered();
    /// Too late, but a sign of life: a slow unit does not go off-scan.
    void answeredLate() { m_failures = 0; }
    /// True when the unit is off-scan now.
    bool failed(unsigned epoch, SteadyTime now);
    /// The connection is new: probe at once.
    void reconnected() { m_probeAt = {}; }

private:
    int m_limit;
    bool m_isSole;
    int m_failures = 0; ///< in a row
    unsigned m_epoch = 0;
    bool m_isOffScan = false;
    bool m_isProbing = false;
    Nanoseconds m_backOff{0};
    SteadyTime m_probeAt{};
};

} // namespace gridloom::modbus
