// SPDX-License-Identifier: Apache-2.0
// Histogram: latencies in fixed memory. Logarithmic buckets, 32 to an octave, so a percentile is at most 3.2 % too
// high and never too low; average and maximum are exact. Two can be subtracted or added, bucket by bucket.
#pragma once

#include <QJsonObject>

#include <array>
#include <chrono>
#include <cstdint>

namespace gridloom {

class JsonWriter;

class Histogram {
public:
    /// Negative durations count as 0; above 2^40 us (12 days) as the last bucket.
    void add(std::chrono::nanoseconds duration);
    void add(const Histogram &other);
    /// What came in since `earlier`, an older state of this histogram. The maximum is that of the highest bucket
    /// that grew, so it is exact only when the overall maximum lies in the difference.
    Histogram since(const Histogram &earlier) const;

    std::uint64_t count() const { return m_count; }
    double averageMs() const;
    double maxMs() const { return static_cast<double>(m_maxNs) * 1e-6; }
    /// Nearest-rank percentile in ms, `p` in 0..100: the upper edge of the bucket that holds it, never above the
    /// maximum; 0 when empty.
    double percentileMs(double p) const;

    /// {"n":..,"avg":..,"p50":..,"p95":..,"p99":..,"max":..} in ms.
    void writeSummary(JsonWriter &w) const;
    /// The state for another process: {"sumNs":..,"maxNs":..,"buckets":{"index":count,..}}.
    void writeState(JsonWriter &w) const;
    static Histogram fromState(const QJsonObject &state);

private:
    static constexpr int kPerOctave = 32;
    static constexpr int kOctaves = 41;
    static int bucketOf(std::uint64_t ns);
    static double upperEdgeNs(int bucket);

    std::array<std::uint32_t, kPerOctave * kOctaves> m_buckets{};
    std::uint64_t m_count = 0;
    std::uint64_t m_sumNs = 0;
    std::uint64_t m_maxNs = 0;
};

} // namespace gridloom
