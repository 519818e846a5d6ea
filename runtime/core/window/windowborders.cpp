// SPDX-License-Identifier: Apache-2.0
// Where the windows of a TumblingWindow begin and end.
#include "core/window/tumblingwindow.h"

#include <QDateTime>

namespace gridloom {

namespace {

using Micros = std::int64_t;
constexpr Micros kDay = 86'400'000'000;

Micros floorTo(Micros t, Micros step)
{
    const Micros rest = t % step;
    return t - (rest < 0 ? rest + step : rest);
}

Micros microsOf(WallTime t)
{
    return t.time_since_epoch().count();
}

WallTime wallOf(Micros t)
{
    return WallTime(std::chrono::microseconds(t));
}

QDateTime utc(Micros t)
{
    return QDateTime::fromMSecsSinceEpoch(floorTo(t, 1000) / 1000, Qt::UTC);
}

Micros offsetAt(Micros t, const QTimeZone &zone)
{
    return Micros{zone.offsetFromUtc(utc(t))} * 1'000'000;
}

/// The latest change of the offset at or before t.
std::optional<Micros> transitionUpTo(Micros t, const QTimeZone &zone)
{
    if (!zone.hasTransitions())
        return std::nullopt;
    const auto found = zone.previousTransition(utc(t).addMSecs(1));
    if (!found.atUtc.isValid())
        return std::nullopt;
    return found.atUtc.toMSecsSinceEpoch() * 1000;
}

/// The first change of the offset after t.
std::optional<Micros> transitionAfter(Micros t, const QTimeZone &zone)
{
    if (!zone.hasTransitions())
        return std::nullopt;
    const auto found = zone.nextTransition(utc(t));
    if (!found.atUtc.isValid())
        return std::nullopt;
    return found.atUtc.toMSecsSinceEpoch() * 1000;
}

/// Whether a window ends where the offset changes.
bool isBorder(Micros transition, Micros size, const QTimeZone &zone)
{
    const Micros before = offsetAt(transition - 1, zone);
    const Micros after = offsetAt(transition, zone);
    if (before == after)
        return false; // only the name of the zone changed
    return (after - before) % size == 0 || floorTo(transition - 1 + before, size) != floorTo(transition + after, size);
}

bool isLocal(Micros size)
{
    return kDay % size == 0;
}

} // namespace

WallTime TumblingWindow::windowStart(WallTime time, Milliseconds windowSize, const QTimeZone &zone)
{
    const Micros size = std::chrono::microseconds(windowSize).count();
    Micros t = microsOf(time);
    if (!isLocal(size))
        return wallOf(floorTo(t, size));
    for (;;) {
        const Micros offset = offsetAt(t, zone);
        const Micros regular = floorTo(t + offset, size) - offset;
        const auto transition = transitionUpTo(t, zone);
        if (!transition || *transition < regular)
            return wallOf(regular);
        if (isBorder(*transition, size, zone))
            return wallOf(*transition);
        t = *transition - 1; // the same window reaches over the change
    }
}

WallTime TumblingWindow::windowEnd(WallTime start, Milliseconds windowSize, const QTimeZone &zone)
{
    const Micros size = std::chrono::microseconds(windowSize).count();
    Micros t = microsOf(start);
    if (!isLocal(size))
        return wallOf(floorTo(t, size) + size);
    for (;;) {
        const Micros offset = offsetAt(t, zone);
        const Micros regular = floorTo(t + offset, size) + size - offset;
        const auto transition = transitionAfter(t, zone);
        if (!transition || *transition > regular)
            return wallOf(regular);
        if (isBorder(*transition, size, zone))
            return wallOf(*transition);
        t = *transition;
    }
}

} // namespace gridloom
