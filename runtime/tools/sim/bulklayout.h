// SPDX-License-Identifier: Apache-2.0
// The points of a bulk device: what the simulator serves and what the performance test's designs read.
#pragma once

#include "core/codec/registers.h"

#include <QList>
#include <QString>

namespace gridloom {

inline constexpr int kBulkRegisters = 100;     ///< holding registers 0 to 99
inline constexpr int kBulkSetpointBase = 1000; ///< setpoint n: uint32 ABCD at 1000 + 2 n

inline constexpr int kMostWideValues = 20'000;   ///< value n of a wide device: float32 ABCD at holding register 2 n
inline constexpr int kWideSetpointBase = 60'000; ///< setpoint n: uint32 ABCD at 60000 + 2 n

struct BulkPoint {
    QString id;      ///< "p01" to "p50", by address
    int address = 0; ///< of its first holding register
    RegisterFormat format;
    bool changes = false; ///< takes a new value each step; the others are constant
};

/// The 50 points of the `device`-th bulk device (from 0) by rising address: 20 int16 of scale 0.1, 15 uint32 and 15
/// float32, big-endian and word-swapped, over exactly 100 registers of which 20 are unused in gaps of 1 to 8; 25 of
/// the points change. Pure: the same device always has the same layout.
QList<BulkPoint> bulkLayout(int device);

} // namespace gridloom
