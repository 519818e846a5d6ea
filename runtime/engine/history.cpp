// SPDX-License-Identifier: Apache-2.0
#include "engine/history.h"

namespace gridloom {

namespace {
// Rows are handed over together: a wake-up of the store thread costs more than a row.
constexpr std::size_t kMostRows = 1'000;
constexpr std::chrono::milliseconds kLongestWait{250};
} // namespace

History::History(const Design &design, const Outlets &outlets) : m_outlets(outlets)
{
    m_filters.reserve(static_cast<std::size_t>(design.points.size()));
    m_modes.reserve(m_filters.capacity());
    for (const PointRef &point : design.points) {
        m_filters.emplace_back(point.storage);
        m_modes.push_back(point.storage.mode);
    }
    m_hasHeartbeat.resize(m_filters.size(), 0);
}

void History::offer(const Sample &sample)
{
    if (!hasStore())
        return;
    ++m_account.samplesOffered;
    if (!m_filters[sample.point].accept(sample)) {
        ++m_account.skippedByPolicy;
        return;
    }
    ++m_account.pending;
    if (!m_oldest)
        m_oldest = sample.gatewayTime;
    m_batch.rows->push_back({sample.point, sample.quality, sample.value, sample.sourceTime, -1, 0});
    if (m_hasHeartbeat[sample.point])
        return;
    if (const auto due = m_filters[sample.point].heartbeatDue()) {
        m_heartbeats.add(*due, sample.point);
        m_hasHeartbeat[sample.point] = 1;
    }
}

void History::heartbeats(const PointStore &points, SteadyTime now, WallTime wall)
{
    while (const auto item = m_heartbeats.take(now)) {
        const PointHandle point = item->second;
        m_hasHeartbeat[point] = 0;
        const auto due = m_filters[point].heartbeatDue();
        if (!due)
            continue;
        if (*due > now) { // a row came since
            m_heartbeats.add(*due, point);
            m_hasHeartbeat[point] = 1;
            continue;
        }
        const ImageSlot &slot = points.at(point);
        offer({point, slot.quality, slot.value, wall, now});
    }
}

void History::lastRows(const PointStore &points)
{
    for (std::size_t i = 0; i < m_filters.size(); ++i) {
        const auto point = static_cast<PointHandle>(i);
        const ImageSlot &slot = points.at(point);
        const Sample newest{point, slot.quality, slot.value, slot.sourceTime, slot.gatewayTime};
        if (!hasStore() || !m_filters[i].acceptLast(newest))
            continue;
        ++m_account.samplesOffered;
        ++m_account.pending;
        m_batch.rows->push_back({point, slot.quality, slot.value, slot.sourceTime, -1, 0});
    }
}

void History::offerResult(PointHandle point, const Value &value, Quality quality, WallTime time)
{
    if (!hasStore())
        return;
    ++m_account.samplesOffered;
    if (m_modes[point] == StoragePolicy::Mode::None) {
        ++m_account.skippedByPolicy;
        return;
    }
    ++m_account.pending;
    if (!m_oldest)
        m_oldest = m_now;
    m_batch.rows->push_back({point, quality, value, time, -1, 0});
}

bool History::writeRow(PointHandle point, const Value &value, WallTime time, int trigger, std::uint64_t run)
{
    if (!hasStore())
        return false;
    ++m_account.samplesOffered;
    ++m_account.pending;
    m_batch.rows->push_back({point, Quality::Good, value, time, trigger, run});
    m_batch.runs->push_back(run);
    return handOver();
}

void History::flush(SteadyTime now, bool isForced)
{
    m_now = now;
    if (!m_batch.rows.empty()
        && (isForced || m_batch.rows.size() >= kMostRows || (m_oldest && now - *m_oldest >= kLongestWait)))
        handOver();
}

std::optional<SteadyTime> History::nextFlush() const
{
    return m_oldest ? std::optional<SteadyTime>(*m_oldest + kLongestWait) : std::nullopt;
}

bool History::handOver()
{
    const std::uint64_t rows = m_batch.rows.size();
    m_oldest.reset();
    if (m_outlets.appendRows(std::exchange(m_batch, {m_rowBuffers.take(), m_runBuffers.take()})))
        return true;
    m_account.pending -= rows;
    m_account.lost += rows;
    return false;
}

void History::stored(const RowsStored &event)
{
    m_account.pending -= event.rows;
    if (event.isStored) {
        m_account.rows += event.rows;
        m_account.aggregationRows += event.triggerRows;
    } else {
        m_account.lost += event.rows;
    }
}

void History::unsynced(const RowsUnsynced &event)
{
    m_account.rows -= event.rows;
    m_account.lost += event.rows;
}

} // namespace gridloom
