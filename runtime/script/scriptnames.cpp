// SPDX-License-Identifier: Apache-2.0
#include "script/scriptnames.h"

#include "script/lualexer.h"

#include <array>
#include <optional>
#include <vector>

namespace gridloom {

namespace {
struct NamingFunction {
    const char *table; ///< null: a plain function
    const char *function;
    NameUse::Kind kind;
};
constexpr std::array<NamingFunction, 6> kFunctions = {{{nullptr, "point", NameUse::Kind::Point},
                                                       {"control", "write", NameUse::Kind::Output},
                                                       {"aggregation", "write", NameUse::Kind::Row},
                                                       {"alarm", "raise", NameUse::Kind::Alarm},
                                                       {"alarm", "clear", NameUse::Kind::Alarm},
                                                       {"coordination", "start", NameUse::Kind::Task}}};

class Finder {
public:
    explicit Finder(const QString &lua)
    {
        LuaLexer lexer(lua);
        do
            m_tokens.push_back(lexer.next());
        while (m_tokens.back().kind != LuaToken::Kind::End);
    }

    QList<NameUse> find() const
    {
        QList<NameUse> uses;
        for (std::size_t i = 0; i < m_tokens.size(); ++i)
            for (const NamingFunction &function : kFunctions)
                if (const auto after = matches(i, function))
                    if (const LuaToken *literal = literalArgument(*after))
                        uses.append({function.kind, literal->text, literal->line, literal->position, literal->length});
        return uses;
    }

private:
    const LuaToken &at(std::size_t i) const { return m_tokens[std::min(i, m_tokens.size() - 1)]; }
    bool isName(std::size_t i, const char *name) const
    {
        return at(i).kind == LuaToken::Kind::Name && at(i).text == QLatin1String(name);
    }

    // Index behind the function's name when it stands at i; a field of something else or a definition does not count.
    std::optional<std::size_t> matches(std::size_t i, const NamingFunction &function) const
    {
        if (i > 0 && (at(i - 1).is(".") || at(i - 1).is(":") || isName(i - 1, "function")))
            return std::nullopt;
        if (!function.table)
            return isName(i, function.function) ? std::optional(i + 1) : std::nullopt;
        if (isName(i, function.table) && at(i + 1).is(".") && isName(i + 2, function.function))
            return i + 3;
        return std::nullopt;
    }

    // f("x"), f("x", ..), f "x": a literal that is the whole first argument.
    const LuaToken *literalArgument(std::size_t i) const
    {
        const bool hasParenthesis = at(i).is("(");
        const LuaToken &literal = at(hasParenthesis ? i + 1 : i);
        if (literal.kind != LuaToken::Kind::Text)
            return nullptr;
        if (hasParenthesis && !at(i + 2).is(")") && !at(i + 2).is(","))
            return nullptr;
        return &literal;
    }

    std::vector<LuaToken> m_tokens;
};
} // namespace

QList<NameUse> literalNames(const QString &lua)
{
    return Finder(lua).find();
}

} // namespace gridloom
