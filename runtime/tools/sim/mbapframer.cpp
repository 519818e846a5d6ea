// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/mbapframer.h"

#include <algorithm>

namespace gridloom {

namespace {

constexpr std::size_t kHeaderBytes = 7;    ///< transaction, protocol, length, unit
constexpr std::size_t kBeforeLength = 6;   ///< what the length field does not count
constexpr std::size_t kSmallestLength = 2; ///< unit and function
constexpr std::size_t kGreatestLength = 254;

std::uint16_t word(const std::uint8_t *bytes)
{
    return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]);
}

void appendWord(std::vector<std::uint8_t> &out, std::size_t value)
{
    out.push_back(static_cast<std::uint8_t>(value >> 8));
    out.push_back(static_cast<std::uint8_t>(value));
}

} // namespace

std::span<std::uint8_t> MbapFramer::space()
{
    std::copy(m_buffer.begin() + m_begin, m_buffer.begin() + m_end, m_buffer.begin());
    m_end -= m_begin;
    m_begin = 0;
    return std::span(m_buffer).subspan(m_end);
}

MbapFramer::Next MbapFramer::next(MbapFrame &frame)
{
    const std::uint8_t *bytes = m_buffer.data() + m_begin;
    const std::size_t available = m_end - m_begin;
    if (available < kBeforeLength)
        return Next::Incomplete;
    const std::size_t length = word(bytes + 4);
    if (word(bytes + 2) != 0 || length < kSmallestLength || length > kGreatestLength)
        return Next::Broken;
    if (available < kBeforeLength + length)
        return Next::Incomplete;
    frame = {word(bytes), bytes[kBeforeLength], {bytes + kHeaderBytes, length - 1}};
    m_begin += kBeforeLength + length;
    return Next::Frame;
}

void MbapFramer::append(std::vector<std::uint8_t> &out, const MbapFrame &frame)
{
    appendWord(out, frame.transaction);
    appendWord(out, 0);
    appendWord(out, frame.pdu.size() + 1);
    out.push_back(frame.unit);
    out.insert(out.end(), frame.pdu.begin(), frame.pdu.end());
}

} // namespace gridloom
