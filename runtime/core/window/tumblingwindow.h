// SPDX-License-Identifier: Apache-2.0
// TumblingWindow: one aggregation's window and fold over its inputs. Engine thread. Pure.
// Windows never move: their borders are multiples of the size in the site's local day when the size divides a day
// (quarter-hours at :00 :15 :30 :45 local, also over a change of DST), else multiples of UTC. A window is stamped with
// its start. The first window after a start, and one with a gap, is partial: its good share is below 1.
#pragma once

#include "core/design/design.h"
#include "core/sample.h"

#include <QTimeZone>

namespace gridloom {

struct WindowResult {
    WallTime start{};
    WallTime end{};
    Value value;            ///< a double; null when there was no good input
    Quality quality = Quality::BadNoData; ///< Good; UncertainSubNormal when partial or not every sample was good
    std::uint64_t count = 0; ///< samples that were used
    std::uint64_t offered = 0; ///< samples that came, bad ones included
    double coverage = 0.0;   ///< share of the window's time under a good value, mean over the inputs, 0..1
    bool isPartial = false;  ///< opened after its start, or coverage below 1 by a gap
};

class TumblingWindow {
public:
    /// `aggregation` outlives the window.
    TumblingWindow(const Aggregation &aggregation, const QTimeZone &zone);

    /// A sample of one of the inputs, in order of time per point. Bad and non-finite values are counted as offered
    /// and not used. Samples after the window's end wait for close() (call close() first).
    void add(const Sample &sample);
    /// The results of every window that ended by `now`, oldest first (at most one with samples; empty windows in
    /// between are skipped). Opens the window that contains `now`.
    std::vector<WindowResult> close(WallTime now);
    /// End of the open window: when close() has something to do. Nothing before the first call of close().
    std::optional<WallTime> nextClose() const;
    /// The result as it would be if the window closed at `now`: for a live view of a running window.
    WindowResult preview(WallTime now) const;

    /// Start of the window of `size` that contains `t`.
    static WallTime windowStart(WallTime t, Milliseconds size, const QTimeZone &zone);
    static WallTime windowEnd(WallTime start, Milliseconds size, const QTimeZone &zone);

private:
    struct Input {
        PointHandle point = kNoPoint;
        bool hasLast = false; ///< a good value holds since lastTime
        double last = 0.0;
        WallTime lastTime{};
        double area = 0.0;        ///< integral of value * time (s), by the rule of the fold
        double coveredS = 0.0;
    };
    Input &inputOf(PointHandle point);
    void holdUntil(Input &input, WallTime t) const;
    WindowResult result(WallTime end) const;
    void reset(WallTime start);

    const Aggregation &m_aggregation;
    QTimeZone m_zone;
    std::vector<Input> m_inputs;
    std::optional<WallTime> m_start;
    WallTime m_end{};
    WallTime m_openedAt{};
    double m_sum = 0.0, m_min = 0.0, m_max = 0.0;
    std::uint64_t m_count = 0, m_offered = 0;
    bool m_isFirst = true;
};

} // namespace gridloom
