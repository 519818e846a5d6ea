// SPDX-License-Identifier: Apache-2.0
#include "core/storage/storagefilter.h"

#include <algorithm>
#include <cmath>

namespace gridloom {

namespace {

/// Whether two different numbers are more than the deadband apart. Integers keep every digit.
bool isBeyond(const Value &a, const Value &b, double deadband)
{
    const auto aSigned = a.toInt64();
    const auto bSigned = b.toInt64();
    if (aSigned && bSigned) {
        const auto [low, high] = std::minmax(*aSigned, *bSigned);
        return static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)) > deadband;
    }
    const auto aUnsigned = a.toUInt64();
    const auto bUnsigned = b.toUInt64();
    if (aUnsigned && bUnsigned) {
        const auto [low, high] = std::minmax(*aUnsigned, *bUnsigned);
        return static_cast<double>(high - low) > deadband;
    }
    const double x = *a.toDouble();
    const double y = *b.toDouble();
    // 20.1 - 20.0 is a little more than 0.1 in binary: a step of exactly the deadband is not beyond it.
    const double roundingNoise = 1e-12 * std::max(std::abs(x), std::abs(y));
    return std::abs(x - y) - deadband > roundingNoise;
}

bool hasChanged(const Value &now, const Value &before, double deadband)
{
    const bool isMeasure =
        now.isNumber() && before.isNumber() && now.type() != ValueType::Bool && before.type() != ValueType::Bool;
    if (!isMeasure)
        return !(now == before);
    const auto order = compareNumbers(now, before);
    if (!order)
        return !(now == before); // one of them is NaN
    return *order != 0 && isBeyond(now, before, deadband);
}

} // namespace

bool StorageFilter::accept(const Sample &sample)
{
    switch (m_policy.mode) {
    case StoragePolicy::Mode::None: return false;
    case StoragePolicy::Mode::RealTime: return true;
    case StoragePolicy::Mode::OnChange: break;
    }
    if (m_hasRow && !isWorthARow(sample))
        return false;
    m_lastValue = sample.value;
    m_lastQuality = sample.quality;
    m_lastRow = m_hasRow ? std::max(m_lastRow, sample.gatewayTime) : sample.gatewayTime;
    m_hasRow = true;
    return true;
}

bool StorageFilter::acceptLast(const Sample &sample)
{
    if (!heartbeatDue() || sample.gatewayTime <= m_lastRow)
        return false;
    m_lastRow = sample.gatewayTime;
    return true;
}

bool StorageFilter::isWorthARow(const Sample &sample) const
{
    return sample.quality != m_lastQuality || hasChanged(sample.value, m_lastValue, m_policy.deadband)
        || (hasHeartbeat() && sample.gatewayTime - m_lastRow >= m_policy.maxInterval);
}

std::optional<SteadyTime> StorageFilter::heartbeatDue() const
{
    if (!m_hasRow || !hasHeartbeat())
        return std::nullopt;
    return m_lastRow + m_policy.maxInterval;
}

} // namespace gridloom
