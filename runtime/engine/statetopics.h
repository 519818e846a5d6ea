// SPDX-License-Identifier: Apache-2.0
// StateTopics: which points' newest values a sink carries as retained messages on state/{device}/{point}, and when: at
// the first value, on each change beyond the point's storage deadband, and after each new connection (the broker may have
// lost them), at most once in a minimum interval a point. Engine thread. Pure.
#pragma once

#include "core/processimage.h"
#include "core/storage/storagefilter.h"
#include "engine/schedule.h"

#include <vector>

namespace gridloom {

class StateTopics {
public:
    /// `design` outlives it.
    StateTopics(const Design &design, const std::vector<const SinkDefinition *> &sinks);

    /// A value of the point came in. Cheap for points without a topic.
    void pointSampled(PointHandle point, const ImageSlot &slot, SteadyTime now)
    {
        if (!m_ofPoint.empty() && !m_ofPoint[point].empty())
            sampled(point, slot, now);
    }
    /// Everything of this sink once more.
    void sinkConnected(std::size_t sink, const PointStore &points, SteadyTime now);
    struct Due {
        std::size_t sink;
        PointHandle point;
        const QByteArray *topic; ///< below the prefix
    };
    /// One state to send now with its point's present value; nothing when there is none.
    std::optional<Due> takeDue(SteadyTime now);
    std::optional<SteadyTime> nextDue() const { return m_schedule.next(); }
    /// Orderly stop: nothing is due any more.
    void stop();

private:
    struct Topic {
        std::size_t sink;
        PointHandle point;
        QByteArray topic;
        Milliseconds minInterval;
        StorageFilter filter;
        std::optional<SteadyTime> lastSent;
        bool isDue = false; ///< in the schedule
    };
    void sampled(PointHandle point, const ImageSlot &slot, SteadyTime now);
    void makeDue(std::size_t index, SteadyTime now);

    std::vector<Topic> m_topics;
    std::vector<std::vector<std::size_t>> m_ofPoint; ///< by point: indices of its topics; empty without any
    Schedule<std::size_t> m_schedule;
    bool m_isStopped = false;
};

} // namespace gridloom
