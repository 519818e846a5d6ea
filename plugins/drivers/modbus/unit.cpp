// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <algorithm>

namespace gridloom::modbus {

namespace {
constexpr std::chrono::minutes kRetestAfter{10};
}

Unit::Unit(UnitConfig config, DeviceHandle handle, bool isSole)
    : m_config(std::move(config)), m_handle(handle), m_scan(m_config.failuresToOffScan, isSole)
{
    m_points.reserve(m_config.points.size());
    m_readPoints.reserve(m_config.points.size());
    for (const auto &point : m_config.points) {
        const auto width = static_cast<std::uint16_t>(point.width);
        m_points.push_back({point.point, point.address, width, {}, {}});
        m_readPoints.push_back({point.address.table, point.address.offset, width,
                                static_cast<std::uint32_t>(point.point->period.count())});
    }
    m_config.points = {}; // m_points have it all
    plan();
}

void Unit::plan()
{
    auto holes = m_config.holes;
    for (const auto &hole : m_holes)
        holes.push_back(hole.range);
    PlanOptions options;
    options.maxGap = m_config.maxGap;
    options.maxRegisters = m_config.maxRegisters;
    options.holes = holes;
    for (auto &point : m_points)
        point.block.reset();
    m_blocks.clear();
    for (auto &block : planReads(m_readPoints, options)) {
        m_blocks.push_back(std::make_shared<Block>(Block{std::move(block)}));
        for (const auto index : m_blocks.back()->plan.points)
            m_points[index].block = m_blocks.back();
    }
}

std::optional<std::pair<ReadBlock, ReadBlock>> Unit::split(const ReadBlock &block) const
{
    return splitBlock(block, m_readPoints);
}

void Unit::learn(const AddressRange &range, std::uint8_t exception, SteadyTime now)
{
    const auto known = std::find_if(m_holes.begin(), m_holes.end(), [&](const LearntHole &hole) {
        return hole.range.table == range.table && hole.range.first == range.first && hole.range.end == range.end;
    });
    if (known != m_holes.end())
        m_holes.erase(known);
    m_holes.push_back({range, exception, now + kRetestAfter});
    m_nextRetest = std::min(m_nextRetest, now + kRetestAfter);
    plan();
}

void Unit::forgetExpired(SteadyTime now)
{
    if (now < m_nextRetest)
        return;
    std::erase_if(m_holes, [&](const LearntHole &hole) { return now >= hole.retestAt; });
    m_nextRetest = SteadyTime::max();
    for (const auto &hole : m_holes)
        m_nextRetest = std::min(m_nextRetest, hole.retestAt);
    plan();
}

Error Unit::refusal() const
{
    const auto error = [this](std::uint8_t exception, Table table, int offset) {
        return Error{QStringLiteral("modbus.exception%1").arg(exception),
                     QStringLiteral("%1 refuses %2: %3. Check address and type in the design.")
                         .arg(m_config.name, addressText(table, offset), exceptionText(exception)),
                     true};
    };
    // Asked after each answer: thousands of points are looked at only when something was refused.
    for (std::size_t i = 0; !m_holes.empty() && i < m_points.size(); ++i) {
        const PointState &point = m_points[i];
        if (point.block)
            continue;
        const auto hole = std::find_if(m_holes.begin(), m_holes.end(), [&](const LearntHole &h) {
            return h.range.table == point.address.table && point.address.offset < h.range.end
                && point.address.offset + point.width > h.range.first;
        });
        if (hole != m_holes.end())
            return error(hole->exception, point.address.table, point.address.offset);
    }
    for (const auto &block : m_blocks)
        if (block->exception)
            return error(*block->exception, block->plan.table, block->plan.address);
    return {};
}

} // namespace gridloom::modbus
