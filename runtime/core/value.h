// SPDX-License-Identifier: Apache-2.0
// Value: what a point holds. 16 bytes; text is shared and immutable, so a copy never allocates.
// An integer stays an integer: nothing here turns an int64 or uint64 into a double behind one's back.
#pragma once

#include <QByteArray>
#include <QSharedData>
#include <QString>

#include <cstdint>
#include <optional>
#include <variant>

namespace gridloom {

enum class ValueType : std::uint8_t { Null, Bool, Int64, UInt64, Double, Text };

class Value {
public:
    Value() = default; ///< null: "not available"
    explicit Value(bool v) : m_value(v) {}
    explicit Value(std::int64_t v) : m_value(v) {}
    explicit Value(int v) : m_value(static_cast<std::int64_t>(v)) {}
    explicit Value(std::uint64_t v) : m_value(v) {}
    explicit Value(double v) : m_value(v) {}
    /// UTF-8 text.
    explicit Value(const QByteArray &utf8) : m_value(Text(new TextData(utf8))) {}
    explicit Value(const char *) = delete; // would silently become bool

    ValueType type() const { return static_cast<ValueType>(m_value.index()); }
    bool isNull() const { return type() == ValueType::Null; }
    /// bool, int64, uint64 or double.
    bool isNumber() const { return type() >= ValueType::Bool && type() <= ValueType::Double; }
    bool isInteger() const { return type() == ValueType::Int64 || type() == ValueType::UInt64; }

    // Exact access; the type must match.
    bool boolean() const { return std::get<bool>(m_value); }
    std::int64_t int64() const { return std::get<std::int64_t>(m_value); }
    std::uint64_t uint64() const { return std::get<std::uint64_t>(m_value); }
    double real() const { return std::get<double>(m_value); }
    const QByteArray &text() const { return std::get<Text>(m_value)->utf8; }

    /// The nearest double of a number (rounds integers above 2^53); nothing for null and text.
    std::optional<double> toDouble() const;
    /// The same number as int64, only when it is exactly one; nothing otherwise.
    std::optional<std::int64_t> toInt64() const;
    /// The same number as uint64, only when it is exactly one; nothing otherwise.
    std::optional<std::uint64_t> toUInt64() const;

    /// The bit pattern stored beside the type: bool 0/1, integers two's complement, double IEEE 754; 0 for null and text.
    std::uint64_t bits() const;
    /// The inverse of bits() for every type but Text, which gives null.
    static Value fromBits(ValueType type, std::uint64_t bits);

    /// Digits as in JSON: integers exact, doubles shortest; "null", "true"; text as it is; a non-finite double "null".
    QByteArray toText() const;

    /// Same type and same value; two NaN are equal.
    friend bool operator==(const Value &a, const Value &b);

private:
    struct TextData : QSharedData {
        explicit TextData(QByteArray t) : utf8(std::move(t)) {}
        QByteArray utf8;
    };
    using Text = QExplicitlySharedDataPointer<const TextData>;
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, Text> m_value;
};

/// Compares two numbers exactly, whatever their types: -1, 0, 1; nothing when one is null, text or NaN.
std::optional<int> compareNumbers(const Value &a, const Value &b);

} // namespace gridloom
