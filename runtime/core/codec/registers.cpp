// SPDX-License-Identifier: Apache-2.0
#include "core/codec/registers.h"

#include <bit>
#include <cmath>
#include <limits>

namespace gridloom {

namespace {

struct TypeName {
    const char *name;
    RegisterType type;
};
constexpr TypeName kTypeNames[] = {
    {"bool", RegisterType::Bool},     {"int16", RegisterType::Int16},     {"uint16", RegisterType::UInt16},
    {"int32", RegisterType::Int32},   {"uint32", RegisterType::UInt32},   {"int64", RegisterType::Int64},
    {"uint64", RegisterType::UInt64}, {"float32", RegisterType::Float32}, {"float64", RegisterType::Float64}};

struct OrderName {
    const char *name;
    int registers;
    ByteOrder order;
};
constexpr OrderName kOrderNames[] = {{"AB", 1, ByteOrder::BigEndian},         {"BA", 1, ByteOrder::ByteSwapped},
                                     {"ABCD", 2, ByteOrder::BigEndian},       {"CDAB", 2, ByteOrder::WordSwapped},
                                     {"BADC", 2, ByteOrder::ByteSwapped},     {"DCBA", 2, ByteOrder::LittleEndian},
                                     {"ABCDEFGH", 4, ByteOrder::BigEndian},   {"GHEFCDAB", 4, ByteOrder::WordSwapped},
                                     {"BADCFEHG", 4, ByteOrder::ByteSwapped}, {"HGFEDCBA", 4, ByteOrder::LittleEndian}};

constexpr int kMaxDecimals = 15;
constexpr double kPowersOfTen[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr double kTwo53 = 9007199254740992.0; // up to here a double holds every integer

bool swapsWords(ByteOrder order)
{
    return order == ByteOrder::WordSwapped || order == ByteOrder::LittleEndian;
}
bool swapsBytes(ByteOrder order)
{
    return order == ByteOrder::ByteSwapped || order == ByteOrder::LittleEndian;
}

std::uint16_t swapped(std::uint16_t word)
{
    return static_cast<std::uint16_t>((word << 8) | (word >> 8));
}

std::uint64_t assemble(std::span<const std::uint16_t> registers, int count, ByteOrder order)
{
    std::uint64_t bits = 0;
    for (int i = 0; i < count; ++i) {
        const auto word = registers[static_cast<std::size_t>(swapsWords(order) ? count - 1 - i : i)];
        bits = (bits << 16) | (swapsBytes(order) ? swapped(word) : word);
    }
    return bits;
}

RegisterWords disassemble(std::uint64_t bits, int count, ByteOrder order)
{
    RegisterWords registers(count);
    for (int i = count - 1; i >= 0; --i) {
        const auto word = static_cast<std::uint16_t>(bits);
        registers[static_cast<std::size_t>(swapsWords(order) ? count - 1 - i : i)] =
            swapsBytes(order) ? swapped(word) : word;
        bits >>= 16;
    }
    return registers;
}

// The decimal an engineer wrote, as whole / 10^decimals: 0.25 is 25 / 100.
struct Decimal {
    double whole;
    int decimals;
};

// The shortest one; nothing for a number that is no short decimal, such as 1/3.
std::optional<Decimal> asDecimal(double v)
{
    for (int decimals = 0; decimals <= kMaxDecimals; ++decimals) {
        const double whole = std::nearbyint(v * kPowersOfTen[decimals]);
        if (std::abs(whole) > kTwo53)
            break;
        if (whole / kPowersOfTen[decimals] == v)
            return Decimal{whole, decimals};
    }
    return std::nullopt;
}

// Whole numbers below 2^53 divided once by a power of ten round to the double nearest to the exact decimal result,
// and that double's shortest text is this decimal. raw * 0.1 would round twice.
double scaled(double raw, double scale, double offset)
{
    const auto s = asDecimal(scale);
    const auto o = asDecimal(offset);
    if (s && o) {
        const int decimals = std::max(s->decimals, o->decimals);
        const double product = raw * s->whole * kPowersOfTen[decimals - s->decimals];
        const double sum = product + o->whole * kPowersOfTen[decimals - o->decimals];
        if (std::abs(product) <= kTwo53 && std::abs(sum) <= kTwo53)
            return sum / kPowersOfTen[decimals];
    }
    return raw * scale + offset;
}

double unscaled(double value, double scale, double offset)
{
    const auto s = asDecimal(scale);
    const auto o = asDecimal(offset);
    if (s && o) {
        const int decimals = std::max(s->decimals, o->decimals);
        const double sum = value * kPowersOfTen[decimals];
        if (std::abs(sum) <= kTwo53)
            return (sum - o->whole * kPowersOfTen[decimals - o->decimals])
                / (s->whole * kPowersOfTen[decimals - s->decimals]);
    }
    return (value - offset) / scale;
}

bool isPlain(const RegisterFormat &format)
{
    return format.scale == 1.0 && format.offset == 0.0;
}

Error outOfRange(const Value &value, const char *what)
{
    return {QStringLiteral("codec.outOfRange"),
            QStringLiteral("The value %1 does not fit %2; write a value inside its range or check scale and offset.")
                .arg(QString::fromUtf8(value.toText()), QLatin1String(what)),
            false};
}

// The raw number of an integer register type as a Value of integer type, still unchecked against its width.
std::optional<Value> rawInteger(const Value &value, const RegisterFormat &format)
{
    if (isPlain(format) && value.type() != ValueType::Double)
        return value;
    const double raw = std::round(unscaled(*value.toDouble(), format.scale, format.offset));
    if (const auto i = Value(raw).toInt64())
        return Value(*i);
    if (const auto u = Value(raw).toUInt64())
        return Value(*u);
    return std::nullopt; // also when scale is 0
}

template<typename Int>
Result<RegisterWords> encodeInteger(const Value &value, const RegisterFormat &format, const char *name)
{
    const auto raw = rawInteger(value, format);
    if (raw) {
        if constexpr (std::is_same_v<Int, std::uint64_t>) {
            if (const auto u = raw->toUInt64())
                return disassemble(*u, 4, format.order);
        } else if (const auto i = raw->toInt64(); i && *i >= std::int64_t{std::numeric_limits<Int>::min()}
                   && *i <= std::int64_t{std::numeric_limits<Int>::max()}) {
            return disassemble(static_cast<std::uint64_t>(*i), registerCount(format.type), format.order);
        }
    }
    return outOfRange(value, name);
}

Result<RegisterWords> encodeReal(const Value &value, const RegisterFormat &format)
{
    const double v = *value.toDouble();
    const double raw = isPlain(format) ? v : unscaled(v, format.scale, format.offset);
    if (format.type == RegisterType::Float64) {
        if (!std::isfinite(raw))
            return outOfRange(value, "float64");
        return disassemble(std::bit_cast<std::uint64_t>(raw), 4, format.order);
    }
    // Also true for NaN (scale 0) and for what would round up to infinity.
    if (!(std::abs(raw) <= double{std::numeric_limits<float>::max()}))
        return outOfRange(value, "float32");
    return disassemble(std::bit_cast<std::uint32_t>(static_cast<float>(raw)), 2, format.order);
}

Result<RegisterWords> encodeBool(const Value &value, const RegisterFormat &format)
{
    const auto i = value.toInt64();
    if (!i || *i < 0 || *i > 1)
        return outOfRange(value, "bool (0 or 1)");
    RegisterWords registers(1);
    registers[0] = static_cast<std::uint16_t>(*i << format.bit);
    return registers;
}

} // namespace

int registerCount(RegisterType type)
{
    switch (type) {
    case RegisterType::Bool:
    case RegisterType::Int16:
    case RegisterType::UInt16: return 1;
    case RegisterType::Int32:
    case RegisterType::UInt32:
    case RegisterType::Float32: return 2;
    case RegisterType::Int64:
    case RegisterType::UInt64:
    case RegisterType::Float64: return 4;
    }
    return 1;
}

std::optional<RegisterType> registerTypeFromName(QStringView name)
{
    for (const auto &entry : kTypeNames)
        if (name == QLatin1String(entry.name))
            return entry.type;
    return std::nullopt;
}

std::optional<ByteOrder> byteOrderFromName(QStringView name, RegisterType type)
{
    for (const auto &entry : kOrderNames)
        if (entry.registers == registerCount(type) && name == QLatin1String(entry.name))
            return entry.order;
    return std::nullopt;
}

Value decodeRegisters(std::span<const std::uint16_t> registers, const RegisterFormat &format)
{
    const auto bits = assemble(registers, registerCount(format.type), format.order);
    std::int64_t integer = 0;
    switch (format.type) {
    case RegisterType::Bool: return Value(((bits >> format.bit) & 1) != 0);
    case RegisterType::Int16: integer = static_cast<std::int16_t>(bits); break;
    case RegisterType::UInt16:
    case RegisterType::UInt32: integer = static_cast<std::int64_t>(bits); break;
    case RegisterType::Int32: integer = static_cast<std::int32_t>(bits); break;
    case RegisterType::Int64: integer = static_cast<std::int64_t>(bits); break;
    case RegisterType::UInt64:
        if (isPlain(format))
            return Value(bits);
        return Value(scaled(static_cast<double>(bits), format.scale, format.offset));
    case RegisterType::Float32:
    case RegisterType::Float64: {
        const double raw = format.type == RegisterType::Float64
            ? std::bit_cast<double>(bits)
            : double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
        return Value(isPlain(format) ? raw : scaled(raw, format.scale, format.offset));
    }
    }
    if (isPlain(format))
        return Value(integer);
    return Value(scaled(static_cast<double>(integer), format.scale, format.offset));
}

Result<RegisterWords> encodeRegisters(const Value &value, const RegisterFormat &format)
{
    if (!value.isNumber())
        return Error{QStringLiteral("codec.notANumber"),
                     QStringLiteral("Null or text cannot be written to a register; write a number."), false};
    if (value.type() == ValueType::Double && !std::isfinite(value.real()))
        return Error{QStringLiteral("codec.notFinite"),
                     QStringLiteral("NaN or infinity cannot be written to a register; write a finite number."), false};
    switch (format.type) {
    case RegisterType::Bool: return encodeBool(value, format);
    case RegisterType::Int16: return encodeInteger<std::int16_t>(value, format, "int16");
    case RegisterType::UInt16: return encodeInteger<std::uint16_t>(value, format, "uint16");
    case RegisterType::Int32: return encodeInteger<std::int32_t>(value, format, "int32");
    case RegisterType::UInt32: return encodeInteger<std::uint32_t>(value, format, "uint32");
    case RegisterType::Int64: return encodeInteger<std::int64_t>(value, format, "int64");
    case RegisterType::UInt64: return encodeInteger<std::uint64_t>(value, format, "uint64");
    case RegisterType::Float32:
    case RegisterType::Float64: break;
    }
    return encodeReal(value, format);
}

} // namespace gridloom
