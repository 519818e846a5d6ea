// SPDX-License-Identifier: Apache-2.0
// A script's `state` table as bytes, so that it outlives a restart: booleans, integers, floats, uint64 and text, in tables
// of tables; everything exact. Both raise Lua errors: call them in protected mode. docs/records.md has the layout.
#pragma once

#include <lua.h>

#include <QByteArray>

namespace gridloom {

/// Bytes that a state may have.
inline constexpr qsizetype kMaxState = 64 * 1024;
/// Tables within tables.
inline constexpr int kMaxStateDepth = 16;

/// Appends the table at `index`; nothing of an empty one. Raises an error that names the field ("state.a[3] is a
/// function") or the limit.
void saveState(lua_State *state, int index, QByteArray &out);
/// Fills the empty table at `index`. False when the bytes are not such a state; the table is then of no use.
bool loadState(lua_State *state, int index, QByteArrayView bytes);

} // namespace gridloom
