// SPDX-License-Identifier: Apache-2.0
// TumblingWindow: one aggregation's window and fold over its inputs. Engine thread. Pure.
// Windows never move: their borders are multiples of the size in the site's local day when the size divides a day
// (quarter-hours at :00 :15 :30 :45 local, also over a change of DST), else multiples of UTC. A window is stamped with
// its start. The first window after a start, and one with a gap, is partial: its good share is below 1.
// No window is given out twice, even when the wall clock is set back.
//
// What the folds mean:
//   mean, min, max, sum   over the good samples of all inputs.
//   timeWeightedMean      a value holds until the next sample of its input, at most maxGap; pooled over the inputs.
//   integral              trapezoids between good samples at most maxGap apart, in value x hours, summed over the
//                         inputs. Longer gaps add nothing. A trapezoid over a border is cut at the border. At the end
//                         of a window, where the next sample is not known yet, the last good value holds.
#pragma once

#include "core/design/design.h"
#include "core/sample.h"

#include <QTimeZone>

#include <unordered_map>
#include <vector>

namespace gridloom {

class FieldReader;

struct WindowResult {
    WallTime start{};
    WallTime end{};
    Value value;                          ///< a double; null when there was no good input
    Quality quality = Quality::BadNoData; ///< Good; UncertainSubNormal when partial or not every sample was good
    std::uint64_t count = 0;              ///< samples that were used
    std::uint64_t offered = 0;            ///< samples that came, bad ones included
    double coverage = 0.0;                ///< share of the window's time under a good value, mean over the inputs, 0..1
    bool isPartial = false;               ///< opened after its start, or coverage below 1 by a gap
};

class TumblingWindow {
public:
    /// `aggregation` outlives the window. `design` is asked for the periods of the inputs: three of them are the
    /// longest gap when the aggregation's maxGap is 0.
    TumblingWindow(const Aggregation &aggregation, const QTimeZone &zone, const Design &design);

    /// A sample of one of the inputs, in order of time per point; of other points it takes no notice. Bad, stale
    /// (UncertainLastUsable) and non-finite values are counted as offered and not used. A sample after the window's
    /// end waits for close(), so adding a whole batch first and closing then loses nothing; one before the window's
    /// start comes too late to be counted and only says which value holds. Does not allocate in steady state.
    void add(const Sample &sample);
    /// The results of every window that ended by `now`, oldest first; windows without samples and without a value that
    /// holds over them are skipped. Opens the window that contains `now`. When the wall clock was set back: times whose
    /// window was given out already are waited for; otherwise the open window ends early, partial.
    std::vector<WindowResult> close(WallTime now);
    /// When close() has something to do: the end of the open window, or a time in the past after the wall clock was
    /// set back. Nothing before the first call of close().
    std::optional<WallTime> nextClose() const;
    /// The result as it would be if the window ended at `now`: for a live view of a running window.
    WindowResult preview(WallTime now) const;

    /// Appends what restore() needs to go on with the open window after a restart; nothing before the first close().
    /// Samples that wait for the next window are not in it.
    void save(QByteArray &out) const;
    /// In place of the first close(): goes on with the window that save() wrote, when it is of the same definition
    /// (fold, size, zone, inputs by their stable ids, longest gaps); else nothing changes and the answer is false.
    /// The time in between counts as any other time without samples. A window that has ended by `now` is left
    /// for close(), unless `isGivenOut`: then its result was given out already, and the window of `now` begins.
    bool restore(QByteArrayView state, WallTime now, bool isGivenOut);

    /// Start of the window of `size` that contains `t`. Local windows are the longest spans in which the local time of
    /// day stays within one multiple of the size; local time that repeats (end of DST) makes windows of its own when
    /// the size divides the shift (25 hours a day, 100 quarter-hours), else it makes one window longer.
    static WallTime windowStart(WallTime t, Milliseconds size, const QTimeZone &zone);
    /// End of the window that starts at `start`.
    static WallTime windowEnd(WallTime start, Milliseconds size, const QTimeZone &zone);

private:
    using Microseconds = std::chrono::microseconds;
    struct Input {
        Microseconds maxGap{0};
        bool hasLast = false;  ///< a good value holds since lastTime
        bool isBroken = false; ///< Integral: a bad sample came after it
        double last = 0.0;
        WallTime lastTime{};
        double area = 0.0;         ///< value x seconds
        Microseconds covered{0};   ///< of the window
        std::uint32_t waiting = 0; ///< its samples in m_waiting
    };
    struct Span {
        WallTime from, to;
    };
    void take(Input &input, const Sample &sample);
    void count(double value, Quality quality);
    /// The part of the window up to `until` in which the input's last value holds.
    Span heldSpan(const Input &input, WallTime until) const;
    void extendTo(Input &input, double value, WallTime t);
    bool hasCoverage() const;
    WallTime nextOfInterest(WallTime now) const;
    void takeWaiting();
    void dropWaiting();
    WindowResult result(WallTime until, WallTime end) const;
    Value foldedValue(double area, Microseconds covered) const;
    void open(WallTime start, WallTime openedAt);
    WallTime firstFree(WallTime now) const;
    void rememberGivenOut();
    bool readOpenWindow(FieldReader &r);
    bool readInputs(FieldReader &r);

    const Aggregation &m_aggregation;
    QTimeZone m_zone;
    std::uint64_t m_definition; ///< fingerprint of what a saved state must agree with
    std::vector<Input> m_inputs;
    std::unordered_map<PointHandle, std::size_t> m_inputOf;
    std::vector<Sample> m_waiting;   ///< after the open window's end
    std::vector<Span> m_givenOut;    ///< times whose windows are over, in order of giving out; one without clock steps
    std::optional<WallTime> m_start; ///< of the open window
    WallTime m_end{};
    WallTime m_openedAt{};
    WallTime m_latest{};                 ///< newest sample of the open window
    std::optional<WallTime> m_setBackTo; ///< a sample came from long before the window: the clock may have been moved
    double m_sum = 0.0, m_min = 0.0, m_max = 0.0;
    std::uint64_t m_count = 0, m_offered = 0;
    Quality m_worst = Quality::Good;
};

} // namespace gridloom
