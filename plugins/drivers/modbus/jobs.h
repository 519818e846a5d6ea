// SPDX-License-Identifier: Apache-2.0
// Jobs: what waits for its turn on the wire or for an answer. Each is owned by exactly one of queue and exchange.
#pragma once

#include "unit.h"

#include <chrono>
#include <memory>
#include <variant>

namespace gridloom::modbus {

/// Deadlines on the wire are real time; see core/clock.h.
using RealTime = std::chrono::steady_clock::time_point;

/// Two halves of a refused block. When both are answered, what the device refuses is to go from one to the other.
struct Split {
    AddressRange between; ///< empty when they touch
    std::uint8_t exception = 0;
    int answered = 0;
};

struct ReadJob {
    Unit *unit = nullptr;
    std::shared_ptr<Block> block;
    std::shared_ptr<Split> split{}; ///< of which this is one half
    int failures = 0;               ///< time-outs, absent unit
    int busyAnswers = 0;
    RealTime notBefore{};
};

struct WriteJob {
    WriteRequest request;
    Unit *unit = nullptr;
    PointState *point = nullptr;
    RegisterWords registers; ///< raw values: what is written and compared
    bool isReadBack = false; ///< acknowledged, now verified
    bool wasSent = false;
    int busyAnswers = 0;
    RealTime notBefore{};
};

using Job = std::variant<std::unique_ptr<ReadJob>, std::unique_ptr<WriteJob>>;

/// After exceptions 5 and 6 (acknowledge, busy): how long to wait before try number `busyAnswers` + 1.
inline constexpr int kMaxBusyAnswers = 3;
constexpr std::chrono::milliseconds busyDelay(int busyAnswers)
{
    return std::chrono::milliseconds(busyAnswers <= 1 ? 100 : busyAnswers == 2 ? 300 : 1'000);
}

} // namespace gridloom::modbus
