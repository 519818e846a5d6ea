// SPDX-License-Identifier: Apache-2.0
// Sample: one value of one point with its quality and its time, stamped once, at capture.
#pragma once

#include "core/clock.h"
#include "core/quality.h"
#include "core/value.h"

#include <cstdint>

namespace gridloom {

/// Index of a point in the running design; dense from 0. Stable ids outlive a deployment, handles do not.
using PointHandle = std::uint32_t;
inline constexpr PointHandle kNoPoint = 0xFFFFFFFF;

struct Sample {
    PointHandle point = kNoPoint;
    Quality quality = Quality::BadWaitingForInitialData;
    Value value;
    WallTime sourceTime;    ///< UTC at capture: when the frame arrived, or what the device said
    SteadyTime gatewayTime; ///< steady clock of this gateway when the frame arrived
};

} // namespace gridloom
