// SPDX-License-Identifier: Apache-2.0
// ProcessImage: an immutable picture of all points at one moment; what every trigger of a cycle reads.
// PointStore: the engine thread's live values, from which images are frozen. Pages of 64 slots are shared between
// images and copied on the first write after a freeze, two levels deep, so that a cycle costs what changed, not what
// exists. A page that an image may hold is never written again, so readers need no lock.
#pragma once

#include "core/poolallocator.h"
#include "core/sample.h"

#include <array>
#include <memory>
#include <vector>

namespace gridloom {

struct ImageSlot {
    Value value;
    WallTime sourceTime{};
    SteadyTime gatewayTime{};
    std::uint32_t sequence = 0; ///< grows by one with each sample of the point
    Quality quality = Quality::BadWaitingForInitialData;
};

/// Immutable; any thread may read it.
class ProcessImage {
public:
    static constexpr std::size_t kFanOut = 64;
    struct Page {
        std::array<ImageSlot, kFanOut> slots;
        std::uint64_t freezes = 0; ///< how many there had been when the store made this page
    };
    struct Branch {
        std::array<std::shared_ptr<Page>, kFanOut> pages;
        std::uint64_t freezes = 0;
    };

    std::size_t size() const { return m_size; }
    /// `point` below size().
    const ImageSlot &at(PointHandle point) const
    {
        return m_branches[point / (kFanOut * kFanOut)]->pages[point / kFanOut % kFanOut]->slots[point % kFanOut];
    }
    /// Grows with each freeze.
    std::uint64_t number() const { return m_number; }
    SteadyTime frozenAt() const { return m_frozenAt; }
    WallTime wallTime() const { return m_wallTime; }

private:
    friend class PointStore;
    using Branches = std::vector<std::shared_ptr<Branch>, PoolAllocator<std::shared_ptr<Branch>>>;
    explicit ProcessImage(const Pool &pool) : m_branches(PoolAllocator<std::shared_ptr<Branch>>(pool)) {}
    Branches m_branches;
    std::size_t m_size = 0;
    std::uint64_t m_number = 0;
    SteadyTime m_frozenAt{};
    WallTime m_wallTime{};
};

/// Owned by the engine thread.
class PointStore {
public:
    explicit PointStore(std::size_t size);

    std::size_t size() const { return m_live.m_size; }
    const ImageSlot &at(PointHandle point) const { return m_live.at(point); }
    /// Takes a sample in. True when value or quality differ from the last one.
    bool update(const Sample &sample);
    /// The picture of now. Cheap: no slot is copied before it is written again.
    std::shared_ptr<const ProcessImage> freeze(SteadyTime now, WallTime wall);

private:
    ImageSlot &writable(PointHandle point);
    Pool m_pool; ///< of pages, branches and images: used again once no worker holds them
    ProcessImage m_live;
};

} // namespace gridloom
