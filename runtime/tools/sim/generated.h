// SPDX-License-Identifier: Apache-2.0
// What the simulator makes up: seeded pseudo-random numbers, and ripple, clouds and a machine as pure functions of
// time. The same seed gives the same day on every machine; std::uniform_..._distribution would not promise that.
#pragma once

#include <cstdint>

namespace gridloom {

/// SplitMix64 (Steele, Lea, Flood 2014).
class RandomSequence {
public:
    explicit RandomSequence(std::uint64_t seed) : m_state(seed) {}
    std::uint64_t next();
    std::uint64_t below(std::uint64_t limit) { return next() % limit; } ///< 0 to limit - 1; limit > 0
    double between(double low, double high);                            ///< low <= result < high

private:
    std::uint64_t m_state;
};

/// Smooth noise, 0 to 1, that wanders to a new value every `periodS`.
double ripple(std::uint64_t seed, double timeS, double periodS);

/// Share of the irradiance that passes the clouds, 0.35 to 1: clear spells and clouds of about a minute.
double cloudTransmittance(std::uint64_t seed, double timeS);

/// Whether a machine runs that is switched about every 5 to 15 s.
bool isMachineOn(std::uint64_t seed, double timeS);

} // namespace gridloom
