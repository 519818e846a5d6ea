// SPDX-License-Identifier: Apache-2.0
// Unit: one device of the channel: its points with their last state, the plan that reads them, and what was learnt
// about addresses that the device refuses. Driver's thread.
#pragma once

#include "config.h"
#include "scanstate.h"

#include <memory>
#include <span>
#include <vector>

namespace gridloom::modbus {

/// A planned request. Jobs share it: it outlives a new plan until its answer came.
struct Block {
    ReadBlock plan;
    bool isOpen = false;                     ///< a job for it is queued or on its way
    std::optional<std::uint8_t> exception{}; ///< its last answer was this exception
};

struct PointState {
    const Point *point = nullptr;
    Address address;
    std::uint16_t width = 1;
    std::shared_ptr<Block> block; ///< null: no request may touch it
    Value value;                  ///< as published last
    Quality quality = Quality::BadWaitingForInitialData;
    bool isPending = false; ///< polled and not answered: some open job will
    bool isWriting = false;
};

class Unit {
public:
    Unit(UnitConfig config, DeviceHandle handle, bool isSole);

    const UnitConfig &config() const { return m_config; }
    DeviceHandle handle() const { return m_handle; }
    ScanState &scan() { return m_scan; }
    std::vector<PointState> &points() { return m_points; }

    /// Two halves of a block of this unit, or nothing; see modbus::splitBlock.
    std::optional<std::pair<ReadBlock, ReadBlock>> split(const ReadBlock &block) const;
    /// The device refused this range with an exception: leave it out for 10 minutes.
    void learn(const AddressRange &range, std::uint8_t exception, SteadyTime now);
    /// Forgets what was learnt more than 10 minutes ago, so that it is tried again.
    void forgetExpired(SteadyTime now);
    /// The exception that keeps points from being read, and where; code empty: all is well.
    Error refusal() const;

private:
    struct LearntHole {
        AddressRange range;
        std::uint8_t exception = 0;
        SteadyTime retestAt;
    };
    void plan();

    UnitConfig m_config;
    DeviceHandle m_handle;
    ScanState m_scan;
    std::vector<PointState> m_points;
    std::vector<ReadPoint> m_readPoints; ///< same order as m_points
    std::vector<std::shared_ptr<Block>> m_blocks;
    std::vector<LearntHole> m_holes;
    SteadyTime m_nextRetest = SteadyTime::max();
};

} // namespace gridloom::modbus
