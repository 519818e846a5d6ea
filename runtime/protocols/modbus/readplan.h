// SPDX-License-Identifier: Apache-2.0
// Read planner: which requests read a set of points with few and allowed requests. Pure; any thread.
#pragma once

#include "protocols/modbus/pdu.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gridloom::modbus {

struct ReadPoint {
    Table table = Table::Holding;
    std::uint16_t address = 0;
    std::uint16_t width = 1; ///< registers or bits, at most the limit of one request
    std::uint32_t group = 0; ///< points of different groups (periods) never share a request
    int end() const { return address + width; }
};

struct PlanOptions {
    int maxGap = 16; ///< registers without a point that a request may span; in bit tables 16 times as many
    int maxRegisters = kMaxReadRegisters;
    int maxBits = kMaxReadBits;
    std::span<const AddressRange> holes{}; ///< what no request may touch or, when empty, span
};

/// One read request and the points it serves, in order of address: indices into the list that was planned.
struct ReadBlock {
    Table table = Table::Holding;
    std::uint16_t address = 0;
    std::uint16_t count = 0;
    std::vector<std::uint32_t> points;
};

/// Every point is in exactly one block, whole, except those that touch a hole: they are in none.
std::vector<ReadBlock> planReads(std::span<const ReadPoint> points, const PlanOptions &options);

/// A refused block as two smaller ones, to find out what the device refuses: cut at the gap nearest to the middle, else
/// at the border between points nearest to it. Nothing when no cut leaves all values whole.
std::optional<std::pair<ReadBlock, ReadBlock>> splitBlock(const ReadBlock &block, std::span<const ReadPoint> points);

} // namespace gridloom::modbus
