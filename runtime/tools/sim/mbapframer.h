// SPDX-License-Identifier: Apache-2.0
// MbapFramer: cuts a TCP stream into Modbus requests and writes answer frames (MODBUS Messaging on TCP/IP
// Implementation Guide V1.0b, section 3.1). It is not the runtime's framer on purpose: the simulator must judge that
// one from outside. Pure; one per connection; allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace gridloom {

struct MbapFrame {
    std::uint16_t transaction = 0;
    std::uint8_t unit = 0;
    std::span<const std::uint8_t> pdu; ///< 1 to 253 bytes
};

class MbapFramer {
public:
    enum class Next {
        Frame,
        Incomplete,
        Broken, ///< another protocol id, or a length outside 2 to 254: no further frame can be found
    };

    /// Where the next received bytes go; at least one byte as long as next() is called until it gives no more frames.
    /// Ends the validity of frames.
    std::span<std::uint8_t> space();
    /// So many bytes were placed in space().
    void received(std::size_t count) { m_end += count; }
    /// The next request. Its pdu points into this object until the next call of space().
    Next next(MbapFrame &frame);

    static void append(std::vector<std::uint8_t> &out, const MbapFrame &frame);

private:
    /// Some pipelined requests at once.
    std::array<std::uint8_t, 4096> m_buffer;
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
};

} // namespace gridloom
