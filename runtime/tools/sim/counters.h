// SPDX-License-Identifier: Apache-2.0
// What the simulator counts (docs/simulator.md, "Counters"): the outside view that is compared with what the runtime
// claims to have sent.
#pragma once

#include <cstdint>

namespace gridloom {

/// Of one device.
struct DeviceCounters {
    std::uint64_t reads = 0;  ///< requests with function 1 to 4
    std::uint64_t writes = 0; ///< requests with function 5, 6, 15 or 16
};

/// Of all devices and listeners together.
struct WireCounters {
    std::uint64_t badRequests = 0; ///< answered by an exception
    std::uint64_t badFrames = 0;   ///< headers that ended a connection
    int connections = 0;           ///< open now
};

} // namespace gridloom
