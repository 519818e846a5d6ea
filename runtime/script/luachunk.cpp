// SPDX-License-Identifier: Apache-2.0
#include "script/luachunk.h"

#include "script/luasandbox.h"
#include "script/luatext.h"
#include "script/triggerscript.h"

namespace gridloom {

namespace {
// A chunk may be larger than what a script may use at run time; this only bounds a hostile one.
constexpr std::size_t kCheckMemory = 64u << 20;
constexpr char kName[] = "script";

struct Check {
    QByteArray text;
    QByteArray message;
    bool isFine = false;
};

int checkChunk(lua_State *L)
{
    auto &check = *static_cast<Check *>(lua_touserdata(L, 1));
    check.isFine = loadChunk(L, check.text, kName);
    if (!check.isFine)
        check.message = lua_tostring(L, -1);
    return 0;
}

// "script:12: message" to its parts; a message without a place is one about line 1.
std::pair<int, QString> splitMessage(const QByteArray &message, int lines)
{
    const QByteArray prefix = QByteArray(kName) + ':';
    const qsizetype colon = message.indexOf(':', prefix.size());
    if (message.startsWith(prefix) && colon > 0) {
        bool isNumber = false;
        const int line = message.mid(prefix.size(), colon - prefix.size()).toInt(&isNumber);
        if (isNumber)
            return {std::clamp(line, 1, lines), QString::fromUtf8(message.mid(colon + 1).trimmed())};
    }
    return {1, QString::fromUtf8(message)};
}
} // namespace

bool loadChunk(lua_State *L, const QByteArray &text, const QByteArray &name)
{
    const QByteArray chunkName = '=' + name;
    const int status =
        luaL_loadbufferx(L, text.constData(), static_cast<std::size_t>(text.size()), chunkName.constData(), "t");
    if (status == LUA_ERRMEM)
        lua_error(L);
    return status == LUA_OK;
}

QByteArray expressionChunk(const QString &expression)
{
    return "return (" + expression.toUtf8() + "\n)";
}

std::optional<std::pair<int, QString>> checkLuaSyntax(const QString &lua, bool isExpression)
{
    const auto sandbox = LuaSandbox::create(kName, kCheckMemory);
    if (!sandbox)
        return std::pair(1, sandbox.error().message);
    Check check;
    check.text = isExpression ? expressionChunk(lua) : lua.toUtf8();
    const LuaSandbox::Outcome outcome = sandbox.value()->setUp(&checkChunk, &check);
    if (outcome.outcome != ScriptOutcome::Ok)
        return std::pair(1, outcome.error);
    if (check.isFine)
        return std::nullopt;
    const QByteArray message =
        printable({check.message.constData(), static_cast<std::size_t>(check.message.size())}, 1024);
    return splitMessage(message, static_cast<int>(lua.count(QLatin1Char('\n'))) + 1);
}

} // namespace gridloom
