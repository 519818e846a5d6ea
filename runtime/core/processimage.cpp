// SPDX-License-Identifier: Apache-2.0
#include "core/processimage.h"

namespace gridloom {

PointStore::PointStore(std::size_t size)
{
    constexpr std::size_t kFanOut = ProcessImage::kFanOut;
    m_live.m_size = size;
    const std::size_t pages = (size + kFanOut - 1) / kFanOut;
    for (std::size_t p = 0; p < pages; ++p) {
        if (p % kFanOut == 0)
            m_live.m_branches.push_back(std::make_shared<ProcessImage::Branch>());
        m_live.m_branches.back()->pages[p % kFanOut] = std::make_shared<ProcessImage::Page>();
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
        branch = std::make_shared<ProcessImage::Branch>(*branch);
        branch->freezes = freezes;
    }
    auto &page = branch->pages[point / kFanOut % kFanOut];
    if (page->freezes != freezes) {
        page = std::make_shared<ProcessImage::Page>(*page);
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
    return std::make_shared<const ProcessImage>(m_live);
}

} // namespace gridloom
