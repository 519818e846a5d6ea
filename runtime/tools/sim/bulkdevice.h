// SPDX-License-Identifier: Apache-2.0
// BulkDevice: many points for load tests; register map in docs/simulator.md, "bulk". Its values are walked on when they
// are read: no timer, whatever the number of devices.
#pragma once

#include "tools/sim/bulklayout.h"
#include "tools/sim/generated.h"
#include "tools/sim/simdevice.h"

namespace gridloom {

class BulkDevice final : public SimDevice {
public:
    /// `device` counts the bulk devices from 0; `setpoints` from 0; `period` > 0 of the steps.
    BulkDevice(int device, int setpoints, std::chrono::milliseconds period);

    void refresh(RegisterTable table, int address, SteadyTime now) override;
    bool accepts(const RegisterMap::Write &write) const override;
    void written(const RegisterMap::Write &write, SteadyTime now) override;

private:
    /// A walker moves on a grid of whole numbers, so that each step is a different value in every type.
    struct Walker {
        RegisterMap::ValueId id;
        RegisterType type;
        std::int64_t place;
    };

    std::int64_t stepsUntil(SteadyTime now);
    void walk();
    void show(const Walker &walker);

    std::chrono::nanoseconds m_period;
    RandomSequence m_random;
    std::vector<Walker> m_walkers;
    std::optional<SteadyTime> m_lastRead;
    SteadyTime m_origin; ///< a read at this moment would be step 0
    std::int64_t m_steps = 0;
};

} // namespace gridloom
