// SPDX-License-Identifier: Apache-2.0
#include "core/histogram.h"

#include "core/json.h"

#include <bit>
#include <cmath>

namespace gridloom {

// Bucket b covers ns in [2^k (1 + i/32), 2^k (1 + (i+1)/32)) with k = 10 + b/32, i = b%32; below 1,024 ns is bucket 0.
int Histogram::bucketOf(std::uint64_t ns)
{
    if (ns < 1024)
        return 0;
    const int octave = std::bit_width(ns) - 1;
    const int step = static_cast<int>((ns >> (octave - 5)) & 31);
    const int bucket = (octave - 10) * kPerOctave + step;
    return bucket < kPerOctave * kOctaves ? bucket : kPerOctave * kOctaves - 1;
}

double Histogram::upperEdgeNs(int bucket)
{
    return std::ldexp(1.0 + (bucket % kPerOctave + 1) / static_cast<double>(kPerOctave), 10 + bucket / kPerOctave);
}

void Histogram::add(std::chrono::nanoseconds duration)
{
    const std::uint64_t ns = duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
    ++m_buckets[static_cast<std::size_t>(bucketOf(ns))];
    ++m_count;
    m_sumNs += ns;
    if (ns > m_maxNs)
        m_maxNs = ns;
}

void Histogram::add(const Histogram &other)
{
    for (std::size_t i = 0; i < m_buckets.size(); ++i)
        m_buckets[i] += other.m_buckets[i];
    m_count += other.m_count;
    m_sumNs += other.m_sumNs;
    m_maxNs = std::max(m_maxNs, other.m_maxNs);
}

Histogram Histogram::since(const Histogram &earlier) const
{
    Histogram d;
    int highest = -1;
    for (std::size_t i = 0; i < m_buckets.size(); ++i) {
        d.m_buckets[i] = m_buckets[i] - earlier.m_buckets[i];
        if (d.m_buckets[i] > 0)
            highest = static_cast<int>(i);
    }
    d.m_count = m_count - earlier.m_count;
    d.m_sumNs = m_sumNs - earlier.m_sumNs;
    if (highest >= 0) {
        const auto edge = static_cast<std::uint64_t>(upperEdgeNs(highest));
        d.m_maxNs = bucketOf(m_maxNs) == highest ? m_maxNs : edge;
    }
    return d;
}

double Histogram::averageMs() const
{
    return m_count ? static_cast<double>(m_sumNs) / static_cast<double>(m_count) * 1e-6 : 0.0;
}

double Histogram::percentileMs(double p) const
{
    if (m_count == 0)
        return 0.0;
    const double exact = std::ceil(p / 100.0 * static_cast<double>(m_count));
    const std::uint64_t rank = exact < 1 ? 1 : static_cast<std::uint64_t>(exact);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < m_buckets.size(); ++i) {
        seen += m_buckets[i];
        if (seen >= rank)
            return std::min(upperEdgeNs(static_cast<int>(i)) * 1e-6, maxMs());
    }
    return maxMs();
}

void Histogram::writeSummary(JsonWriter &w) const
{
    w.beginObject().key("n").unsignedInteger(m_count).key("avg").rounded(averageMs(), 4);
    w.key("p50").rounded(percentileMs(50), 4).key("p95").rounded(percentileMs(95), 4);
    w.key("p99").rounded(percentileMs(99), 4).key("max").rounded(maxMs(), 4).endObject();
}

void Histogram::writeState(JsonWriter &w) const
{
    w.beginObject().key("sumNs").unsignedInteger(m_sumNs).key("maxNs").unsignedInteger(m_maxNs);
    w.key("buckets").beginObject();
    for (std::size_t i = 0; i < m_buckets.size(); ++i)
        if (m_buckets[i] > 0)
            w.key(std::to_string(i)).unsignedInteger(m_buckets[i]);
    w.endObject().endObject();
}

Histogram Histogram::fromState(const QJsonObject &state)
{
    Histogram h;
    h.m_sumNs = static_cast<std::uint64_t>(state[QLatin1String("sumNs")].toInteger());
    h.m_maxNs = static_cast<std::uint64_t>(state[QLatin1String("maxNs")].toInteger());
    const QJsonObject buckets = state[QLatin1String("buckets")].toObject();
    for (auto it = buckets.begin(); it != buckets.end(); ++it) {
        bool isNumber = false;
        const std::size_t i = it.key().toUInt(&isNumber);
        if (!isNumber || i >= h.m_buckets.size())
            continue;
        h.m_buckets[i] = static_cast<std::uint32_t>(it.value().toInteger());
        h.m_count += h.m_buckets[i];
    }
    return h;
}

} // namespace gridloom
