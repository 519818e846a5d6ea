// SPDX-License-Identifier: Apache-2.0
#include "core/history/rollup.h"

#include "core/history/columns.h"
#include "core/history/rowblock.h"
#include "core/window/tumblingwindow.h"

#include <algorithm>
#include <array>
#include <bit>

namespace gridloom {

namespace {
constexpr std::uint8_t kBucketsKind = 2;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kDayMs = 1'440 * kMinuteMs;
constexpr std::array<std::int64_t, kRollupSteps> kStepMs{kMinuteMs, 15 * kMinuteMs, 60 * kMinuteMs, kDayMs};
// Where a calendar can still be asked (years 1 to 9999); beyond it days are those of UTC.
constexpr std::int64_t kFirstCalendarMs = -62'135'596'800'000;
constexpr std::int64_t kLastCalendarMs = 253'402'300'800'000;

std::int64_t floorTo(std::int64_t t, std::int64_t step)
{
    const std::int64_t rest = t % step;
    const std::int64_t back = rest < 0 ? rest + step : rest;
    return t < std::numeric_limits<std::int64_t>::min() + back ? std::numeric_limits<std::int64_t>::min() : t - back;
}

std::int64_t millisecondsOf(WallTime t)
{
    return std::chrono::floor<std::chrono::milliseconds>(t).time_since_epoch().count();
}

using Field = std::uint64_t (*)(const HistoryBucket &);
std::uint64_t distance(std::int64_t from, std::int64_t to)
{
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}
constexpr std::array<Field, 5> kIntegers{
    [](const HistoryBucket &b) { return static_cast<std::uint64_t>(b.startMs); },
    [](const HistoryBucket &b) { return distance(b.startMs, b.endMs); },
    [](const HistoryBucket &b) { return b.count; },
    [](const HistoryBucket &b) { return b.good; },
    [](const HistoryBucket &b) { return b.numbers; },
};
// Of buckets with a number.
constexpr std::array<Field, 2> kTimes{
    [](const HistoryBucket &b) { return distance(b.startMs, b.firstMs); },
    [](const HistoryBucket &b) { return distance(b.firstMs, b.lastMs); },
};
constexpr std::array<double HistoryBucket::*, 5> kDoubles{&HistoryBucket::min, &HistoryBucket::max, &HistoryBucket::sum,
                                                          &HistoryBucket::first, &HistoryBucket::last};
} // namespace

RollupBorders::Span RollupBorders::at(std::int64_t timeMs)
{
    if (timeMs >= m_last.startMs && timeMs < m_last.endMs)
        return m_last;
    const std::int64_t step = kStepMs[static_cast<std::size_t>(m_step)];
    if (m_step == RollupStep::Day && timeMs > kFirstCalendarMs && timeMs < kLastCalendarMs) {
        const WallTime start =
            TumblingWindow::windowStart(WallTime(std::chrono::milliseconds(timeMs)), Milliseconds(kDayMs), m_zone);
        m_last = {millisecondsOf(start),
                  millisecondsOf(TumblingWindow::windowEnd(start, Milliseconds(kDayMs), m_zone))};
    } else {
        const std::int64_t start = floorTo(timeMs, step);
        const std::int64_t most = std::numeric_limits<std::int64_t>::max();
        m_last = {start, start > most - step ? most : start + step};
    }
    return m_last;
}

void addBucket(const HistoryBucket &other, std::vector<HistoryBucket> &buckets)
{
    auto at = buckets.end();
    if (!buckets.empty() && buckets.back().startMs >= other.startMs)
        at = std::lower_bound(buckets.begin(), buckets.end(), other.startMs,
                              [](const HistoryBucket &b, std::int64_t start) { return b.startMs < start; });
    if (at == buckets.end() || at->startMs != other.startMs)
        buckets.insert(at, other);
    else
        at->merge(other);
}

void addRows(std::span<const SegmentRow> rows, RollupBorders &borders, std::vector<HistoryBucket> &buckets)
{
    HistoryBucket open;
    for (const SegmentRow &row : rows) {
        const auto span = borders.at(row.timeMs);
        if (open.count > 0 && open.startMs != span.startMs) {
            addBucket(open, buckets);
            open = {};
        }
        open.startMs = span.startMs;
        open.endMs = span.endMs;
        open.add(row.timeMs, row.quality, row.value);
    }
    if (open.count > 0)
        addBucket(open, buckets);
}

QByteArray packBuckets(std::span<const HistoryBucket> buckets)
{
    QByteArray out;
    beginBlock(out, kBucketsKind, buckets.size());
    std::vector<std::uint64_t> column;
    const auto fill = [&](const auto &field, bool isOfNumbers) {
        column.clear();
        for (const HistoryBucket &b : buckets) {
            if (!isOfNumbers || b.numbers > 0)
                column.push_back(field(b));
        }
    };
    for (const Field field : kIntegers) {
        fill(field, false);
        packIntegers(column, out);
    }
    for (const Field field : kTimes) {
        fill(field, true);
        packIntegers(column, out);
    }
    for (const auto member : kDoubles) {
        fill([member](const HistoryBucket &b) { return std::bit_cast<std::uint64_t>(b.*member); }, true);
        packDoubles(column, out);
    }
    endBlock(out);
    return out;
}

bool unpackBuckets(QByteArrayView block, std::vector<HistoryBucket> &buckets)
{
    std::size_t count = 0;
    FieldReader in = openBlock(block, kBucketsKind, count);
    if (!in.isOk())
        return false;
    std::array<std::vector<std::uint64_t>, kIntegers.size()> whole; // start, length, count, good, numbers
    for (auto &column : whole) {
        if (!unpackIntegers(in, count, column))
            return false;
    }
    const auto withNumbers =
        static_cast<std::size_t>(std::count_if(whole[4].begin(), whole[4].end(), [](auto n) { return n > 0; }));
    std::array<std::vector<std::uint64_t>, kTimes.size()> times;
    std::array<std::vector<std::uint64_t>, kDoubles.size()> doubles;
    for (auto &column : times) {
        if (!unpackIntegers(in, withNumbers, column))
            return false;
    }
    for (auto &column : doubles) {
        if (!unpackDoubles(in, withNumbers, column))
            return false;
    }
    if (!in.isOk() || !in.atEnd())
        return false;
    std::size_t n = 0;
    for (std::size_t i = 0; i < count; ++i) {
        HistoryBucket &b = buckets.emplace_back();
        b.startMs = static_cast<std::int64_t>(whole[0][i]);
        b.endMs = static_cast<std::int64_t>(whole[0][i] + whole[1][i]);
        b.count = whole[2][i];
        b.good = whole[3][i];
        b.numbers = whole[4][i];
        if (b.numbers == 0)
            continue;
        b.firstMs = static_cast<std::int64_t>(whole[0][i] + times[0][n]);
        b.lastMs = static_cast<std::int64_t>(whole[0][i] + times[0][n] + times[1][n]);
        for (std::size_t d = 0; d < kDoubles.size(); ++d)
            b.*kDoubles[d] = std::bit_cast<double>(doubles[d][n]);
        ++n;
    }
    return true;
}

} // namespace gridloom
