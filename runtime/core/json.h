// SPDX-License-Identifier: Apache-2.0
// JsonWriter: strict JSON text (RFC 8259) in one growing buffer. Integers are written as exact digits up to 2^64-1,
// doubles as the shortest text that reads back, a non-finite double as null. QJsonDocument can do neither.
#pragma once

#include <QByteArray>
#include <QJsonValue>
#include <QStringView>

#include <cstdint>
#include <string_view>

namespace gridloom {

class Value;

/// Usage: w.beginObject().key("id").string("x").key("n").integer(1).endObject(); commas are placed by the writer.
class JsonWriter {
public:
    JsonWriter() = default;
    explicit JsonWriter(qsizetype reserve) { m_out.reserve(reserve); }
    /// Writes behind what `buffer` holds; its memory is used.
    explicit JsonWriter(QByteArray buffer) : m_out(std::move(buffer)) {}

    JsonWriter &beginObject();
    JsonWriter &endObject();
    JsonWriter &beginArray();
    JsonWriter &endArray();
    /// UTF-8; the caller keeps keys of one object unique.
    JsonWriter &key(std::string_view utf8);
    JsonWriter &key(QStringView text);
    JsonWriter &string(std::string_view utf8); ///< invalid UTF-8 becomes U+FFFD
    JsonWriter &string(QStringView text);
    JsonWriter &integer(std::int64_t v);
    JsonWriter &unsignedInteger(std::uint64_t v);
    JsonWriter &number(double v);
    /// As number(), but rounded to so many decimals: for figures meant for people.
    JsonWriter &rounded(double v, int decimals);
    JsonWriter &boolean(bool v);
    JsonWriter &null();
    JsonWriter &value(const Value &v);
    /// A whole tree; object keys in byte order of their UTF-8, so that equal trees give equal bytes.
    JsonWriter &json(const QJsonValue &v);
    /// Text that is JSON already.
    JsonWriter &raw(const QByteArray &json);

    const QByteArray &text() const { return m_out; }
    QByteArray take();

private:
    void separate();
    bool writeInOrder(const QJsonObject &object);
    QByteArray m_out;
    bool m_needsComma = false;
};

} // namespace gridloom
