// SPDX-License-Identifier: Apache-2.0
// Compiling Lua text: the same for triggers, expressions and the check of a design.
#pragma once

#include <QByteArray>
#include <QString>

#include <lua.h>

#include <optional>
#include <utility>

namespace gridloom {

/// Compiles text (never a binary chunk) and pushes the function, or pushes the error message. Whether it worked.
/// `name` is what messages begin with. Raises a Lua error only when memory is out.
bool loadChunk(lua_State *state, const QByteArray &text, const QByteArray &name);
/// "return (EXPR)"; a comment at the end of the expression does no harm.
QByteArray expressionChunk(const QString &expression);

} // namespace gridloom
