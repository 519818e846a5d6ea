// SPDX-License-Identifier: Apache-2.0
#include "core/bytespool.h"

#include <utility>

namespace gridloom {

namespace {
// Those that wait for a slow reader stand in the way of few others.
constexpr std::size_t kLookedAt = 8;
// Larger ones are rare, and would stay for good.
constexpr qsizetype kLargestKept = 64 << 10;

// As QByteArray::isDetached(), but ordered: what the last other holder read was read before we write.
bool isOurs(QByteArray &bytes)
{
    auto *const header = bytes.data_ptr().d_ptr();
    return header != nullptr && header->ref_.loadAcquire() == 1;
}
} // namespace

QByteArray BytesPool::take()
{
    for (std::size_t i = 0; i < std::min(kLookedAt, m_arrays.size()); ++i) {
        QByteArray &candidate = m_arrays[m_next];
        m_next = (m_next + 1) % m_arrays.size();
        if (!isOurs(candidate))
            continue;
        QByteArray bytes = std::exchange(candidate, std::move(m_arrays.back()));
        m_arrays.pop_back();
        m_next = m_arrays.empty() ? 0 : m_next % m_arrays.size();
        bytes.resize(0); // keeps its memory
        return bytes;
    }
    return {};
}

void BytesPool::remember(const QByteArray &bytes)
{
    if (m_arrays.size() < m_capacity && bytes.capacity() > 0 && bytes.capacity() <= kLargestKept)
        m_arrays.push_back(bytes);
}

} // namespace gridloom
