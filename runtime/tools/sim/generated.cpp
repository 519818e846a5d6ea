// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/generated.h"

#include <algorithm>
#include <cmath>

namespace gridloom {

namespace {

constexpr double kCloudPeriodS = 40;
constexpr double kMachineSlotS = 5;
constexpr int kMachineSlots = 5; ///< a cycle: 1 to 3 slots on, the rest off

double unitInterval(std::uint64_t bits)
{
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The pseudo-random number of a place, without a history: 0 to 1.
double hashed(std::uint64_t seed, double place)
{
    const auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(place));
    RandomSequence first(seed ^ (index * 0xD1342543DE82EF95U));
    return unitInterval(first.next());
}

double smoothStep(double x)
{
    return x * x * (3 - 2 * x);
}

} // namespace

std::uint64_t RandomSequence::next()
{
    std::uint64_t z = m_state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

double RandomSequence::between(double low, double high)
{
    return low + (high - low) * unitInterval(next());
}

double ripple(std::uint64_t seed, double timeS, double periodS)
{
    const double place = timeS / periodS;
    const double left = std::floor(place);
    const double a = hashed(seed, left);
    const double b = hashed(seed, left + 1);
    return a + (b - a) * smoothStep(place - left);
}

double cloudTransmittance(std::uint64_t seed, double timeS)
{
    const double cover = std::clamp((ripple(seed, timeS, kCloudPeriodS) - 0.45) / 0.15, 0.0, 1.0);
    return 1.0 - 0.65 * cover;
}

bool isMachineOn(std::uint64_t seed, double timeS)
{
    const double slot = std::floor(timeS / kMachineSlotS);
    const double cycle = std::floor(slot / kMachineSlots);
    const double slotsOn = 1 + std::floor(3 * hashed(seed, cycle));
    return slot - cycle * kMachineSlots < slotsOn;
}

} // namespace gridloom
