// SPDX-License-Identifier: Apache-2.0
// FaultList: collects what is wrong with a design while it is read. Plain data, one thread.
#pragma once

#include "core/design/designdocument.h"

#include <vector>

namespace gridloom {

class FaultList {
public:
    /// As many faults are kept; the rest is counted. A hostile design must not fill the memory with its own faults.
    static constexpr std::size_t kKept = 10'000;

    void add(DesignFault fault);
    bool isEmpty() const { return m_total == 0; }
    std::size_t total() const { return m_total; }
    /// Looking for the nearest known name is the expensive part of a fault: worth it only while people read on.
    bool mayStillSuggest() const { return m_total < 1'000; }
    /// All kept faults in byte order of their paths, within a path as they were found; one more that tells how many
    /// were not kept. Leaves the list empty.
    std::vector<DesignFault> take();

private:
    std::vector<DesignFault> m_faults;
    std::size_t m_total = 0;
};

} // namespace gridloom
