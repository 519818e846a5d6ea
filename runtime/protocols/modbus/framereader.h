// SPDX-License-Identifier: Apache-2.0
// FrameReader: cuts the byte stream of a Modbus TCP connection into frames (MODBUS Messaging on TCP/IP V1.0b, 3.1.3).
// Bytes may come in pieces of any size. One reader per connection, used by its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gridloom::modbus {

struct Frame {
    std::uint16_t transaction = 0;
    std::uint8_t unit = 0;
    std::span<const std::uint8_t> pdu; ///< function code and what follows, 1 to 253 bytes
};

class FrameReader {
public:
    enum class Status : std::uint8_t {
        Frame,
        Incomplete,
        Broken, ///< protocol id not 0 or length not 2..254: the stream cannot be followed any more, close it
    };

    void append(std::span<const std::uint8_t> bytes);
    /// Takes the next frame out. Its pdu is valid until the next append() or clear(). Broken stays until clear().
    Status next(Frame &frame);
    /// Some bytes of a frame are here and others not yet.
    bool hasPartialFrame() const { return m_begin < m_buffer.size(); }
    void clear();

private:
    std::vector<std::uint8_t> m_buffer;
    std::size_t m_begin = 0;
};

} // namespace gridloom::modbus
