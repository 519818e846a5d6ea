// SPDX-License-Identifier: Apache-2.0
#include "script/lualexer.h"

namespace gridloom {

namespace {
bool isDigit(char16_t c)
{
    return c >= u'0' && c <= u'9';
}

bool isHexDigit(char16_t c)
{
    return isDigit(c) || (c >= u'a' && c <= u'f') || (c >= u'A' && c <= u'F');
}

bool isNameStart(char16_t c)
{
    return (c >= u'a' && c <= u'z') || (c >= u'A' && c <= u'Z') || c == u'_';
}

bool isSpace(char16_t c)
{
    return c == u' ' || (c >= u'\t' && c <= u'\r');
}
} // namespace

char16_t LuaLexer::at(qsizetype ahead) const
{
    const qsizetype i = m_position + ahead;
    return i < m_text.size() ? m_text.at(i).unicode() : u'\0';
}

// Number of '=' in an opening long bracket at the current place; -1 when there is none.
qsizetype LuaLexer::longBracketLevel() const
{
    if (at() != u'[')
        return -1;
    qsizetype level = 0;
    while (at(1 + level) == u'=')
        ++level;
    return at(1 + level) == u'[' ? level : -1;
}

QString LuaLexer::readLongBracket(qsizetype level)
{
    m_position += level + 2;
    const QString closing = QLatin1Char(']') + QString(level, QLatin1Char('=')) + QLatin1Char(']');
    qsizetype end = m_text.indexOf(closing, m_position);
    const qsizetype after = end < 0 ? m_text.size() : end + closing.size();
    end = end < 0 ? m_text.size() : end;
    QStringView content = m_text.mid(m_position, end - m_position);
    m_line += static_cast<int>(content.count(u'\n'));
    m_position = after;
    if (content.startsWith(u'\n')) // a line end right after the bracket is not part of the text
        content = content.mid(1);
    return content.toString();
}

void LuaLexer::skipSpaceAndComments()
{
    while (m_position < m_text.size()) {
        if (at() == u'\n')
            ++m_line;
        if (isSpace(at())) {
            ++m_position;
        } else if (at() == u'-' && at(1) == u'-') {
            m_position += 2;
            const qsizetype level = longBracketLevel();
            if (level >= 0)
                readLongBracket(level);
            else
                while (m_position < m_text.size() && at() != u'\n')
                    ++m_position;
        } else {
            return;
        }
    }
}

void LuaLexer::readEscape(QString &out)
{
    const char16_t c = at();
    ++m_position;
    static constexpr QStringView kLetters = u"abfnrtv";
    static constexpr QStringView kMeanings = u"\a\b\f\n\r\t\v";
    const qsizetype letter = kLetters.indexOf(QChar(c));
    if (letter >= 0) {
        out += kMeanings.at(letter);
    } else if (c == u'x') {
        out += QChar(static_cast<char16_t>(m_text.mid(m_position, 2).toUInt(nullptr, 16)));
        m_position += 2;
    } else if (c == u'u' && at() == u'{') {
        const qsizetype end = m_text.indexOf(u'}', m_position);
        const qsizetype after = end < 0 ? m_text.size() : end;
        out += QString::fromUcs4(
            std::u32string(1, m_text.mid(m_position + 1, after - m_position - 1).toUInt(nullptr, 16)).data(), 1);
        m_position = after + 1;
    } else if (c == u'z') {
        while (isSpace(at())) {
            m_line += at() == u'\n' ? 1 : 0;
            ++m_position;
        }
    } else if (isDigit(c)) {
        uint code = c - u'0';
        for (int i = 0; i < 2 && isDigit(at()); ++i)
            code = code * 10 + (m_text.at(m_position++).unicode() - u'0');
        out += QChar(static_cast<char16_t>(code));
    } else {
        m_line += c == u'\n' ? 1 : 0;
        out += QChar(c); // a quote, a backslash, a line end
    }
}

QString LuaLexer::readQuoted()
{
    const char16_t quote = at();
    ++m_position;
    QString out;
    // A line end inside is an error of the script; going on behind it keeps the rest readable.
    while (m_position < m_text.size() && at() != quote && at() != u'\n') {
        if (at() == u'\\') {
            ++m_position;
            readEscape(out);
        } else {
            out += m_text.at(m_position++);
        }
    }
    if (at() == quote)
        ++m_position;
    m_position = std::min(m_position, m_text.size());
    return out;
}

void LuaLexer::readNumber()
{
    const bool isHex = at() == u'0' && (at(1) == u'x' || at(1) == u'X');
    for (char16_t before = u'\0'; m_position < m_text.size(); ++m_position) {
        const char16_t c = at();
        const bool isExponent = isHex ? before == u'p' || before == u'P' : before == u'e' || before == u'E';
        if (!isHexDigit(c) && c != u'.' && !isNameStart(c) && !((c == u'+' || c == u'-') && isExponent))
            return;
        before = c;
    }
}

LuaToken LuaLexer::next()
{
    skipSpaceAndComments();
    LuaToken token;
    token.line = m_line;
    token.position = m_position;
    if (m_position >= m_text.size())
        return token;
    const char16_t c = at();
    const qsizetype level = longBracketLevel();
    if (isNameStart(c)) {
        token.kind = LuaToken::Kind::Name;
        while (isNameStart(at()) || isDigit(at()))
            ++m_position;
    } else if (c == u'"' || c == u'\'') {
        token.kind = LuaToken::Kind::Text;
        token.text = readQuoted();
    } else if (level >= 0) {
        token.kind = LuaToken::Kind::Text;
        token.text = readLongBracket(level);
    } else if (isDigit(c) || (c == u'.' && isDigit(at(1)))) {
        token.kind = LuaToken::Kind::Number;
        readNumber();
    } else {
        token.kind = LuaToken::Kind::Symbol;
        m_position += c == u'.' && at(1) == u'.' ? (at(2) == u'.' ? 3 : 2) : c == u':' && at(1) == u':' ? 2 : 1;
    }
    token.length = m_position - token.position;
    if (token.kind == LuaToken::Kind::Name || token.kind == LuaToken::Kind::Symbol)
        token.text = m_text.mid(token.position, token.length).toString();
    return token;
}

} // namespace gridloom
