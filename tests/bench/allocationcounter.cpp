// SPDX-License-Identifier: Apache-2.0
// Preloaded: counts allocations of each thread and where they come from, in a table that another process reads.
// It must not allocate itself and needs nothing that is initialized later than it.
#include "allocationtable.h"

#include <cerrno>
#include <cstdlib>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using gridloom::AllocationTable;

extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *__libc_memalign(std::size_t, std::size_t);
}

namespace {

constexpr int kOwnFrames = 2; // count() and malloc()

AllocationTable *s_table = nullptr;
// Not to be allocated when first used.
__attribute__((tls_model("initial-exec"))) thread_local AllocationTable::Thread *t_thread = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local bool t_isInside = false;

__attribute__((constructor)) void mapTable()
{
    const char *path = std::getenv(AllocationTable::kFileVariable);
    if (!path)
        return;
    void *frames[4];
    ::backtrace(frames, 4); // loads its library, which allocates
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *memory = ::mmap(nullptr, sizeof(AllocationTable), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory != MAP_FAILED)
        s_table = static_cast<AllocationTable *>(memory);
}

AllocationTable::Thread *ownEntry()
{
    if (t_thread)
        return t_thread;
    const std::uint32_t index = s_table->threadCount.fetch_add(1);
    if (index >= AllocationTable::kThreads)
        return nullptr;
    t_thread = &s_table->threads[index];
    t_thread->id = static_cast<std::int32_t>(::syscall(SYS_gettid));
    return t_thread;
}

__attribute__((always_inline)) inline void countStack(std::int32_t thread)
{
    void *frames[AllocationTable::kDepth + kOwnFrames];
    const int depth = ::backtrace(frames, AllocationTable::kDepth + kOwnFrames) - kOwnFrames;
    std::uint64_t hash = static_cast<std::uint64_t>(thread) + 0x9E3779B97F4A7C15;
    for (int i = 0; i < depth; ++i) {
        hash = (hash ^ reinterpret_cast<std::uint64_t>(frames[i + kOwnFrames])) * 0xBF58476D1CE4E5B9;
        hash ^= hash >> 29;
    }
    hash |= 1;
    for (std::uint64_t probe = 0; probe < 64; ++probe) {
        AllocationTable::Stack &stack = s_table->stacks[(hash / 2 + probe) % AllocationTable::kStacks];
        std::uint64_t found = 0;
        if (stack.hash.compare_exchange_strong(found, hash)) {
            stack.thread = thread;
            stack.depth = depth;
            for (int i = 0; i < depth; ++i)
                stack.frames[i] = reinterpret_cast<std::uint64_t>(frames[i + kOwnFrames]);
            stack.isComplete = true;
            found = hash;
        }
        if (found == hash) {
            ++stack.allocations;
            return;
        }
    }
    ++s_table->lost;
}

__attribute__((noinline)) void count(std::size_t bytes)
{
    if (!s_table || t_isInside || !s_table->isCounting.load(std::memory_order_relaxed))
        return;
    t_isInside = true;
    const int savedError = errno;
    if (AllocationTable::Thread *thread = ownEntry()) {
        ++thread->allocations;
        thread->bytes += bytes;
        countStack(thread->id);
    } else {
        ++s_table->lost;
    }
    errno = savedError;
    t_isInside = false;
}

} // namespace

// malloc(3), posix_memalign(3). free() stays the C library's own.
extern "C" {

void *malloc(std::size_t size)
{
    count(size);
    return __libc_malloc(size);
}

void *calloc(std::size_t number, std::size_t size)
{
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *old, std::size_t size)
{
    count(size);
    return __libc_realloc(old, size);
}

void *memalign(std::size_t alignment, std::size_t size)
{
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(std::size_t alignment, std::size_t size)
{
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, std::size_t alignment, std::size_t size)
{
    count(size);
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

} // extern "C"
