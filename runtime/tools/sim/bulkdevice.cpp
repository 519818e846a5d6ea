// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/bulkdevice.h"

#include "tools/sim/formats.h"

namespace gridloom {

namespace {

constexpr std::int64_t kLowest = 100;
constexpr std::int64_t kHighest = 1'000;
constexpr std::uint64_t kLongestStep = 5;
/// A client that was away for long gets new values, but not by walking every missed step.
constexpr std::int64_t kMostStepsAtOnce = 100;

Value shown(RegisterType type, std::int64_t place)
{
    if (type == RegisterType::Int16)
        return Value(static_cast<double>(place) / 10);
    if (type == RegisterType::Float32)
        return Value(static_cast<double>(place) / 4); // exact in float32
    return Value(place * 1'000);
}

} // namespace

BulkDevice::BulkDevice(int device, int setpoints, std::chrono::milliseconds period)
    : m_period(period), m_random(static_cast<std::uint64_t>(device))
{
    RegisterMap &map = registers();
    map.addBlock(RegisterTable::Holding, 0, kBulkRegisters);
    for (const BulkPoint &point : bulkLayout(device)) {
        const auto place = static_cast<std::int64_t>(m_random.between(kLowest, kHighest));
        const Walker walker{map.addValue(RegisterTable::Holding, point.address, point.format), point.format.type,
                            place};
        show(walker);
        if (point.changes)
            m_walkers.push_back(walker);
    }
    if (setpoints > 0)
        map.addBlock(RegisterTable::Holding, kBulkSetpointBase, 2 * setpoints);
    for (int i = 0; i < setpoints; ++i)
        map.addValue(RegisterTable::Holding, kBulkSetpointBase + 2 * i, kUInt32, true);
}

void BulkDevice::refresh(RegisterTable table, int address, SteadyTime now)
{
    if (table != RegisterTable::Holding || address >= kBulkRegisters)
        return;
    const std::int64_t steps = stepsUntil(now);
    for (std::int64_t i = std::max(m_steps, steps - kMostStepsAtOnce); i < steps; ++i)
        walk();
    m_steps = std::max(m_steps, steps);
}

// A step begins half a period before the moment of a read, so that reads once per period see one new step each, however
// they jitter. The first read sets where that is; a client that reads once per period moves it along with its reads,
// since another client, or the first read of a new connection, may have set it to just where its reads are.
std::int64_t BulkDevice::stepsUntil(SteadyTime now)
{
    if (!m_lastRead)
        m_origin = now;
    const bool isPeriodic = m_lastRead && now - *m_lastRead >= m_period * 3 / 4;
    const SteadyTime reference = isPeriodic ? *m_lastRead + m_period / 2 : m_origin + m_steps * m_period + m_period / 2;
    const std::int64_t newSteps = now >= reference ? 1 + (now - reference) / m_period : 0;
    const std::int64_t steps = m_steps + newSteps;
    if (isPeriodic)
        m_origin = now - steps * m_period;
    m_lastRead = now;
    return steps;
}

void BulkDevice::walk()
{
    for (Walker &walker : m_walkers) {
        const auto length = static_cast<std::int64_t>(1 + m_random.below(kLongestStep));
        const bool goesUp = m_random.below(2) == 0;
        walker.place += goesUp ? length : -length;
        if (walker.place < kLowest)
            walker.place += 2 * length;
        else if (walker.place > kHighest)
            walker.place -= 2 * length;
    }
    for (const Walker &walker : m_walkers)
        show(walker);
}

void BulkDevice::show(const Walker &walker)
{
    registers().set(walker.id, shown(walker.type, walker.place));
}

bool BulkDevice::accepts(const RegisterMap::Write &) const
{
    return true; // decodeWrite() lets only setpoints through
}

void BulkDevice::written(const RegisterMap::Write &, SteadyTime) {}

} // namespace gridloom
