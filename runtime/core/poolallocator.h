// SPDX-License-Identifier: Apache-2.0
// PoolAllocator<T>: an allocator whose memory comes from a pool that lives as long as anything allocated from it. Blocks
// may be freed in another thread than the one that asked for them.
#pragma once

#include <memory>
#include <memory_resource>

namespace gridloom {

using Pool = std::shared_ptr<std::pmr::synchronized_pool_resource>;

template<typename T>
class PoolAllocator {
public:
    using value_type = T;

    explicit PoolAllocator(Pool pool) : m_pool(std::move(pool)) {}
    template<typename U>
    PoolAllocator(const PoolAllocator<U> &other) : m_pool(other.pool()) // NOLINT(google-explicit-constructor)
    {
    }

    T *allocate(std::size_t n) { return static_cast<T *>(m_pool->allocate(n * sizeof(T), alignof(T))); }
    void deallocate(T *p, std::size_t n) { m_pool->deallocate(p, n * sizeof(T), alignof(T)); }
    const Pool &pool() const { return m_pool; }

    friend bool operator==(const PoolAllocator &a, const PoolAllocator &b) { return a.m_pool == b.m_pool; }

private:
    Pool m_pool;
};

} // namespace gridloom
