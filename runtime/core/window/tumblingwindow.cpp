// SPDX-License-Identifier: Apache-2.0
#include "core/window/tumblingwindow.h"

#include <QCryptographicHash>
#include <QtEndian>

#include <algorithm>
#include <cmath>

namespace gridloom {

namespace {

/// Of samples after the window's end, per input: far more than come between the end and close().
constexpr std::uint32_t kMaxWaiting = 16;
/// Spans without a step of the wall clock that are remembered.
constexpr std::size_t kMaxSpans = 64;

/// The longest time between two good samples of an input that counts as no gap.
std::chrono::microseconds maxGapOf(const Aggregation &aggregation, PointHandle input, const Design &design)
{
    if (aggregation.maxGap.count() > 0)
        return aggregation.maxGap;
    Milliseconds period{0};
    if (input < static_cast<PointHandle>(design.points.size())) {
        const PointRef &ref = design.points[static_cast<qsizetype>(input)];
        period = ref.point ? ref.point->period : ref.aggregation ? ref.aggregation->window : Milliseconds{0};
    }
    return 3 * (period.count() > 0 ? period : aggregation.window);
}

/// The first bytes of a hash over everything that gives a saved state its meaning.
std::uint64_t definitionOf(const Aggregation &aggregation, const QTimeZone &zone, const Design &design)
{
    QCryptographicHash hash(QCryptographicHash::Sha256);
    const auto add = [&hash](const QByteArray &part) { hash.addData(part + '\n'); };
    add(QByteArray::number(static_cast<int>(aggregation.fold)));
    add(QByteArray::number(qlonglong{aggregation.window.count()}));
    add(zone.id());
    for (const PointHandle input : aggregation.inputs) {
        if (input < static_cast<PointHandle>(design.points.size()))
            add(design.points[static_cast<qsizetype>(input)].id.toUtf8());
        add(QByteArray::number(qlonglong{maxGapOf(aggregation, input, design).count()}));
    }
    return qFromLittleEndian<std::uint64_t>(hash.result().constData());
}

bool isOverTime(FoldKind fold)
{
    return fold == FoldKind::TimeWeightedMean || fold == FoldKind::Integral;
}

double seconds(std::chrono::microseconds d)
{
    return static_cast<double>(d.count()) * 1e-6;
}

/// The number to use; nothing for a sample that is bad, stale or not finite.
std::optional<double> usableNumber(const Sample &sample)
{
    if (isBad(sample.quality) || sample.quality == Quality::UncertainLastUsable)
        return std::nullopt;
    const auto number = sample.value.toDouble();
    return number && std::isfinite(*number) ? number : std::nullopt;
}

} // namespace

TumblingWindow::TumblingWindow(const Aggregation &aggregation, const QTimeZone &zone, const Design &design)
    : m_aggregation(aggregation), m_zone(zone)
{
    for (const PointHandle point : aggregation.inputs) {
        if (!m_inputOf.try_emplace(point, m_inputs.size()).second)
            continue;
        m_inputs.emplace_back().maxGap = maxGapOf(aggregation, point, design);
    }
    m_waiting.reserve(2 * m_inputs.size());
    m_definition = definitionOf(aggregation, zone, design);
}

void TumblingWindow::add(const Sample &sample)
{
    const auto found = m_inputOf.find(sample.point);
    if (found == m_inputOf.end())
        return;
    Input &input = m_inputs[found->second];
    if (m_start && sample.sourceTime < m_end) {
        take(input, sample);
    } else if (input.waiting < kMaxWaiting) {
        m_waiting.push_back(sample);
        ++input.waiting;
    } else {
        ++m_offered; // a source whose clock is ahead: its samples would wait without end
    }
}

void TumblingWindow::take(Input &input, const Sample &sample)
{
    const WallTime t = sample.sourceTime;
    const bool isLate = t < *m_start;
    if (!isLate) {
        ++m_offered;
        m_latest = std::max(m_latest, t);
    } else if (*m_start - t > m_end - *m_start && firstFree(t) < *m_start) {
        m_setBackTo = t;
    }
    if (const auto value = usableNumber(sample)) {
        if (!isLate)
            count(*value, sample.quality);
        extendTo(input, *value, t);
        // After a step back of the clock, time that is covered already is not covered again.
        input.lastTime = input.hasLast ? std::max(input.lastTime, t) : t;
        input.last = *value;
        input.hasLast = true;
        input.isBroken = false;
    } else if (sample.quality == Quality::UncertainLastUsable) {
        return; // nothing new: what holds goes on holding, at most maxGap
    } else if (m_aggregation.fold == FoldKind::Integral) {
        input.isBroken = true; // the next good sample may still bridge the gap
    } else {
        extendTo(input, input.last, t);
        input.hasLast = false;
    }
}

void TumblingWindow::count(double value, Quality quality)
{
    m_sum += value;
    m_min = m_count == 0 ? value : std::min(m_min, value);
    m_max = m_count == 0 ? value : std::max(m_max, value);
    m_worst = worst(m_worst, quality);
    ++m_count;
}

TumblingWindow::Span TumblingWindow::heldSpan(const Input &input, WallTime until) const
{
    const WallTime from = std::max(input.lastTime, *m_start);
    WallTime to = until;
    if (!input.hasLast || input.isBroken)
        to = from;
    else if (until - input.lastTime > input.maxGap)
        to = m_aggregation.fold == FoldKind::Integral ? from : input.lastTime + input.maxGap;
    return {from, std::max(from, to)};
}

/// Adds the time from the input's last value to its next one, `value` at `t`, as far as it lies in the window.
void TumblingWindow::extendTo(Input &input, double value, WallTime t)
{
    if (!input.hasLast || t <= input.lastTime)
        return;
    if (m_aggregation.fold != FoldKind::Integral) {
        const Span held = heldSpan(input, t);
        input.area += input.last * seconds(held.to - held.from);
        input.covered += held.to - held.from;
        return;
    }
    const WallTime from = std::max(input.lastTime, *m_start);
    if (t <= from || t - input.lastTime > input.maxGap)
        return;
    const double slope = (value - input.last) / seconds(t - input.lastTime);
    const double atFrom = input.last + slope * seconds(from - input.lastTime);
    input.area += 0.5 * (atFrom + value) * seconds(t - from);
    input.covered += t - from;
}

std::vector<WindowResult> TumblingWindow::close(WallTime now)
{
    std::vector<WindowResult> results;
    m_setBackTo.reset();
    if (!m_start)
        open(windowStart(now, m_aggregation.window, m_zone), now);
    for (;;) {
        const bool hasEnded = now >= m_end;
        const bool isLeftBehind = now < *m_start && firstFree(now) < *m_start;
        if (!hasEnded && !isLeftBehind)
            return results;
        if (m_offered > 0 || (hasEnded && hasCoverage()))
            results.push_back(result(hasEnded ? m_end : m_latest, m_end));
        rememberGivenOut();
        if (hasEnded) {
            const WallTime next = firstFree(nextOfInterest(now));
            open(next, next);
        } else {
            dropWaiting();
            open(firstFree(now), now);
        }
    }
}

/// Whether the open window has a value although no sample came in it.
bool TumblingWindow::hasCoverage() const
{
    return isOverTime(m_aggregation.fold) && std::any_of(m_inputs.begin(), m_inputs.end(), [this](const Input &input) {
               const Span held = heldSpan(input, m_end);
               return input.covered.count() > 0 || held.to > held.from;
           });
}

/// The earliest time from the window's end to `now` about which there is something to say.
WallTime TumblingWindow::nextOfInterest(WallTime now) const
{
    WallTime next = now;
    for (const Sample &sample : m_waiting)
        next = std::min(next, sample.sourceTime);
    for (const Input &input : m_inputs) {
        if (isOverTime(m_aggregation.fold) && input.hasLast && !input.isBroken && m_end - input.lastTime < input.maxGap)
            next = std::min(next, m_end);
    }
    return next;
}

void TumblingWindow::takeWaiting()
{
    auto kept = m_waiting.begin();
    for (auto sample = m_waiting.begin(); sample != m_waiting.end(); ++sample) {
        if (sample->sourceTime < m_end) {
            Input &input = m_inputs[m_inputOf.find(sample->point)->second];
            --input.waiting;
            take(input, *sample);
        } else if (kept++ != sample) {
            *std::prev(kept) = std::move(*sample);
        }
    }
    m_waiting.erase(kept, m_waiting.end());
}

void TumblingWindow::dropWaiting()
{
    m_waiting.clear();
    for (Input &input : m_inputs)
        input.waiting = 0;
}

void TumblingWindow::open(WallTime start, WallTime openedAt)
{
    m_start = start;
    m_end = windowEnd(start, m_aggregation.window, m_zone);
    m_openedAt = openedAt;
    m_latest = start;
    m_sum = m_min = m_max = 0.0;
    m_count = m_offered = 0;
    m_worst = Quality::Good;
    for (Input &input : m_inputs) {
        input.area = 0.0;
        input.covered = Microseconds{0};
        if (input.lastTime > m_end)
            input.hasLast = false; // of a clock that was set back since
    }
    takeWaiting();
}

/// Start of the first window at or after the one of `now` that was not given out yet.
WallTime TumblingWindow::firstFree(WallTime now) const
{
    WallTime free = now;
    for (bool isMoved = true; isMoved;) {
        isMoved = false;
        for (const Span &span : m_givenOut) {
            if (free >= span.from && free < span.to) {
                free = span.to;
                isMoved = true;
            }
        }
    }
    return free == now ? windowStart(now, m_aggregation.window, m_zone) : free;
}

void TumblingWindow::rememberGivenOut()
{
    for (Span &span : m_givenOut) {
        if (span.to == *m_start) {
            span.to = m_end;
            return;
        }
    }
    if (m_givenOut.size() == kMaxSpans)
        m_givenOut.erase(m_givenOut.begin());
    m_givenOut.push_back({*m_start, m_end});
}

std::optional<WallTime> TumblingWindow::nextClose() const
{
    if (!m_start)
        return std::nullopt;
    return m_setBackTo ? *m_setBackTo : m_end;
}

WindowResult TumblingWindow::preview(WallTime now) const
{
    if (!m_start)
        return {};
    const WallTime until = std::clamp(now, *m_start, m_end);
    return result(until, until);
}

WindowResult TumblingWindow::result(WallTime until, WallTime end) const
{
    WindowResult r;
    r.start = *m_start;
    r.end = end;
    r.count = m_count;
    r.offered = m_offered;
    double area = 0.0;
    Microseconds covered{0};
    for (const Input &input : m_inputs) {
        const Span held = heldSpan(input, until);
        area += input.area + input.last * seconds(held.to - held.from);
        covered += input.covered + (held.to - held.from);
    }
    const Microseconds whole = (end - *m_start) * static_cast<std::int64_t>(m_inputs.size());
    r.coverage = whole.count() > 0 ? static_cast<double>(covered.count()) / static_cast<double>(whole.count()) : 0.0;
    r.isPartial = m_openedAt > *m_start || covered < whole;
    r.value = foldedValue(area, covered);
    if (r.value.isNull())
        r.quality = Quality::BadNoData;
    else if (r.isPartial || m_count < m_offered || !isGood(m_worst))
        r.quality = Quality::UncertainSubNormal;
    else
        r.quality = Quality::Good;
    return r;
}

Value TumblingWindow::foldedValue(double area, Microseconds covered) const
{
    if (isOverTime(m_aggregation.fold) ? covered.count() == 0 : m_count == 0)
        return {};
    double value = 0.0;
    switch (m_aggregation.fold) {
    case FoldKind::Mean: value = m_sum / static_cast<double>(m_count); break;
    case FoldKind::Min: value = m_min; break;
    case FoldKind::Max: value = m_max; break;
    case FoldKind::Sum: value = m_sum; break;
    case FoldKind::TimeWeightedMean: value = area / seconds(covered); break;
    case FoldKind::Integral: value = area / 3600.0; break;
    }
    return std::isfinite(value) ? Value(value) : Value(); // an overflow is not a number to show
}

} // namespace gridloom
