// SPDX-License-Identifier: Apache-2.0
// ModbusResponder: answers request PDUs from a SimDevice (MODBUS Application Protocol V1.1b3, section 6): functions 1
// to 6, 15 and 16. Pure but for the device.
#pragma once

#include "tools/sim/simdevice.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gridloom {

enum class ModbusException : std::uint8_t {
    None = 0,
    IllegalFunction = 1,
    IllegalAddress = 2,
    IllegalValue = 3,
    NoSuchUnit = 11, ///< "gateway target device failed to respond"
};

class ModbusResponder {
public:
    static bool isRead(std::uint8_t function) { return function >= 1 && function <= 4; }
    static bool isWrite(std::uint8_t function)
    {
        return function == 5 || function == 6 || function == 15 || function == 16;
    }

    /// The answer to `request` (at least one byte), valid until the next call; exception() tells what it is.
    std::span<const std::uint8_t> answer(SimDevice &device, std::span<const std::uint8_t> request, SteadyTime now);
    /// An answer that refuses the request.
    std::span<const std::uint8_t> refuse(std::uint8_t function, ModbusException exception);
    /// Of the latest answer.
    ModbusException exception() const { return m_exception; }

private:
    using Bytes = std::span<const std::uint8_t>;

    ModbusException serve(SimDevice &device, Bytes request, SteadyTime now);
    ModbusException read(SimDevice &device, RegisterTable table, Bytes request, SteadyTime now);
    ModbusException writeOne(SimDevice &device, RegisterTable table, Bytes request, SteadyTime now);
    ModbusException writeMany(SimDevice &device, RegisterTable table, Bytes request, SteadyTime now);
    ModbusException apply(SimDevice &device, RegisterTable table, int address, SteadyTime now);

    std::vector<std::uint8_t> m_answer;
    std::vector<std::uint16_t> m_words; ///< of the write being served
    ModbusException m_exception = ModbusException::None;
};

} // namespace gridloom
