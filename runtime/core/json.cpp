// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include "core/value.h"

#include <QJsonArray>
#include <QJsonObject>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace gridloom {

namespace {
template<typename T>
void appendNumber(QByteArray &out, T v)
{
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
    out.append(buffer, end - buffer);
}

// Length of the valid UTF-8 sequence at s[i], 0 when it is malformed (RFC 3629).
std::size_t sequenceLength(std::string_view s, std::size_t i)
{
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[i + k]); };
    const unsigned char lead = byte(0);
    std::size_t n = lead < 0x80       ? 1
        : lead >= 0xC2 && lead < 0xE0 ? 2
        : (lead & 0xF0) == 0xE0       ? 3
        : lead >= 0xF0 && lead < 0xF5 ? 4
                                      : 0;
    if (n == 0 || i + n > s.size())
        return 0;
    for (std::size_t k = 1; k < n; ++k)
        if ((byte(k) & 0xC0) != 0x80)
            return 0;
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF0 && byte(1) < 0x90)
        || (lead == 0xF4 && byte(1) > 0x8F))
        return 0;
    return n;
}

bool isPlain(char32_t c)
{
    return c >= 0x20 && c < 0x7F && c != U'"' && c != U'\\';
}

// Most text needs no look at each character twice.
std::size_t plainLength(std::string_view s, std::size_t from)
{
    std::size_t end = from;
    while (end < s.size() && isPlain(static_cast<unsigned char>(s[end])))
        ++end;
    return end - from;
}

void appendQuoted(QByteArray &out, std::string_view s)
{
    static constexpr char kHex[] = "0123456789abcdef";
    out.append('"');
    for (std::size_t i = 0; i < s.size();) {
        if (const std::size_t n = plainLength(s, i); n > 0) {
            out.append(s.data() + i, static_cast<qsizetype>(n));
            i += n;
            continue;
        }
        const auto c = static_cast<unsigned char>(s[i]);
        if (c >= 0x80) {
            const std::size_t n = sequenceLength(s, i);
            if (n == 0) {
                out.append("\xEF\xBF\xBD", 3);
                ++i;
            } else {
                out.append(s.data() + i, static_cast<qsizetype>(n));
                i += n;
            }
            continue;
        }
        switch (c) {
        case '"': out.append("\\\"", 2); break;
        case '\\': out.append("\\\\", 2); break;
        case '\n': out.append("\\n", 2); break;
        case '\r': out.append("\\r", 2); break;
        case '\t': out.append("\\t", 2); break;
        default:
            if (c < 0x20) {
                out.append("\\u00", 4).append(kHex[c >> 4]).append(kHex[c & 15]);
            } else {
                out.append(static_cast<char>(c));
            }
        }
        ++i;
    }
    out.append('"');
}
} // namespace

void JsonWriter::separate()
{
    if (m_needsComma)
        m_out.append(',');
    m_needsComma = true;
}

JsonWriter &JsonWriter::beginObject()
{
    separate();
    m_out.append('{');
    m_needsComma = false;
    return *this;
}

JsonWriter &JsonWriter::endObject()
{
    m_out.append('}');
    m_needsComma = true;
    return *this;
}

JsonWriter &JsonWriter::beginArray()
{
    separate();
    m_out.append('[');
    m_needsComma = false;
    return *this;
}

JsonWriter &JsonWriter::endArray()
{
    m_out.append(']');
    m_needsComma = true;
    return *this;
}

JsonWriter &JsonWriter::key(std::string_view utf8)
{
    separate();
    appendQuoted(m_out, utf8);
    m_out.append(':');
    m_needsComma = false;
    return *this;
}

JsonWriter &JsonWriter::string(std::string_view utf8)
{
    separate();
    appendQuoted(m_out, utf8);
    return *this;
}

JsonWriter &JsonWriter::key(QStringView text)
{
    string(text);
    m_out.append(':');
    m_needsComma = false;
    return *this;
}

JsonWriter &JsonWriter::string(QStringView text)
{
    if (!std::all_of(text.begin(), text.end(), [](QChar c) { return isPlain(c.unicode()); })) {
        const QByteArray utf8 = text.toUtf8();
        return string(std::string_view(utf8.constData(), static_cast<std::size_t>(utf8.size())));
    }
    separate();
    const qsizetype start = m_out.size();
    m_out.resize(start + text.size() + 2);
    char *at = m_out.data() + start;
    *at++ = '"';
    for (const QChar c : text)
        *at++ = static_cast<char>(c.unicode());
    *at = '"';
    return *this;
}

