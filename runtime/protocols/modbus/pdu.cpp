// SPDX-License-Identifier: Apache-2.0
#include "protocols/modbus/pdu.h"

namespace gridloom::modbus {

namespace {

constexpr std::uint8_t kExceptionFlag = 0x80;
constexpr std::uint16_t kCoilOn = 0xFF00; // section 6.5

class Writer {
public:
    explicit Writer(FrameBuffer &buffer) : m_buffer(buffer) {}
    void byte(std::size_t v) { m_buffer[m_size++] = static_cast<std::uint8_t>(v); }
    void word(std::size_t v)
    {
        byte(v >> 8);
        byte(v);
    }
    void patchWord(std::size_t at, std::size_t v)
    {
        m_buffer[at] = static_cast<std::uint8_t>(v >> 8);
        m_buffer[at + 1] = static_cast<std::uint8_t>(v);
    }
    std::size_t size() const { return m_size; }

private:
    FrameBuffer &m_buffer;
    std::size_t m_size = 0;
};

void writeBits(Writer &w, std::span<const std::uint16_t> values)
{
    w.byte((values.size() + 7) / 8);
    for (std::size_t i = 0; i < values.size(); i += 8) {
        std::size_t bits = 0;
        for (std::size_t b = 0; b < 8 && i + b < values.size(); ++b)
            bits |= static_cast<std::size_t>(values[i + b] != 0) << b;
        w.byte(bits);
    }
}

void writeBody(Writer &w, const Request &request)
{
    w.byte(static_cast<std::uint8_t>(request.function));
    w.word(request.address);
    switch (request.function) {
    case Function::WriteCoil: w.word(request.values.front() != 0 ? kCoilOn : 0); break;
    case Function::WriteRegister: w.word(request.values.front()); break;
    case Function::WriteCoils:
        w.word(request.count);
        writeBits(w, request.values);
        break;
    case Function::WriteRegisters:
        w.word(request.count);
        w.byte(request.values.size() * 2);
        for (const auto value : request.values)
            w.word(value);
        break;
    case Function::ReadCoils:
    case Function::ReadDiscretes:
    case Function::ReadHoldings:
    case Function::ReadInputs: w.word(request.count); break;
    }
}

bool isEcho(const Request &request, std::span<const std::uint8_t> pdu)
{
    if (pdu.size() != 5 || wordAt(pdu, 1) != request.address)
        return false;
    switch (request.function) {
    case Function::WriteCoil: return wordAt(pdu, 3) == (request.values.front() != 0 ? kCoilOn : 0);
    case Function::WriteRegister: return wordAt(pdu, 3) == request.values.front();
    default: return wordAt(pdu, 3) == request.count;
    }
}

} // namespace

std::span<const std::uint8_t> encodeFrame(FrameBuffer &buffer, std::uint16_t transaction, std::uint8_t unit,
                                          const Request &request)
{
    Writer w(buffer);
    w.word(transaction);
    w.word(0); // protocol id of Modbus
    w.word(0); // length, filled in below
    w.byte(unit);
    writeBody(w, request);
    w.patchWord(4, w.size() - 6);
    return std::span<const std::uint8_t>(buffer).first(w.size());
}

Response decodeResponse(const Request &request, std::span<const std::uint8_t> pdu)
{
    using Kind = Response::Kind;
    const auto function = static_cast<std::uint8_t>(request.function);
    if (pdu.size() == 2 && pdu[0] == (function | kExceptionFlag))
        return {Kind::Exception, pdu[1], {}};
    if (pdu.size() < 2 || pdu[0] != function)
        return {};
    std::size_t expected = 0;
    switch (request.function) {
    case Function::ReadCoils:
    case Function::ReadDiscretes: expected = (std::size_t{request.count} + 7) / 8; break;
    case Function::ReadHoldings:
    case Function::ReadInputs: expected = std::size_t{request.count} * 2; break;
    default: return isEcho(request, pdu) ? Response{Kind::Written, 0, {}} : Response{};
    }
    if (pdu[1] != expected || pdu.size() != 2 + expected)
        return {};
    return {Kind::Values, 0, pdu.subspan(2)};
}

Function readFunction(Table table)
{
    switch (table) {
    case Table::Coil: return Function::ReadCoils;
    case Table::Discrete: return Function::ReadDiscretes;
    case Table::Input: return Function::ReadInputs;
    case Table::Holding: break;
    }
    return Function::ReadHoldings;
}

QString exceptionText(std::uint8_t code)
{
    const char *words = "exception";
    switch (static_cast<ExceptionCode>(code)) {
    case ExceptionCode::IllegalFunction: words = "illegal function"; break;
    case ExceptionCode::IllegalAddress: words = "illegal data address"; break;
    case ExceptionCode::IllegalValue: words = "illegal data value"; break;
    case ExceptionCode::DeviceFailure: words = "server device failure"; break;
    case ExceptionCode::Acknowledge: words = "acknowledge"; break;
    case ExceptionCode::DeviceBusy: words = "server device busy"; break;
    case ExceptionCode::NegativeAcknowledge: words = "negative acknowledge"; break;
    case ExceptionCode::MemoryParity: words = "memory parity error"; break;
    case ExceptionCode::PathUnavailable: words = "gateway path unavailable"; break;
    case ExceptionCode::TargetSilent: words = "gateway target device failed to respond"; break;
    }
    return QStringLiteral("%1 (%2)").arg(QLatin1String(words)).arg(code);
}

} // namespace gridloom::modbus
