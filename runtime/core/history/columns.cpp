// SPDX-License-Identifier: Apache-2.0
#include "core/history/columns.h"

#include <QtEndian>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

namespace gridloom {

namespace {
constexpr std::size_t kGroup = 128;
constexpr std::uint8_t kRuns = 0x80; // flag: runs of equal values are one each

// How integers are packed: differences of order 0, 1 or 2; or all are the same.
enum IntegerForm : std::uint8_t { kPlain, kDelta, kDeltaOfDelta, kConstant };
// What the integers behind a column of doubles are.
enum DoubleForm : std::uint8_t { kPatterns, kFloats, kDivided, kMultiplied };

constexpr int kMostDecimals = 6;
constexpr std::array<double, kMostDecimals + 1> kPowers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
constexpr std::array<double, kMostDecimals + 1> kFractions{1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
constexpr std::uint32_t kFloatMagnitude = 0x7FFF'FFFF;
constexpr double kMostScaled = 9e15; // below 2^53: each integer up to here is a double

std::int64_t asSigned(std::uint64_t v)
{
    return static_cast<std::int64_t>(v);
}

unsigned bitWidth(std::uint64_t v)
{
    return static_cast<unsigned>(std::bit_width(v));
}

std::size_t varintSize(std::uint64_t v)
{
    return std::max(1U, (bitWidth(v) + 6) / 7);
}

std::size_t signedVarintSize(std::int64_t v)
{
    return varintSize((static_cast<std::uint64_t>(v) << 1U) ^ static_cast<std::uint64_t>(v >> 63));
}

struct Range {
    std::int64_t least = 0;
    unsigned width = 0; // bits of the largest distance from it
};

Range rangeOf(std::span<const std::uint64_t> group)
{
    std::int64_t least = asSigned(group[0]), most = least;
    for (const std::uint64_t v : group) {
        least = std::min(least, asSigned(v));
        most = std::max(most, asSigned(v));
    }
    return {least, bitWidth(static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least))};
}

std::size_t packedSize(std::span<const std::uint64_t> values)
{
    std::size_t size = 0;
    for (std::size_t at = 0; at < values.size(); at += kGroup) {
        const auto group = values.subspan(at, std::min(kGroup, values.size() - at));
        const Range range = rangeOf(group);
        size += 1 + signedVarintSize(range.least) + (group.size() * range.width + 7) / 8;
    }
    return size;
}

void appendBits(std::span<const std::uint64_t> group, const Range &range, QByteArray &out)
{
    const qsizetype begin = out.size();
    const std::size_t bytes = (group.size() * range.width + 7) / 8;
    out.append(static_cast<qsizetype>(bytes) + 9, '\0'); // each value is written as nine bytes, cut off below
    char *const to = out.data() + begin;
    std::size_t bit = 0;
    for (const std::uint64_t v : group) {
        const std::uint64_t rest = v - static_cast<std::uint64_t>(range.least);
        const unsigned offset = bit % 8;
        char *const at = to + bit / 8;
        qToLittleEndian(qFromLittleEndian<std::uint64_t>(at) | rest << offset, at);
        if (offset + range.width > 64)
            at[8] = static_cast<char>(rest >> (64 - offset));
        bit += range.width;
    }
    out.truncate(begin + static_cast<qsizetype>(bytes));
}

void appendPacked(std::span<const std::uint64_t> values, QByteArray &out)
{
    FrameWriter w(out);
    for (std::size_t at = 0; at < values.size(); at += kGroup) {
        const auto group = values.subspan(at, std::min(kGroup, values.size() - at));
        const Range range = rangeOf(group);
        w.byte(static_cast<std::uint8_t>(range.width));
        w.signedVarint(range.least);
        appendBits(group, range, out);
    }
}

// Up to 64 bits from any bit on; reads no byte beyond `size`.
std::uint64_t bitsAt(const std::uint8_t *from, std::size_t size, std::size_t bit, unsigned width)
{
    const std::size_t byte = bit / 8;
    const unsigned offset = bit % 8;
    std::uint64_t low = 0;
    if (byte + 8 <= size) {
        low = qFromLittleEndian<std::uint64_t>(from + byte);
    } else {
        for (std::size_t i = byte; i < size; ++i)
            low |= std::uint64_t{from[i]} << (8 * (i - byte));
    }
    low >>= offset;
    if (offset + width > 64)
        low |= std::uint64_t{from[byte + 8]} << (64 - offset);
    return width == 64 ? low : low & ((std::uint64_t{1} << width) - 1);
}

bool readPacked(FieldReader &in, std::span<std::uint64_t> values)
{
    for (std::size_t at = 0; at < values.size(); at += kGroup) {
        const auto group = values.subspan(at, std::min(kGroup, values.size() - at));
        const unsigned width = in.byte();
        const auto least = static_cast<std::uint64_t>(in.signedVarint());
        if (width > 64 || !in.isOk())
            return false;
        const std::size_t bytes = (group.size() * width + 7) / 8;
        const QByteArrayView packed = in.raw(bytes);
        if (!in.isOk())
            return false;
        const auto *const from = reinterpret_cast<const std::uint8_t *>(packed.data());
        std::size_t bit = 0;
        for (std::uint64_t &v : group) {
            v = least + (width == 0 ? 0 : bitsAt(from, bytes, bit, width));
            bit += width;
        }
    }
    return true;
}

std::vector<std::uint64_t> differences(std::span<const std::uint64_t> values)
{
    std::vector<std::uint64_t> result(values.size() - 1);
    for (std::size_t i = 1; i < values.size(); ++i)
        result[i - 1] = values[i] - values[i - 1];
    return result;
}

void addUp(std::span<std::uint64_t> values)
{
    for (std::size_t i = 1; i < values.size(); ++i)
        values[i] += values[i - 1];
}

// Without runs. `size` is only filled in when `out` is null.
std::size_t packPlainIntegers(std::span<const std::uint64_t> values, QByteArray *out)
{
    if (std::all_of(values.begin(), values.end(), [&](std::uint64_t v) { return v == values[0]; })) {
        if (out != nullptr) {
            FrameWriter w(*out);
            w.byte(kConstant);
            w.signedVarint(asSigned(values[0]));
        }
        return 1 + signedVarintSize(asSigned(values[0]));
    }
    const auto first = differences(values);
    const auto second = first.size() > 1 ? differences(first) : std::vector<std::uint64_t>();
    const std::size_t plain = packedSize(values);
    const std::size_t delta = signedVarintSize(asSigned(values[0])) + packedSize(first);
    const std::size_t deltas =
        signedVarintSize(asSigned(values[0])) + signedVarintSize(asSigned(first[0])) + packedSize(second);
    const std::size_t least = std::min({plain, delta, deltas});
    if (out != nullptr) {
        FrameWriter w(*out);
        w.byte(least == plain ? kPlain : least == delta ? kDelta : kDeltaOfDelta);
        if (least != plain)
            w.signedVarint(asSigned(values[0]));
        if (least != plain && least != delta)
            w.signedVarint(asSigned(first[0]));
        appendPacked(least == plain ? values : least == delta ? std::span(first) : std::span(second), *out);
    }
    return 1 + least;
}

bool unpackPlainIntegers(std::uint8_t form, FieldReader &in, std::span<std::uint64_t> values)
{
    if (form == kConstant) {
        std::fill(values.begin(), values.end(), static_cast<std::uint64_t>(in.signedVarint()));
        return in.isOk();
    }
    if (form > kDeltaOfDelta)
        return false;
    const std::size_t seeds = form;
    if (values.size() < seeds)
        return false;
    for (std::size_t i = 0; i < seeds; ++i)
        values[i] = static_cast<std::uint64_t>(in.signedVarint());
    if (!in.isOk() || !readPacked(in, values.subspan(seeds)))
        return false;
    if (form == kDeltaOfDelta)
        addUp(values.subspan(1));
    if (form >= kDelta)
        addUp(values);
    return true;
}

struct Runs {
    std::vector<std::uint64_t> values, lengths;
};

// Nothing when there are too many of them to be worth it.
std::optional<Runs> runsOf(std::span<const std::uint64_t> values)
{
    std::size_t count = 1;
    for (std::size_t i = 1; i < values.size(); ++i)
        count += values[i] != values[i - 1] ? 1 : 0;
    if (count * 2 > values.size() || count == 1)
        return std::nullopt;
    Runs runs;
    for (const std::uint64_t v : values) {
        if (!runs.values.empty() && runs.values.back() == v) {
            ++runs.lengths.back();
        } else {
            runs.values.push_back(v);
            runs.lengths.push_back(1);
        }
    }
    return runs;
}

// Of two ways to write the same, the shorter; `begin` is where the first of them starts in `out`.
void keepShorter(QByteArray &out, qsizetype begin, const QByteArray &other)
{
    if (other.size() < out.size() - begin) {
        out.truncate(begin);
        out.append(other);
    }
}

template<typename Pack>
void packWithRuns(std::span<const std::uint64_t> values, QByteArray &out, const Pack &pack)
{
    const qsizetype begin = out.size();
    pack(values, out);
    const auto runs = runsOf(values);
    if (!runs)
        return;
    QByteArray other;
    FrameWriter w(other);
    w.byte(kRuns);
    w.varint(runs->values.size());
    packPlainIntegers(runs->lengths, &other);
    pack(runs->values, other);
    keepShorter(out, begin, other);
}

template<typename Unpack>
bool unpackWithRuns(FieldReader &in, std::size_t count, std::vector<std::uint64_t> &values, const Unpack &unpack)
{
    values.resize(count);
    if (count == 0)
        return true;
    const std::uint8_t form = in.byte();
    if (form != kRuns)
        return unpack(form, in, std::span(values)) && in.isOk();
    const std::uint64_t runs = in.varint();
    if (runs < 1 || runs > count)
        return false;
    std::vector<std::uint64_t> lengths(runs), distinct(runs);
    if (!unpackPlainIntegers(in.byte(), in, lengths) || !unpack(in.byte(), in, std::span(distinct)) || !in.isOk())
        return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < runs; ++i) {
        if (lengths[i] > count - at)
            return false;
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(at), lengths[i], distinct[i]);
        at += lengths[i];
    }
    return at == count;
}

