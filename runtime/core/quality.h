// SPDX-License-Identifier: Apache-2.0
// Quality of a value: one byte, a subset of the OPC UA status codes (OPC 10000-4, 7.39 and OPC 10000-8, A.4.3).
// The two top bits are the severity: 0 good, 1 uncertain, 2 bad.
#pragma once

#include <cstdint>
#include <string_view>

namespace gridloom {

enum class Quality : std::uint8_t {
    Good = 0x00,
    UncertainLastUsable = 0x40,      ///< stale: the source stopped answering, this is its last good value
    UncertainSubNormal = 0x41,       ///< derived from fewer good inputs than asked for
    BadWaitingForInitialData = 0x80, ///< nothing was ever received
    BadConfigurationError = 0x81,    ///< Modbus exception 1, 2, 3: the address or function does not exist
    BadDeviceFailure = 0x82,         ///< Modbus exception 4, 5, 6, 8: the device answered that it cannot
    BadCommunicationError = 0x83,    ///< time-out, broken frame, unit behind a gateway absent (exception 10, 11)
    BadNotConnected = 0x84,          ///< the channel is closed
    BadNotSupported = 0x85,          ///< the device says "not implemented" (SunSpec pattern)
    BadOutOfRange = 0x86,            ///< a value that cannot be: non-finite, outside its validity range
    BadOutOfService = 0x87,
    BadEvaluation = 0x88, ///< a Lua expression failed
    BadNoData = 0x89,     ///< a window without a good input
};

constexpr bool isGood(Quality q)
{
    return static_cast<std::uint8_t>(q) < 0x40;
}
constexpr bool isBad(Quality q)
{
    return static_cast<std::uint8_t>(q) >= 0x80;
}
/// Good or stale: there is a number to show.
constexpr bool isUsable(Quality q)
{
    return !isBad(q);
}

/// The worse of two; of two bad ones the first.
constexpr Quality worst(Quality a, Quality b)
{
    return (static_cast<std::uint8_t>(a) >> 6) >= (static_cast<std::uint8_t>(b) >> 6) ? a : b;
}

/// "good", "uncertain" or "bad": the coarse word of MQTT payloads and logs.
std::string_view severityName(Quality q);
/// The whole name, such as "Bad_CommunicationError" ("" for a byte that is none of the above).
std::string_view qualityName(Quality q);

} // namespace gridloom
