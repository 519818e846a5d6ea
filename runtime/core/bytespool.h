// SPDX-License-Identifier: Apache-2.0
// BytesPool: byte arrays whose memory is used again once nobody else holds them: payloads and texts that one thread
// writes all the time and that others (records, sinks) keep for a while. One thread takes; any may let go.
#pragma once

#include <QByteArray>

#include <cstddef>
#include <vector>

namespace gridloom {

class BytesPool {
public:
    /// At most so many arrays are remembered.
    explicit BytesPool(std::size_t capacity = 256) : m_capacity(capacity) {}

    /// An empty array, with the memory of a remembered one that is nobody else's any more.
    QByteArray take();
    /// Remembers a finished array, shared: its memory is taken again once all others have let it go.
    void remember(const QByteArray &bytes);

private:
    std::size_t m_capacity;
    std::vector<QByteArray> m_arrays; ///< a ring, oldest at m_next
    std::size_t m_next = 0;
};

} // namespace gridloom