JsonWriter &JsonWriter::integer(std::int64_t v)
{
    separate();
    appendNumber(m_out, v);
    return *this;
}

JsonWriter &JsonWriter::unsignedInteger(std::uint64_t v)
{
    separate();
    appendNumber(m_out, v);
    return *this;
}

JsonWriter &JsonWriter::number(double v)
{
    if (!std::isfinite(v))
        return null();
    separate();
    appendNumber(m_out, v);
    return *this;
}

JsonWriter &JsonWriter::rounded(double v, int decimals)
{
    const double unit = std::pow(10.0, decimals);
    const double scaled = std::round(v * unit);
    return number(std::isfinite(scaled) ? scaled / unit : v);
}

JsonWriter &JsonWriter::boolean(bool v)
{
    separate();
    m_out.append(v ? "true" : "false");
    return *this;
}

JsonWriter &JsonWriter::null()
{
    separate();
    m_out.append("null", 4);
    return *this;
}

JsonWriter &JsonWriter::value(const Value &v)
{
    switch (v.type()) {
    case ValueType::Null: return null();
    case ValueType::Bool: return boolean(v.boolean());
    case ValueType::Int64: return integer(v.int64());
    case ValueType::UInt64: return unsignedInteger(v.uint64());
    case ValueType::Double: return number(v.real());
    case ValueType::Text: break;
    }
    const QByteArray &t = v.text();
    return string(std::string_view(t.constData(), static_cast<std::size_t>(t.size())));
}

// Qt keeps members in order, for ASCII in that of the bytes: then nothing needs to be sorted.
bool JsonWriter::writeInOrder(const QJsonObject &object)
{
    const qsizetype start = m_out.size();
    const bool neededComma = m_needsComma;
    beginObject();
    QString before;
    for (auto it = object.begin(); it != object.end(); ++it) {
        const QString name = it.key();
        const bool isAscii = std::all_of(name.begin(), name.end(), [](QChar c) { return c.unicode() < 0x80; });
        if (!isAscii || (it != object.begin() && !(before < name))) {
            m_out.truncate(start);
            m_needsComma = neededComma;
            return false;
        }
        key(QStringView(name)).json(it.value());
        before = name;
    }
    endObject();
    return true;
}

JsonWriter &JsonWriter::json(const QJsonValue &v)
{
    switch (v.type()) {
    case QJsonValue::Bool: return boolean(v.toBool());
    case QJsonValue::Double: {
        const double d = v.toDouble();
        // toInteger() is exact where the parser kept an integer; d alone is not.
        const qint64 i = v.toInteger(0);
        if (v == QJsonValue(i))
            return integer(i);
        return number(d);
    }
    case QJsonValue::String: return string(QStringView(v.toString()));
    case QJsonValue::Array: {
        beginArray();
        const QJsonArray array = v.toArray();
        for (const QJsonValue &item : array)
            json(item);
        return endArray();
    }
    case QJsonValue::Object: {
        const QJsonObject object = v.toObject();
        if (writeInOrder(object))
            return *this;
        std::vector<std::pair<QByteArray, QJsonValue>> members;
        members.reserve(static_cast<std::size_t>(object.size()));
        for (auto it = object.begin(); it != object.end(); ++it)
            members.emplace_back(it.key().toUtf8(), it.value());
        std::sort(members.begin(), members.end(), [](const auto &a, const auto &b) {
            return std::string_view(a.first.constData(), a.first.size())
                < std::string_view(b.first.constData(), b.first.size());
        });
        beginObject();
        for (const auto &[name, item] : members)
            key(std::string_view(name.constData(), static_cast<std::size_t>(name.size()))).json(item);
        return endObject();
    }
    default: return null();
    }
}

JsonWriter &JsonWriter::raw(const QByteArray &json)
{
    separate();
    m_out.append(json);
    return *this;
}

QByteArray JsonWriter::take()
{
    m_needsComma = false;
    return std::exchange(m_out, {});
}

} // namespace gridloom
