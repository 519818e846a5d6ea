// SPDX-License-Identifier: Apache-2.0
// BufferPool<T>: vectors that are used again, so that a hand-over between threads costs no allocation. A Buffer is a
// vector that goes back to its pool when it is destroyed, in whatever thread that happens.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gridloom {

template<typename T>
class BufferPool {
    struct Shelf;

public:
    class Buffer {
    public:
        /// An empty one of no pool.
        Buffer() = default;
        /// One of no pool.
        Buffer(std::vector<T> items) : m_items(std::move(items)) {} // NOLINT(google-explicit-constructor)
        Buffer(std::initializer_list<T> items) : m_items(items) {}
        ~Buffer() { release(); }
        Buffer(Buffer &&other) noexcept = default;
        Buffer &operator=(Buffer &&other) noexcept
        {
            if (this != &other) {
                release();
                m_items = std::move(other.m_items);
                m_shelf = std::move(other.m_shelf);
            }
            return *this;
        }

        std::vector<T> &operator*() { return m_items; }
        const std::vector<T> &operator*() const { return m_items; }
        std::vector<T> *operator->() { return &m_items; }
        const std::vector<T> *operator->() const { return &m_items; }
        auto begin() const { return m_items.begin(); }
        auto end() const { return m_items.end(); }
        std::size_t size() const { return m_items.size(); }
        bool empty() const { return m_items.empty(); }

    private:
        friend class BufferPool;
        void release()
        {
            if (m_shelf)
                m_shelf->put(std::move(m_items));
        }
        std::vector<T> m_items;
        std::shared_ptr<Shelf> m_shelf; ///< outlives the pool as long as buffers are out
    };

    /// At most so many vectors lie idle.
    explicit BufferPool(std::size_t capacity = 64) : m_shelf(std::make_shared<Shelf>(capacity)) {}

    /// An empty vector, with the memory of an earlier one where there is one. Any thread.
    Buffer take()
    {
        Buffer buffer(m_shelf->take());
        buffer.m_shelf = m_shelf;
        return buffer;
    }

private:
    struct Shelf {
        explicit Shelf(std::size_t n) : capacity(n) { idle.reserve(n); }
        std::vector<T> take()
        {
            const std::lock_guard lock(mutex);
            if (idle.empty())
                return {};
            std::vector<T> items = std::move(idle.back());
            idle.pop_back();
            return items;
        }
        void put(std::vector<T> items)
        {
            items.clear();
            if (items.capacity() == 0)
                return;
            const std::lock_guard lock(mutex);
            if (idle.size() < capacity)
                idle.push_back(std::move(items));
        }
        std::mutex mutex;
        const std::size_t capacity;
        std::vector<std::vector<T>> idle;
    };
    std::shared_ptr<Shelf> m_shelf;
};

} // namespace gridloom
