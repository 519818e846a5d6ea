// SPDX-License-Identifier: Apache-2.0
// WideDevice: thousands of float32 values in a row for benches; register map in docs/simulator.md, "wide". Unlike the
// other devices it remembers when it was read first and when each setpoint was written, on the simulation's steady clock.
#pragma once

#include "tools/sim/simdevice.h"

#include <vector>

namespace gridloom {

class WideDevice final : public SimDevice {
public:
    /// `values` from 1 to kMostWideValues; `period` > 0 of the steps.
    WideDevice(int values, int setpoints, std::chrono::milliseconds period);

    void refresh(RegisterTable table, int address, SteadyTime now) override;
    bool accepts(const RegisterMap::Write &write) const override;
    void written(const RegisterMap::Write &write, SteadyTime now) override;
    void describe(JsonWriter &w) const override;

private:
    struct WriteTime {
        int address;
        SteadyTime at;
    };

    const int m_values;
    const std::chrono::nanoseconds m_period;
    std::optional<SteadyTime> m_firstRead;
    std::int64_t m_step = 0;
    std::vector<WriteTime> m_writes; ///< the first kMostWriteTimes
};

} // namespace gridloom