double asDouble(std::uint64_t pattern)
{
    return std::bit_cast<double>(pattern);
}

std::uint64_t patternOf(double v)
{
    return std::bit_cast<std::uint64_t>(v);
}

// Negative numbers in two's complement sort as their values do, and small steps over zero stay small.
std::uint64_t ordered(std::uint64_t pattern)
{
    return asSigned(pattern) < 0 ? ~(pattern & 0x7FFF'FFFF'FFFF'FFFFU) : pattern;
}
std::uint64_t unordered(std::uint64_t v)
{
    return asSigned(v) < 0 ? ~v | 0x8000'0000'0000'0000U : v;
}

std::uint64_t patternOfFloat(std::uint64_t v)
{
    const std::uint32_t bits = asSigned(v) < 0 ? (static_cast<std::uint32_t>(~v) & kFloatMagnitude) | ~kFloatMagnitude
                                               : static_cast<std::uint32_t>(v);
    return patternOf(static_cast<double>(std::bit_cast<float>(bits)));
}

std::uint64_t patternOfScaled(std::uint64_t scaled, DoubleForm form, std::size_t decimals)
{
    const auto whole = static_cast<double>(asSigned(scaled));
    return patternOf(form == kDivided ? whole / kPowers[decimals] : whole * kFractions[decimals]);
}

// The integers n of which every value is n / 10^decimals (or n x 10^-decimals) to the last bit; empty: there are none.
std::vector<std::uint64_t> scaled(std::span<const std::uint64_t> patterns, DoubleForm form, std::size_t decimals)
{
    std::vector<std::uint64_t> result;
    for (const std::uint64_t pattern : patterns) {
        const double value = asDouble(pattern) * kPowers[decimals];
        if (!(std::abs(value) < kMostScaled))
            return {};
        const auto whole = static_cast<std::uint64_t>(std::llround(value));
        if (patternOfScaled(whole, form, decimals) != pattern)
            return {};
        if (result.empty())
            result.reserve(patterns.size());
        result.push_back(whole);
    }
    return result;
}

std::vector<std::uint64_t> floats(std::span<const std::uint64_t> patterns)
{
    std::vector<std::uint64_t> result;
    for (const std::uint64_t pattern : patterns) {
        const double value = asDouble(pattern);
        if (!(std::abs(value) <= 3.4e38)) // not finite, or beyond what a float can be
            return {};
        const auto narrow = static_cast<float>(value);
        if (patternOf(static_cast<double>(narrow)) != pattern)
            return {};
        if (result.empty())
            result.reserve(patterns.size());
        const auto bits = std::bit_cast<std::uint32_t>(narrow);
        const std::uint64_t magnitude = bits & kFloatMagnitude;
        result.push_back(bits == magnitude ? magnitude : ~magnitude);
    }
    return result;
}

void packPlainDoubles(std::span<const std::uint64_t> patterns, QByteArray &out)
{
    FrameWriter w(out);
    for (std::size_t decimals = 0; decimals < kPowers.size(); ++decimals) {
        for (const DoubleForm form : {kDivided, kMultiplied}) {
            if (const auto integers = scaled(patterns, form, decimals); !integers.empty()) {
                w.byte(form);
                w.byte(static_cast<std::uint8_t>(decimals));
                packPlainIntegers(integers, &out);
                return;
            }
        }
    }
    const auto narrow = floats(patterns);
    w.byte(narrow.empty() ? kPatterns : kFloats);
    if (!narrow.empty()) {
        packPlainIntegers(narrow, &out);
        return;
    }
    std::vector<std::uint64_t> sortable(patterns.size());
    std::transform(patterns.begin(), patterns.end(), sortable.begin(), ordered);
    packPlainIntegers(sortable, &out);
}

bool unpackPlainDoubles(std::uint8_t form, FieldReader &in, std::span<std::uint64_t> patterns)
{
    const std::size_t decimals = form == kDivided || form == kMultiplied ? in.byte() : 0;
    if (form > kMultiplied || decimals >= kPowers.size() || !unpackPlainIntegers(in.byte(), in, patterns))
        return false;
    for (std::uint64_t &v : patterns) {
        if (form == kPatterns)
            v = unordered(v);
        else if (form == kFloats)
            v = patternOfFloat(v);
        else
            v = patternOfScaled(v, static_cast<DoubleForm>(form), decimals);
    }
    return true;
}
} // namespace

void packIntegers(std::span<const std::uint64_t> values, QByteArray &out)
{
    if (!values.empty())
        packWithRuns(values, out, [](auto v, QByteArray &o) { packPlainIntegers(v, &o); });
}

bool unpackIntegers(FieldReader &in, std::size_t count, std::vector<std::uint64_t> &values)
{
    return unpackWithRuns(in, count, values, unpackPlainIntegers);
}

void packDoubles(std::span<const std::uint64_t> patterns, QByteArray &out)
{
    if (!patterns.empty())
        packWithRuns(patterns, out, [](auto v, QByteArray &o) { packPlainDoubles(v, o); });
}

bool unpackDoubles(FieldReader &in, std::size_t count, std::vector<std::uint64_t> &patterns)
{
    return unpackWithRuns(in, count, patterns, unpackPlainDoubles);
}

} // namespace gridloom
