// SPDX-License-Identifier: Apache-2.0
// What the tests of TumblingWindow share: an aggregation over points with a period of 1 s, and samples for it.
#pragma once

#include "core/window/tumblingwindow.h"

#include <chrono>

namespace gridloom::windowtest {

inline constexpr WallTime kNoon{std::chrono::seconds(1'785'585'600)}; // 2026-08-01T12:00:00Z

/// A design of points with a period of 1 s, as far as a window looks at it.
struct Fixture {
    explicit Fixture(FoldKind fold, Milliseconds window, int inputs = 1)
    {
        point.period = std::chrono::seconds(1);
        for (int i = 0; i < inputs; ++i) {
            PointRef ref;
            ref.handle = static_cast<PointHandle>(10 + i);
            ref.point = &point;
            aggregation.inputs.append(ref.handle);
        }
        design.points.resize(10 + inputs);
        for (PointRef &ref : design.points)
            ref.point = &point;
        aggregation.fold = fold;
        aggregation.window = window;
    }
    TumblingWindow window() const { return {aggregation, QTimeZone::utc(), design}; }

    Design design;
    Point point;
    Aggregation aggregation;
};

inline Sample sampleOf(WallTime t, double value, Quality quality = Quality::Good, PointHandle point = 10)
{
    Sample s;
    s.point = point;
    s.quality = quality;
    s.value = isBad(quality) ? Value() : Value(value);
    s.sourceTime = t;
    return s;
}

/// A sample every second with the value at(second of the run).
template<typename At>
std::vector<WindowResult> run(TumblingWindow &window, WallTime from, std::chrono::seconds duration, At at)
{
    std::vector<WindowResult> results;
    for (std::chrono::seconds s{0}; s <= duration; ++s) {
        for (auto &r : window.close(from + s))
            results.push_back(std::move(r));
        window.add(sampleOf(from + s, at(s.count())));
    }
    return results;
}

} // namespace gridloom::windowtest
