// SPDX-License-Identifier: Apache-2.0
// LuaLexer: splits Lua text (reference manual 5.4, 3.1) into tokens, as far as finding names needs it. Pure.
#pragma once

#include <QString>
#include <QStringView>

namespace gridloom {

struct LuaToken {
    enum class Kind : std::uint8_t { End, Name, Text, Number, Symbol };
    Kind kind = Kind::End;
    QString text; ///< a name, the value of a literal text, or a symbol (".." and "..." are one each)
    int line = 1; ///< where it starts
    qsizetype position = 0;
    qsizetype length = 0;
    bool is(const char *symbol) const { return kind == Kind::Symbol && text == QLatin1String(symbol); }
};

/// The text outlives the lexer. An unfinished literal or comment ends with the text.
class LuaLexer {
public:
    explicit LuaLexer(QStringView text) : m_text(text) {}
    LuaToken next();

private:
    char16_t at(qsizetype ahead = 0) const;
    void skipSpaceAndComments();
    qsizetype longBracketLevel() const;
    QString readLongBracket(qsizetype level);
    QString readQuoted();
    void readEscape(QString &out);
    void readNumber();

    QStringView m_text;
    qsizetype m_position = 0;
    int m_line = 1;
};

} // namespace gridloom
