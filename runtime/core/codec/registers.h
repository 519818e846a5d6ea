// SPDX-License-Identifier: Apache-2.0
// Register codec: one place that turns 16-bit registers into values and back, for driver, simulator and studio.
// Byte orders are named by the order in which the value's bytes appear on the wire, A = most significant byte:
// ABCD (big endian), CDAB (words swapped), BADC (bytes swapped), DCBA (little endian), and the eight-byte forms
// ABCDEFGH, GHEFCDAB, BADCFEHG, HGFEDCBA. One order name serves both widths.
#pragma once

#include "core/result.h"
#include "core/value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace gridloom {

enum class RegisterType : std::uint8_t { Bool, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64 };
enum class ByteOrder : std::uint8_t { BigEndian, WordSwapped, ByteSwapped, LittleEndian };

struct RegisterFormat {
    RegisterType type = RegisterType::UInt16;
    ByteOrder order = ByteOrder::BigEndian;
    double scale = 1.0; ///< value = raw * scale + offset; with 1 and 0 an integer stays the same integer
    double offset = 0.0;
    int bit = 0; ///< for Bool in a register: 0 (least significant) to 15
};

/// 1, 2 or 4.
int registerCount(RegisterType type);
/// "int16", "uint16", ... "float64", "bool"; nothing for another name.
std::optional<RegisterType> registerTypeFromName(QStringView name);
/// Any of the eight names above for a type of that width; "AB" and "BA" for 16-bit types. Nothing otherwise.
std::optional<ByteOrder> byteOrderFromName(QStringView name, RegisterType type);

/// Decodes registers as they came off the wire (each register's high byte first), registerCount(type) of them.
/// Plain (scale 1, offset 0): bool, uint64 for UInt64, int64 for the other integer types, double for floats.
/// With scale and offset the result is a double whose shortest decimal text has no rounding noise (0xFFF3 with scale
/// 0.1 is -1.3). A non-finite float stays a non-finite double: the caller turns it into null and bad quality.
Value decodeRegisters(std::span<const std::uint16_t> registers, const RegisterFormat &format);

/// The registers of one value, up to four, in place: encoding a write costs no allocation. A contiguous range.
class RegisterWords {
public:
    RegisterWords() = default;
    explicit RegisterWords(int count) : m_count(static_cast<std::size_t>(count)) {} ///< zeros
    std::uint16_t *begin() { return m_words.data(); }
    std::uint16_t *end() { return m_words.data() + m_count; }
    const std::uint16_t *begin() const { return m_words.data(); }
    const std::uint16_t *end() const { return m_words.data() + m_count; }
    std::uint16_t *data() { return m_words.data(); }
    const std::uint16_t *data() const { return m_words.data(); }
    std::size_t size() const { return m_count; }
    std::uint16_t &operator[](std::size_t i) { return m_words[i]; }
    std::uint16_t operator[](std::size_t i) const { return m_words[i]; }
    friend bool operator==(const RegisterWords &a, std::span<const std::uint16_t> b)
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    std::array<std::uint16_t, 4> m_words{};
    std::size_t m_count = 0;
};

/// The inverse, for writes. Error "codec.outOfRange" when the raw number does not fit the type, "codec.notFinite"
/// for NaN and infinity, "codec.notANumber" for null and text. A raw number with a fraction is rounded to the nearest
/// integer for integer types. Bool formats encode to 0 or 1 << bit.
Result<RegisterWords> encodeRegisters(const Value &value, const RegisterFormat &format);

} // namespace gridloom
