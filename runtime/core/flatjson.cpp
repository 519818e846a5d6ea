// SPDX-License-Identifier: Apache-2.0
#include "core/flatjson.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace gridloom {

namespace {

class Reader {
public:
    explicit Reader(const QByteArray &text) : m_text(text) {}
    FlatJson run()
    {
        if (!m_text.isValidUtf8())
            fail(QStringLiteral("it is not UTF-8"));
        else if (take('{'))
            members();
        else
            fail(QStringLiteral("it is no JSON object: { is expected"));
        skipSpace();
        if (m_out.fault.isEmpty() && m_at < m_text.size())
            fail(QStringLiteral("something stands behind the object"));
        return std::move(m_out);
    }

private:
    void members()
    {
        if (take('}'))
            return;
        do {
            QByteArray key;
            Value value;
            skipSpace();
            if (!string(key) || !colon() || !plainValue(value))
                return;
            if (m_out.find(key)) {
                fail(QStringLiteral("the key \"%1\" stands twice").arg(QString::fromUtf8(key.left(80))));
                return;
            }
            m_out.members.emplace_back(std::move(key), std::move(value));
        } while (take(','));
        if (!take('}'))
            fail(QStringLiteral("} or , is expected"));
    }
    bool colon() { return take(':') || fail(QStringLiteral(": is expected")); }

    bool plainValue(Value &value)
    {
        skipSpace();
        const char c = m_at < m_text.size() ? m_text[m_at] : '\0';
        if (c == '"') {
            QByteArray text;
            if (!string(text))
                return false;
            value = Value(text);
            return true;
        }
        if (c == '-' || (c >= '0' && c <= '9'))
            return number(value);
        if (word("true"))
            value = Value(true);
        else if (word("false"))
            value = Value(false);
        else if (word("null"))
            value = Value();
        else if (c == '{' || c == '[')
            return fail(QStringLiteral("a list or an object inside it is not expected"));
        else
            return fail(QStringLiteral("a value is expected"));
        return true;
    }

    // RFC 8259, section 6: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
    bool number(Value &value)
    {
        const qsizetype begin = m_at;
        static_cast<void>(next('-'));
        const bool isZero = next('0');
        bool isWhole = true;
        if (!isZero && digits() == 0)
            return fail(QStringLiteral("a number has no digits"));
        if (next('.')) {
            isWhole = false;
            if (digits() == 0)
                return fail(QStringLiteral("a number has no digits behind its point"));
        }
        if (next('e') || next('E')) {
            isWhole = false;
            if (!next('+'))
                static_cast<void>(next('-'));
            if (digits() == 0)
                return fail(QStringLiteral("a number has no exponent"));
        }
        const char *first = m_text.constData() + begin;
        const char *last = m_text.constData() + m_at;
        return isWhole ? whole(first, last, value) : real(first, last, value);
    }
    bool whole(const char *first, const char *last, Value &value)
    {
        if (std::int64_t i = 0; std::from_chars(first, last, i).ec == std::errc()) {
            value = Value(i);
            return true;
        }
        if (std::uint64_t u = 0; *first != '-' && std::from_chars(first, last, u).ec == std::errc()) {
            value = Value(u);
            return true;
        }
        return fail(QStringLiteral("an integer is beyond -2^63 to 2^64-1"));
    }
    bool real(const char *first, const char *last, Value &value)
    {
        double d = 0;
        if (std::from_chars(first, last, d).ec != std::errc() || !std::isfinite(d))
            return fail(QStringLiteral("a number is too large or too small"));
        value = Value(d);
        return true;
    }

    bool string(QByteArray &out)
    {
        if (!next('"'))
            return fail(QStringLiteral("a text in \" is expected"));
        while (m_at < m_text.size() && m_text[m_at] != '"') {
            const char c = m_text[m_at++];
            if (static_cast<unsigned char>(c) < 0x20)
                return fail(QStringLiteral("a control character stands unescaped in a text"));
            if (c != '\\')
                out += c;
            else if (!escape(out))
                return fail(QStringLiteral("an escape is unknown or incomplete"));
        }
        return next('"') || fail(QStringLiteral("a text does not end"));
    }
    bool escape(QByteArray &out)
    {
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        const char name = m_at < m_text.size() ? m_text[m_at++] : '\0';
        if (name == 'u')
            return unicode(out);
        const auto at = kNames.find(name);
        if (name == '\0' || at == std::string_view::npos)
            return false;
        out += kMeanings[at];
        return true;
    }
    bool unicode(QByteArray &out)
    {
        char16_t units[2] = {};
        if (!hex(units[0]))
            return false;
        if (QChar::isHighSurrogate(units[0])) {
            if (!word("\\u") || !hex(units[1]) || !QChar::isLowSurrogate(units[1]))
                return false;
            out += QString::fromUtf16(units, 2).toUtf8();
            return true;
        }
        if (QChar::isLowSurrogate(units[0]))
            return false;
        out += QString::fromUtf16(units, 1).toUtf8();
        return true;
    }
    bool hex(char16_t &unit)
    {
        if (m_at + 4 > m_text.size())
            return false;
        std::uint16_t v = 0;
        const char *first = m_text.constData() + m_at;
        const auto end = std::from_chars(first, first + 4, v, 16);
        if (end.ec != std::errc() || end.ptr != first + 4)
            return false;
        m_at += 4;
        unit = v;
        return true;
    }

    bool word(std::string_view word)
    {
        if (!QByteArrayView(m_text).sliced(m_at).startsWith(
                QByteArrayView(word.data(), static_cast<qsizetype>(word.size()))))
            return false;
        m_at += static_cast<qsizetype>(word.size());
        return true;
    }
    qsizetype digits()
    {
        const qsizetype begin = m_at;
        while (m_at < m_text.size() && m_text[m_at] >= '0' && m_text[m_at] <= '9')
            ++m_at;
        return m_at - begin;
    }
    void skipSpace()
    {
        while (m_at < m_text.size() && QByteArrayView(" \t\r\n").contains(m_text[m_at]))
            ++m_at;
    }
    bool next(char c)
    {
        if (m_at >= m_text.size() || m_text[m_at] != c)
            return false;
        ++m_at;
        return true;
    }
    bool take(char c)
    {
        skipSpace();
        return next(c);
    }
    bool fail(const QString &what)
    {
        if (m_out.fault.isEmpty())
            m_out.fault = QStringLiteral("%1, at byte %2").arg(what).arg(m_at + 1);
        return false;
    }

    const QByteArray &m_text;
    qsizetype m_at = 0;
    FlatJson m_out;
};

} // namespace

const Value *FlatJson::find(QByteArrayView key) const
{
    for (const auto &[name, value] : members)
        if (QByteArrayView(name) == key)
            return &value;
    return nullptr;
}

FlatJson readFlatJson(const QByteArray &text)
{
    return Reader(text).run();
}

} // namespace gridloom
