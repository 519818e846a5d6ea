// SPDX-License-Identifier: Apache-2.0
// RunNumbers: one count of runs for triggers and coordination tasks alike; it goes on above what earlier lives used.
// Engine thread.
#pragma once

#include <cstdint>

namespace gridloom {

class RunNumbers {
public:
    explicit RunNumbers(std::uint64_t first) : m_next(first) {}
    std::uint64_t take() { return m_next++; }
    std::uint64_t next() const { return m_next; } ///< the first one that was not taken

private:
    std::uint64_t m_next;
};

} // namespace gridloom
