// SPDX-License-Identifier: Apache-2.0
// Modbus requests and their answers (MODBUS Application Protocol V1.1b3, section 6). Pure; any thread.
#pragma once

#include "protocols/modbus/address.h"

#include <QString>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gridloom::modbus {

enum class Function : std::uint8_t {
    ReadCoils = 1,
    ReadDiscretes = 2,
    ReadHoldings = 3,
    ReadInputs = 4,
    WriteCoil = 5,
    WriteRegister = 6,
    WriteCoils = 15,
    WriteRegisters = 16
};

/// Exception codes (section 7). A device may send any other number as well.
enum class ExceptionCode : std::uint8_t {
    IllegalFunction = 1,
    IllegalAddress = 2,
    IllegalValue = 3,
    DeviceFailure = 4,
    Acknowledge = 5,
    DeviceBusy = 6,
    NegativeAcknowledge = 7,
    MemoryParity = 8,
    PathUnavailable = 10,
    TargetSilent = 11
};

inline constexpr std::size_t kMaxPduSize = 253;
inline constexpr std::size_t kMaxFrameSize = 7 + kMaxPduSize;
inline constexpr int kMaxReadBits = 2000;
inline constexpr int kMaxReadRegisters = 125;
inline constexpr int kMaxWriteBits = 1968;
inline constexpr int kMaxWriteRegisters = 123;

/// One request. Reads use address and count; writes also `values`, one entry per register or coil (0 or not 0), with
/// count == values.size(), and 1 for WriteCoil and WriteRegister. Counts stay within the limits above.
struct Request {
    Function function = Function::ReadHoldings;
    std::uint16_t address = 0;
    std::uint16_t count = 1;
    std::span<const std::uint16_t> values{}; ///< outlive the request
};

using FrameBuffer = std::array<std::uint8_t, kMaxFrameSize>;
/// Writes MBAP header and PDU into the buffer and returns the part that was filled.
std::span<const std::uint8_t> encodeFrame(FrameBuffer &buffer, std::uint16_t transaction, std::uint8_t unit,
                                          const Request &request);

/// What a response PDU says to a request.
struct Response {
    enum class Kind : std::uint8_t {
        Mismatch, ///< no answer to this request: other function, length, byte count or echo
        Values,   ///< `data`: registers (high byte first) or bits (first bit lowest), of the right size
        Written,
        Exception
    };
    Kind kind = Kind::Mismatch;
    std::uint8_t exception = 0;
    std::span<const std::uint8_t> data; ///< inside the PDU that was given
};
Response decodeResponse(const Request &request, std::span<const std::uint8_t> pdu);

Function readFunction(Table table);
/// "illegal data address (2)": the words of the standard and the number.
QString exceptionText(std::uint8_t code);

constexpr std::uint16_t wordAt(std::span<const std::uint8_t> bytes, std::size_t at)
{
    return static_cast<std::uint16_t>((bytes[at] << 8) | bytes[at + 1]);
}
constexpr bool bitAt(std::span<const std::uint8_t> bytes, std::size_t bit)
{
    return ((bytes[bit / 8] >> (bit % 8)) & 1) != 0;
}

} // namespace gridloom::modbus
