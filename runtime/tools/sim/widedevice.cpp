// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/widedevice.h"

#include "core/json.h"
#include "tools/sim/bulklayout.h"
#include "tools/sim/formats.h"

namespace gridloom {

namespace {

constexpr std::size_t kMostWriteTimes = 100'000;
constexpr std::int64_t kPlaces = 9'000;

// Hundredths, so that the value fills its mantissa as a measurement does; another one at each step.
Value shown(int value, std::int64_t step)
{
    return Value(static_cast<double>(100 + (value * 37 + step * 11) % kPlaces) / 100);
}

} // namespace

WideDevice::WideDevice(int values, int setpoints, std::chrono::milliseconds period) : m_values(values), m_period(period)
{
    RegisterMap &map = registers();
    map.addBlock(RegisterTable::Holding, 0, 2 * values);
    for (int i = 0; i < values; ++i)
        map.set(map.addValue(RegisterTable::Holding, 2 * i, kFloat32), shown(i, 0));
    if (setpoints > 0)
        map.addBlock(RegisterTable::Holding, kWideSetpointBase, 2 * setpoints);
    for (int i = 0; i < setpoints; ++i)
        map.addValue(RegisterTable::Holding, kWideSetpointBase + 2 * i, kUInt32, true);
}

void WideDevice::refresh(RegisterTable table, int address, SteadyTime now)
{
    if (table != RegisterTable::Holding || address >= kWideSetpointBase)
        return;
    if (!m_firstRead)
        m_firstRead = now;
    const std::int64_t step = (now - *m_firstRead) / m_period;
    if (step == m_step)
        return;
    m_step = step;
    for (int i = 0; i < m_values; i += 2)
        registers().set(static_cast<RegisterMap::ValueId>(i), shown(i, step));
}

bool WideDevice::accepts(const RegisterMap::Write &) const
{
    return true; // decodeWrite() lets only setpoints through
}

void WideDevice::written(const RegisterMap::Write &write, SteadyTime now)
{
    if (m_writes.size() < kMostWriteTimes)
        m_writes.push_back({registers().entries()[write.id].address, now});
}

void WideDevice::describe(JsonWriter &w) const
{
    w.key("firstReadNs").integer(m_firstRead ? m_firstRead->time_since_epoch().count() : 0);
    w.key("writeTimes").beginArray();
    for (const WriteTime &write : m_writes)
        w.beginArray().integer(write.address).integer(write.at.time_since_epoch().count()).endArray();
    w.endArray();
}

} // namespace gridloom
