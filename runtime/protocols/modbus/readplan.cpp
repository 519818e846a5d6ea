// SPDX-License-Identifier: Apache-2.0
#include "protocols/modbus/readplan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace gridloom::modbus {

namespace {

bool violates(const AddressRange &hole, Table table, int first, int end)
{
    return hole.table == table && first < hole.end && end > hole.first;
}

bool isAllowed(Table table, int first, int end, const PlanOptions &options)
{
    return std::none_of(options.holes.begin(), options.holes.end(),
                        [&](const AddressRange &hole) { return violates(hole, table, first, end); });
}

int blockEnd(const ReadBlock &block)
{
    return block.address + block.count;
}

bool fits(const ReadBlock &block, const ReadPoint &point, const PlanOptions &options)
{
    const bool isBits = isBitTable(point.table);
    const int end = std::max(blockEnd(block), point.end());
    return block.table == point.table && point.address - blockEnd(block) <= options.maxGap * (isBits ? 16 : 1)
        && end - block.address <= (isBits ? options.maxBits : options.maxRegisters)
        && isAllowed(point.table, block.address, end, options);
}

ReadBlock blockOf(std::span<const std::uint32_t> indices, std::span<const ReadPoint> points, Table table)
{
    const auto first = points[indices.front()].address;
    int end = first;
    for (const auto index : indices)
        end = std::max(end, points[index].end());
    return {table, first, static_cast<std::uint16_t>(end - first), {indices.begin(), indices.end()}};
}

} // namespace

std::vector<ReadBlock> planReads(std::span<const ReadPoint> points, const PlanOptions &options)
{
    std::vector<std::uint32_t> order(points.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto key = [&](std::uint32_t i) {
            return std::make_tuple(points[i].table, points[i].group, points[i].address, points[i].width, i);
        };
        return key(a) < key(b);
    });

    std::vector<ReadBlock> blocks;
    std::optional<std::uint32_t> lastGroup;
    for (const auto index : order) {
        const auto &point = points[index];
        if (!isAllowed(point.table, point.address, point.end(), options))
            continue;
        if (blocks.empty() || lastGroup != point.group || !fits(blocks.back(), point, options))
            blocks.push_back({point.table, point.address, 0, {}});
        auto &block = blocks.back();
        block.count = static_cast<std::uint16_t>(std::max(blockEnd(block), point.end()) - block.address);
        block.points.push_back(index);
        lastGroup = point.group;
    }
    return blocks;
}

std::optional<std::pair<ReadBlock, ReadBlock>> splitBlock(const ReadBlock &block, std::span<const ReadPoint> points)
{
    const double middle = block.address + block.count / 2.0;
    std::size_t best = 0;
    std::pair<bool, double> bestRank; // no gap, distance from the middle: smaller is better
    int end = 0;
    for (std::size_t i = 0; i < block.points.size(); ++i) {
        const auto &point = points[block.points[i]];
        if (i > 0 && point.address >= end) {
            const std::pair rank{point.address == end, std::abs((point.address + end) / 2.0 - middle)};
            if (best == 0 || rank < bestRank) {
                best = i;
                bestRank = rank;
            }
        }
        end = std::max(end, point.end());
    }
    if (best == 0)
        return std::nullopt;
    const std::span<const std::uint32_t> indices = block.points;
    return std::pair{blockOf(indices.first(best), points, block.table),
                     blockOf(indices.subspan(best), points, block.table)};
}

} // namespace gridloom::modbus
