// SPDX-License-Identifier: Apache-2.0
#include "engine/windowpath.h"

namespace gridloom {

namespace {
// A window is closed so much after its end, so that samples stamped just before it have arrived.
constexpr std::chrono::milliseconds kGrace{20};
// First byte of a window's value in the journal: whether no result was given out after it was written.
constexpr char kExact = 1;
} // namespace

WindowPath::WindowPath(const Design &design, StateJournal &journal, Milliseconds checkpointPeriod, Closed closed)
    : m_journal(journal), m_checkpointPeriod(checkpointPeriod), m_closed(std::move(closed))
{
    std::vector<std::pair<PointHandle, std::size_t>> windowsOf;
    const QTimeZone zone(design.zone);
    for (const auto &[id, set] : design.aggregations)
        for (const Aggregation &aggregation : set.aggregations) {
            if (aggregation.isScripted())
                continue;
            for (const PointHandle input : aggregation.inputs)
                windowsOf.emplace_back(input, m_entries.size());
            m_entries.push_back(
                {TumblingWindow(aggregation, zone, design), &aggregation, windowStateKey(id, aggregation), {}});
        }
    m_windowsOf = {static_cast<std::size_t>(design.points.size()), std::move(windowsOf)};
}

void WindowPath::restore(const std::map<QString, QByteArray> &states, WallTime wall)
{
    for (Entry &entry : m_entries) {
        const auto state = states.find(entry.key);
        if (state == states.end() || state->second.isEmpty())
            continue;
        // Of another definition: it begins anew.
        static_cast<void>(
            entry.window.restore(QByteArrayView(state->second).sliced(1), wall, state->second[0] != kExact));
    }
}

void WindowPath::start(SteadyTime now, WallTime wall)
{
    std::vector<QString> keys;
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        keys.push_back(m_entries[i].key);
        close(i, now, wall);
    }
    m_journal.removeOthers(QStringLiteral("window/"), std::move(keys));
}

void WindowPath::add(const Sample &sample, SteadyTime now, WallTime wall)
{
    for (const std::size_t index : m_windowsOf[sample.point]) {
        const auto due = m_entries[index].window.nextClose();
        if (due && sample.sourceTime >= *due)
            close(index, now, wall);
        m_entries[index].window.add(sample);
    }
}

void WindowPath::closeDue(SteadyTime now, WallTime wall)
{
    while (const auto item = m_schedule.take(now)) {
        const auto end = m_entries[item->second].window.nextClose();
        if (end && *end <= wall)
            close(item->second, now, wall);
    }
}

void WindowPath::closeEnded(SteadyTime now, WallTime wall)
{
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        if (const auto end = m_entries[i].window.nextClose(); end && *end + kGrace <= wall)
            close(i, now, wall);
}

void WindowPath::close(std::size_t index, SteadyTime now, WallTime wall)
{
    Entry &entry = m_entries[index];
    const auto results = entry.window.close(wall);
    for (const WindowResult &result : results)
        m_closed(entry.aggregation->handle, result);
    if (!results.empty() && isWrittenAtClose(entry))
        save(index, false);
    const auto due = entry.window.nextClose();
    if (due && due != entry.due)
        m_schedule.add(now + (*due + kGrace - wall), index);
    entry.due = due;
}

std::size_t WindowPath::inputs(std::size_t window) const
{
    return static_cast<std::size_t>(m_entries[window].aggregation->inputs.size());
}

void WindowPath::save(std::size_t window, bool isLast)
{
    const Entry &entry = m_entries[window];
    m_buffer.resize(0); // keeps its memory
    m_buffer.append(isLast || isWrittenAtClose(entry) ? kExact : '\0');
    entry.window.save(m_buffer);
    m_journal.write(entry.key, m_buffer.size() > 1 ? QByteArrayView(m_buffer) : QByteArrayView());
}

} // namespace gridloom
