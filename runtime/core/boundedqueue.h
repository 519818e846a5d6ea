// SPDX-License-Identifier: Apache-2.0
// BoundedQueue<T>: the hand-over between two of our threads. Any number of producers and consumers, std primitives
// only, so that ThreadSanitizer can check it. A push never waits; what does not fit is refused and counted. Memory is
// used again: a queue whose consumer drains into the same vector each time allocates only to grow.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace gridloom {

template<typename T>
class BoundedQueue {
public:
    /// `capacity` in items, at least 1.
    explicit BoundedQueue(std::size_t capacity) : m_capacity(capacity) {}

    /// Called after each push that found the queue empty, in the producer's thread: wakes an event loop (eventfd).
    /// Set before the first push.
    void setWakeUp(std::function<void()> wakeUp) { m_wakeUp = std::move(wakeUp); }

    /// False, and `refused` grows by one, when the queue is full or closed.
    bool push(T item) { return insert(std::move(item), false); }
    /// Counts an item that the producer has a bound of its own for; answers false, as push() would.
    bool refuse()
    {
        const std::lock_guard lock(m_mutex);
        ++m_refused;
        return false;
    }
    /// For what must not be lost (control, alarms, acknowledgements): goes in beyond the bound; such items are
    /// bounded by their own ledgers. False only when closed.
    bool pushAlways(T item) { return insert(std::move(item), true); }

    /// Moves everything that waits to the end of `out`; never blocks. The number moved.
    std::size_t drain(std::vector<T> &out)
    {
        const std::lock_guard lock(m_mutex);
        return moveAll(out);
    }
    /// As drain(), but waits until there is something, the queue is closed or `until` has come (real steady time).
    template<typename TimePoint>
    std::size_t drainUntil(std::vector<T> &out, TimePoint until)
    {
        std::unique_lock lock(m_mutex);
        m_filled.wait_until(lock, until, [this] { return waiting() > 0 || m_isClosed; });
        return moveAll(out);
    }
    /// Waits for one item; false once the queue is closed and empty.
    bool pop(T &out)
    {
        std::unique_lock lock(m_mutex);
        m_filled.wait(lock, [this] { return waiting() > 0 || m_isClosed; });
        if (waiting() == 0)
            return false;
        out = std::move(m_items[m_first++]);
        // What was taken is let go in larger pieces, so that each item is moved once on the average.
        if (m_first == m_items.size() || m_first > kLongestGap) {
            m_items.erase(m_items.begin(), m_items.begin() + static_cast<std::ptrdiff_t>(m_first));
            m_first = 0;
        }
        return true;
    }

    /// No further push; consumers get what is left, then pop() answers false.
    void close()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_isClosed = true;
        }
        m_filled.notify_all();
    }
    bool isClosed() const
    {
        const std::lock_guard lock(m_mutex);
        return m_isClosed;
    }

    std::size_t size() const
    {
        const std::lock_guard lock(m_mutex);
        return waiting();
    }
    std::size_t capacity() const { return m_capacity; }
    std::uint64_t refused() const
    {
        const std::lock_guard lock(m_mutex);
        return m_refused;
    }
    std::size_t highWater() const
    {
        const std::lock_guard lock(m_mutex);
        return m_highWater;
    }

private:
    bool insert(T item, bool beyondBound)
    {
        bool wasEmpty = false;
        {
            const std::lock_guard lock(m_mutex);
            if (m_isClosed || (!beyondBound && waiting() >= m_capacity)) {
                ++m_refused;
                return false;
            }
            wasEmpty = waiting() == 0;
            m_items.push_back(std::move(item));
            m_highWater = std::max(m_highWater, waiting());
        }
        m_filled.notify_one();
        if (wasEmpty && m_wakeUp)
            m_wakeUp();
        return true;
    }
    std::size_t moveAll(std::vector<T> &out)
    {
        const std::size_t n = waiting();
        if (out.empty() && m_first == 0) {
            m_items.swap(out);
            return n;
        }
        for (std::size_t i = m_first; i < m_items.size(); ++i)
            out.push_back(std::move(m_items[i]));
        m_items.clear();
        m_first = 0;
        return n;
    }
    std::size_t waiting() const { return m_items.size() - m_first; }

    static constexpr std::size_t kLongestGap = 1024;

    mutable std::mutex m_mutex;
    std::condition_variable m_filled;
    std::vector<T> m_items; ///< those before m_first are taken
    std::size_t m_first = 0;
    std::function<void()> m_wakeUp;
    const std::size_t m_capacity;
    std::size_t m_highWater = 0;
    std::uint64_t m_refused = 0;
    bool m_isClosed = false;
};

} // namespace gridloom
