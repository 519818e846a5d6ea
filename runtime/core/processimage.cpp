// SPDX-License-Identifier: Apache-2.0
#include "core/processimage.h"

namespace gridloom {

namespace {
// By the pool's default, larger blocks than these would come from the heap each time.
constexpr std::size_t kLargestBlock = 64 << 10;

template<typename T, typename... Arguments>
std::shared_ptr<T> makeIn(const Pool &pool, Arguments &&...arguments)
{
    return std::allocate_shared<T>(PoolAllocator<T>(pool), std::forward<Arguments>(arguments)...);
}
} // namespace

PointStore::PointStore(std::size_t size)
    : m_pool(std::make_shared<std::pmr::synchronized_pool_resource>(
        std::pmr::pool_options{.max_blocks_per_chunk = 0, .largest_required_pool_block = kLargestBlock})),
      m_live(m_pool)
{
    constexpr std::size_t kFanOut = ProcessImage::kFanOut;
    m_live.m_size = size;
    const std::size_t pages = (size + kFanOut - 1) / kFanOut;
    for (std::size_t p = 0; p < pages; ++p) {
        if (p % kFanOut == 0)
            m_live.m_branches.push_back(makeIn<ProcessImage::Branch>(m_pool));
        m_live.m_branches.back()->pages[p % kFanOut] = makeIn<ProcessImage::Page>(m_pool);
    }
}

// Whether an image shares a page is told by the freezes since the page was made. The use count of the pointer would
// save some copies, but reading it does not order the reads of a worker that has just let go of its image before our
// write.
ImageSlot &PointStore::writable(PointHandle point)
{
    constexpr std::size_t kFanOut = ProcessImage::kFanOut;
    const std::uint64_t freezes = m_live.m_number;
    auto &branch = m_live.m_branches[point / (kFanOut * kFanOut)];
    if (branch->freezes != freezes) {
        branch = makeIn<ProcessImage::Branch>(m_pool, *branch);
        branch->freezes = freezes;
    }
    auto &page = branch->pages[point / kFanOut % kFanOut];
    if (page->freezes != freezes) {
        page = makeIn<ProcessImage::Page>(m_pool, *page);
        page->freezes = freezes;
    }
    return page->slots[point % kFanOut];
}

bool PointStore::update(const Sample &sample)
{
    ImageSlot &slot = writable(sample.point);
    const bool isChanged = slot.quality != sample.quality || !(slot.value == sample.value);
    slot.value = sample.value;
    slot.quality = sample.quality;
    slot.sourceTime = sample.sourceTime;
    slot.gatewayTime = sample.gatewayTime;
    ++slot.sequence;
    return isChanged;
}

std::shared_ptr<const ProcessImage> PointStore::freeze(SteadyTime now, WallTime wall)
{
    ++m_live.m_number;
    m_live.m_frozenAt = now;
    m_live.m_wallTime = wall;
    return makeIn<ProcessImage>(m_pool, m_live);
}

} // namespace gridloom
