// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/bulklayout.h"

#include "tools/sim/generated.h"

#include <array>
#include <numeric>

namespace gridloom {

namespace {

constexpr int kPoints = 50;
constexpr int kInt16 = 20;
constexpr int kUInt32 = 15;
constexpr std::array kGaps{1, 8, 2, 5, 3, 1};
static_assert(std::accumulate(kGaps.begin(), kGaps.end(), 0) == 20);

template<typename Sequence>
void shuffle(Sequence &items, RandomSequence &random)
{
    for (std::size_t i = items.size() - 1; i > 0; --i)
        std::swap(items[i], items[random.below(i + 1)]);
}

RegisterType typeOf(int kind)
{
    if (kind < kInt16)
        return RegisterType::Int16;
    return kind < kInt16 + kUInt32 ? RegisterType::UInt32 : RegisterType::Float32;
}

} // namespace

QList<BulkPoint> bulkLayout(int device)
{
    RandomSequence random(static_cast<std::uint64_t>(device));
    std::array<int, kPoints> kinds{};
    std::iota(kinds.begin(), kinds.end(), 0);
    shuffle(kinds, random);
    auto gaps = kGaps;
    shuffle(gaps, random);

    // Gaps lie between points, never at an end: both ends of the 100 registers are in use.
    constexpr int kPointsPerGap = kPoints / (int{kGaps.size()} + 1);
    QList<BulkPoint> points;
    int address = 0;
    for (int i = 0; i < kPoints; ++i) {
        if (const int gap = i / kPointsPerGap - 1; i % kPointsPerGap == 0 && gap >= 0 && gap < int{kGaps.size()})
            address += gaps[static_cast<std::size_t>(gap)];
        const int kind = kinds[static_cast<std::size_t>(i)];
        BulkPoint point{QStringLiteral("p%1").arg(i + 1, 2, 10, QLatin1Char('0')), address, {}, kind % 2 == 0};
        point.format.type = typeOf(kind);
        // Every third kind, so that both orders occur among the changing and among the constant points.
        if (point.format.type != RegisterType::Int16 && kind % 3 == 0)
            point.format.order = ByteOrder::WordSwapped;
        if (point.format.type == RegisterType::Int16)
            point.format.scale = 0.1;
        address += registerCount(point.format.type);
        points.append(point);
    }
    return points;
}

} // namespace gridloom
