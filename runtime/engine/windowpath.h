// SPDX-License-Identifier: Apache-2.0
// WindowPath: the windows of all aggregations: which samples go where, when each closes, and their state over a
// restart. Engine thread.
#pragma once

#include "core/window/tumblingwindow.h"
#include "engine/listsbypoint.h"
#include "engine/schedule.h"
#include "engine/statejournal.h"

#include <functional>
#include <vector>

namespace gridloom {

class WindowPath {
public:
    /// Told of each result, oldest first.
    using Closed = std::function<void(PointHandle, const WindowResult &)>;
    /// Windows of at least `checkpointPeriod` are written to `journal` whenever they close, so that none of their results
    /// is given out twice. Everything outlives the object.
    WindowPath(const Design &design, StateJournal &journal, Milliseconds checkpointPeriod, Closed closed);

    /// Goes on with the windows that Records::states() holds. Before start().
    void restore(const std::map<QString, QByteArray> &states, WallTime wall);
    /// Opens the windows.
    void start(SteadyTime now, WallTime wall);
    void add(const Sample &sample, SteadyTime now, WallTime wall);
    std::optional<SteadyTime> nextDue() const { return m_schedule.next(); }
    void closeDue(SteadyTime now, WallTime wall);
    /// A step of the wall clock moves the ends of windows: closes what nextDue() does not know of yet.
    void closeEnded(SteadyTime now, WallTime wall);

    std::size_t size() const { return m_entries.size(); }
    /// Inputs of a window: what saving it costs.
    std::size_t inputs(std::size_t window) const;
    /// Writes a window's state to the journal. `isLast`: nothing comes after it.
    void save(std::size_t window, bool isLast);

private:
    struct Entry {
        TumblingWindow window;
        const Aggregation *aggregation;
        QString key;
        std::optional<WallTime> due; ///< as scheduled
    };
    bool isWrittenAtClose(const Entry &entry) const { return entry.aggregation->window >= m_checkpointPeriod; }
    void close(std::size_t index, SteadyTime now, WallTime wall);

    StateJournal &m_journal;
    const Milliseconds m_checkpointPeriod;
    const Closed m_closed;
    std::vector<Entry> m_entries;
    ListsByPoint<std::size_t> m_windowsOf;
    Schedule<std::size_t> m_schedule;
    QByteArray m_buffer;
};

} // namespace gridloom
