// SPDX-License-Identifier: Apache-2.0
#include "core/value.h"

#include "core/json.h"

#include <bit>
#include <cmath>
#include <limits>

namespace gridloom {

namespace {
constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

int sign(auto a, auto b)
{
    return a < b ? -1 : a > b ? 1 : 0;
}

// Exact comparison of an integer of magnitude below 2^64 with a double.
template<typename Int>
std::optional<int> compareWithDouble(Int i, double d)
{
    if (std::isnan(d))
        return std::nullopt;
    if (d >= (std::is_signed_v<Int> ? kTwo63 : kTwo64))
        return -1;
    if (d < (std::is_signed_v<Int> ? -kTwo63 : 0.0))
        return 1;
    const double whole = std::floor(d);
    const Int asInt = static_cast<Int>(whole);
    if (i != asInt)
        return sign(i, asInt);
    return d > whole ? -1 : 0;
}
} // namespace

std::optional<double> Value::toDouble() const
{
    switch (type()) {
    case ValueType::Bool: return boolean() ? 1.0 : 0.0;
    case ValueType::Int64: return static_cast<double>(int64());
    case ValueType::UInt64: return static_cast<double>(uint64());
    case ValueType::Double: return real();
    case ValueType::Null:
    case ValueType::Text: break;
    }
    return std::nullopt;
}

std::optional<std::int64_t> Value::toInt64() const
{
    switch (type()) {
    case ValueType::Bool: return boolean() ? 1 : 0;
    case ValueType::Int64: return int64();
    case ValueType::UInt64:
        if (uint64() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return static_cast<std::int64_t>(uint64());
        return std::nullopt;
    case ValueType::Double:
        if (real() >= -kTwo63 && real() < kTwo63 && real() == std::floor(real()))
            return static_cast<std::int64_t>(real());
        return std::nullopt;
    case ValueType::Null:
    case ValueType::Text: break;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Value::toUInt64() const
{
    if (type() == ValueType::UInt64)
        return uint64();
    if (type() == ValueType::Double) {
        if (real() >= 0 && real() < kTwo64 && real() == std::floor(real()))
            return static_cast<std::uint64_t>(real());
        return std::nullopt;
    }
    const auto i = toInt64();
    if (i && *i >= 0)
        return static_cast<std::uint64_t>(*i);
    return std::nullopt;
}

std::uint64_t Value::bits() const
{
    switch (type()) {
    case ValueType::Bool: return boolean() ? 1 : 0;
    case ValueType::Int64: return static_cast<std::uint64_t>(int64());
    case ValueType::UInt64: return uint64();
    case ValueType::Double: return std::bit_cast<std::uint64_t>(real());
    case ValueType::Null:
    case ValueType::Text: break;
    }
    return 0;
}

Value Value::fromBits(ValueType type, std::uint64_t bits)
{
    switch (type) {
    case ValueType::Bool: return Value(bits != 0);
    case ValueType::Int64: return Value(static_cast<std::int64_t>(bits));
    case ValueType::UInt64: return Value(bits);
    case ValueType::Double: return Value(std::bit_cast<double>(bits));
    case ValueType::Null:
    case ValueType::Text: break;
    }
    return {};
}

QByteArray Value::toText() const
{
    if (type() == ValueType::Text)
        return text();
    JsonWriter w;
    w.value(*this);
    return w.take();
}

bool operator==(const Value &a, const Value &b)
{
    if (a.type() != b.type())
        return false;
    switch (a.type()) {
    case ValueType::Null: return true;
    case ValueType::Text: return a.text() == b.text();
    case ValueType::Double: return a.real() == b.real() || (std::isnan(a.real()) && std::isnan(b.real()));
    default: return a.bits() == b.bits();
    }
}

std::optional<int> compareNumbers(const Value &a, const Value &b)
{
    if (!a.isNumber() || !b.isNumber())
        return std::nullopt;
    const bool aReal = a.type() == ValueType::Double;
    const bool bReal = b.type() == ValueType::Double;
    if (aReal && bReal) {
        if (std::isnan(a.real()) || std::isnan(b.real()))
            return std::nullopt;
        return sign(a.real(), b.real());
    }
    if (aReal) {
        const auto reversed = compareNumbers(b, a);
        return reversed ? std::optional<int>(-*reversed) : std::nullopt;
    }
    if (bReal)
        return a.type() == ValueType::UInt64 ? compareWithDouble(a.uint64(), b.real())
                                             : compareWithDouble(*a.toInt64(), b.real());
    const auto ai = a.toInt64();
    const auto bi = b.toInt64();
    if (ai && bi)
        return sign(*ai, *bi);
    if (!ai && !bi)
        return sign(a.uint64(), b.uint64());
    return ai ? -1 : 1; // the one that is no int64 is above 2^63
}

} // namespace gridloom
