// SPDX-License-Identifier: Apache-2.0
#include "engine/statetopics.h"

#include "core/topics.h"

namespace gridloom {

namespace {
QByteArray topicOf(const PointRef &point)
{
    const qsizetype dot = point.name.indexOf(QLatin1Char('.'));
    return "state/" + escapeLevel(point.name.left(dot)) + '/' + escapeLevel(point.name.mid(dot + 1));
}
} // namespace

StateTopics::StateTopics(const Design &design, const std::vector<const SinkDefinition *> &sinks)
{
    for (std::size_t sink = 0; sink < sinks.size(); ++sink) {
        for (const PointHandle point : sinks[sink]->statePoints) {
            m_ofPoint.resize(static_cast<std::size_t>(design.points.size()));
            const PointRef &ref = design.points[point];
            const StoragePolicy changes{StoragePolicy::Mode::OnChange, ref.storage.deadband, Milliseconds(0)};
            m_ofPoint[point].push_back(m_topics.size());
            m_topics.push_back(
                {sink, point, topicOf(ref), sinks[sink]->stateMinInterval, StorageFilter(changes), {}, false});
        }
    }
}

void StateTopics::sampled(PointHandle point, const ImageSlot &slot, SteadyTime now)
{
    for (const std::size_t index : m_ofPoint[point])
        if (m_topics[index].filter.accept({point, slot.quality, slot.value, slot.sourceTime, slot.gatewayTime}))
            makeDue(index, now);
}

void StateTopics::sinkConnected(std::size_t sink, const PointStore &points, SteadyTime now)
{
    for (std::size_t i = 0; i < m_topics.size(); ++i)
        if (m_topics[i].sink == sink && points.at(m_topics[i].point).sequence > 0)
            makeDue(i, now);
}

void StateTopics::makeDue(std::size_t index, SteadyTime now)
{
    Topic &topic = m_topics[index];
    if (m_isStopped || std::exchange(topic.isDue, true))
        return;
    m_schedule.add(topic.lastSent ? std::max(now, *topic.lastSent + topic.minInterval) : now, index);
}

std::optional<StateTopics::Due> StateTopics::takeDue(SteadyTime now)
{
    const auto item = m_schedule.take(now);
    if (!item)
        return std::nullopt;
    Topic &topic = m_topics[item->second];
    topic.isDue = false;
    topic.lastSent = now;
    return Due{topic.sink, topic.point, &topic.topic};
}

void StateTopics::stop()
{
    m_isStopped = true;
    m_schedule.clear();
}

} // namespace gridloom
