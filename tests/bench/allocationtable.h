// SPDX-License-Identifier: Apache-2.0
// AllocationTable: the file mapped by the allocation counter (in gridloomd) and by the bench that reads it. All zeros
// is a valid table. Counters grow while isCounting is set by the reader; a thread writes only its own entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gridloom {

struct AllocationTable {
    static constexpr const char *kFileVariable = "GRIDLOOM_ALLOCATION_TABLE"; ///< environment: path of the file
    static constexpr std::uint32_t kThreads = 128;
    static constexpr std::uint32_t kStacks = 8192; ///< a power of 2
    static constexpr int kDepth = 20;

    struct Thread {
        std::atomic<std::int32_t> id; ///< of the kernel; 0: free
        std::atomic<std::uint64_t> allocations;
        std::atomic<std::uint64_t> bytes;
    };
    /// A call site: where an allocation came from, innermost frame first.
    struct Stack {
        std::atomic<std::uint64_t> hash; ///< 0: free
        std::atomic<std::uint64_t> allocations;
        std::atomic<bool> isComplete; ///< thread and frames are written
        std::int32_t thread;
        std::int32_t depth;
        std::uint64_t frames[kDepth];
    };

    std::atomic<bool> isCounting;
    std::atomic<std::uint32_t> threadCount; ///< entries in use, or more than kThreads
    std::atomic<std::uint64_t> lost;        ///< allocations of threads or call sites that found no room
    Thread threads[kThreads];
    Stack stacks[kStacks];
};

} // namespace gridloom
