// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/modbusresponder.h"

#include <algorithm>

namespace gridloom {

namespace {

// Limits of sections 6.1 to 6.12 of the specification.
constexpr int kMostBitsRead = 2000;
constexpr int kMostRegistersRead = 125;
constexpr int kMostBitsWritten = 1968;
constexpr int kMostRegistersWritten = 123;

constexpr std::uint16_t kCoilOn = 0xFF00;
constexpr std::uint16_t kCoilOff = 0x0000;
constexpr std::size_t kShortRequest = 5; ///< function, address, count or value
constexpr std::size_t kBeforeWords = 6;  ///< function, address, count, byte count

std::uint16_t wordAt(std::span<const std::uint8_t> bytes, std::size_t offset)
{
    return static_cast<std::uint16_t>(bytes[offset] << 8 | bytes[offset + 1]);
}

bool isBits(RegisterTable table)
{
    return table == RegisterTable::Coils || table == RegisterTable::DiscreteInputs;
}

std::size_t byteCount(RegisterTable table, int count)
{
    return static_cast<std::size_t>(isBits(table) ? (count + 7) / 8 : 2 * count);
}

} // namespace

std::span<const std::uint8_t> ModbusResponder::answer(SimDevice &device, Bytes request, SteadyTime now)
{
    m_answer.clear();
    const ModbusException exception = serve(device, request, now);
    if (exception != ModbusException::None)
        return refuse(request[0], exception);
    m_exception = ModbusException::None;
    return m_answer;
}

std::span<const std::uint8_t> ModbusResponder::refuse(std::uint8_t function, ModbusException exception)
{
    m_exception = exception;
    m_answer.assign({static_cast<std::uint8_t>(function | 0x80), static_cast<std::uint8_t>(exception)});
    return m_answer;
}

ModbusException ModbusResponder::serve(SimDevice &device, Bytes request, SteadyTime now)
{
    switch (request[0]) {
    case 1: return read(device, RegisterTable::Coils, request, now);
    case 2: return read(device, RegisterTable::DiscreteInputs, request, now);
    case 3: return read(device, RegisterTable::Holding, request, now);
    case 4: return read(device, RegisterTable::Inputs, request, now);
    case 5: return writeOne(device, RegisterTable::Coils, request, now);
    case 6: return writeOne(device, RegisterTable::Holding, request, now);
    case 15: return writeMany(device, RegisterTable::Coils, request, now);
    case 16: return writeMany(device, RegisterTable::Holding, request, now);
    default: return ModbusException::IllegalFunction;
    }
}

ModbusException ModbusResponder::read(SimDevice &device, RegisterTable table, Bytes request, SteadyTime now)
{
    if (request.size() != kShortRequest)
        return ModbusException::IllegalValue;
    const int address = wordAt(request, 1);
    const int count = wordAt(request, 3);
    if (count < 1 || count > (isBits(table) ? kMostBitsRead : kMostRegistersRead))
        return ModbusException::IllegalValue;
    device.refresh(table, address, now);
    const auto words = device.registers().read(table, address, count);
    if (!words)
        return ModbusException::IllegalAddress;

    const std::size_t bytes = byteCount(table, count);
    m_answer.assign({request[0], static_cast<std::uint8_t>(bytes)});
    if (isBits(table)) {
        m_answer.resize(m_answer.size() + bytes);
        for (std::size_t i = 0; i < words->size(); ++i)
            if ((*words)[i] != 0)
                m_answer[2 + i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    } else {
        for (const std::uint16_t word : *words) {
            m_answer.push_back(static_cast<std::uint8_t>(word >> 8));
            m_answer.push_back(static_cast<std::uint8_t>(word));
        }
    }
    return ModbusException::None;
}

ModbusException ModbusResponder::writeOne(SimDevice &device, RegisterTable table, Bytes request, SteadyTime now)
{
    if (request.size() != kShortRequest)
        return ModbusException::IllegalValue;
    const std::uint16_t word = wordAt(request, 3);
    if (isBits(table) && word != kCoilOn && word != kCoilOff)
        return ModbusException::IllegalValue;
    m_words.assign({isBits(table) ? static_cast<std::uint16_t>(word == kCoilOn) : word});
    const ModbusException exception = apply(device, table, wordAt(request, 1), now);
    if (exception == ModbusException::None)
        m_answer.assign(request.begin(), request.end());
    return exception;
}

ModbusException ModbusResponder::writeMany(SimDevice &device, RegisterTable table, Bytes request, SteadyTime now)
{
    if (request.size() < kBeforeWords)
        return ModbusException::IllegalValue;
    const int count = wordAt(request, 3);
    const std::size_t bytes = byteCount(table, count);
    if (count < 1 || count > (isBits(table) ? kMostBitsWritten : kMostRegistersWritten) || request[5] != bytes
        || request.size() != kBeforeWords + bytes)
        return ModbusException::IllegalValue;
    m_words.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < m_words.size(); ++i)
        m_words[i] = isBits(table) ? static_cast<std::uint16_t>(request[kBeforeWords + i / 8] >> (i % 8) & 1)
                                   : wordAt(request, kBeforeWords + 2 * i);
    const ModbusException exception = apply(device, table, wordAt(request, 1), now);
    if (exception == ModbusException::None)
        m_answer.assign(request.begin(), request.begin() + kShortRequest);
    return exception;
}

// As a whole or not at all.
ModbusException ModbusResponder::apply(SimDevice &device, RegisterTable table, int address, SteadyTime now)
{
    const auto writes = device.registers().decodeWrite(table, address, m_words);
    if (!writes)
        return ModbusException::IllegalAddress;
    if (!std::all_of(writes->begin(), writes->end(), [&](const auto &write) { return device.accepts(write); }))
        return ModbusException::IllegalValue;
    device.registers().store(*writes);
    for (const RegisterMap::Write &write : *writes)
        device.written(write, now);
    return ModbusException::None;
}

} // namespace gridloom
