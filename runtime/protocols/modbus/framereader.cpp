// SPDX-License-Identifier: Apache-2.0
#include "protocols/modbus/framereader.h"

#include "protocols/modbus/pdu.h"

namespace gridloom::modbus {

namespace {
constexpr std::size_t kLengthEnd = 6; // the length field counts what comes after it: unit and PDU
constexpr std::size_t kMinLength = 2;
constexpr std::size_t kMaxLength = 1 + kMaxPduSize;
} // namespace

void FrameReader::append(std::span<const std::uint8_t> bytes)
{
    m_buffer.erase(m_buffer.begin(), m_buffer.begin() + static_cast<std::ptrdiff_t>(m_begin));
    m_begin = 0;
    m_buffer.insert(m_buffer.end(), bytes.begin(), bytes.end());
}

FrameReader::Status FrameReader::next(Frame &frame)
{
    const auto rest = std::span<const std::uint8_t>(m_buffer).subspan(m_begin);
    // Each field is judged as soon as it is here: a broken stream may never bring the rest of its header.
    if ((rest.size() > 2 && rest[2] != 0) || (rest.size() > 3 && rest[3] != 0))
        return Status::Broken;
    if (rest.size() < kLengthEnd)
        return Status::Incomplete;
    const std::size_t length = wordAt(rest, 4);
    if (length < kMinLength || length > kMaxLength)
        return Status::Broken;
    if (rest.size() < kLengthEnd + length)
        return Status::Incomplete;
    frame.transaction = wordAt(rest, 0);
    frame.unit = rest[kLengthEnd];
    frame.pdu = rest.subspan(kLengthEnd + 1, length - 1);
    m_begin += kLengthEnd + length;
    return Status::Frame;
}

void FrameReader::clear()
{
    m_buffer.clear();
    m_begin = 0;
}

} // namespace gridloom::modbus
