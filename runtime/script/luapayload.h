// SPDX-License-Identifier: Apache-2.0
// From a Lua value to a JSON payload.
#pragma once

#include <QByteArray>

#include <lua.h>

namespace gridloom {

/// The value at `index` as strict JSON (RFC 8259). A sequence is an array, a table with text keys an object with its
/// keys in byte order; an empty table is {}. nil, NaN and infinities are null; integers keep every digit.
/// Raises a Lua error that names the member for mixed keys, values JSON has no word for, more than 16 levels (a cycle)
/// and payloads over `maxBytes`.
QByteArray toPayload(lua_State *state, int index, std::size_t maxBytes);

} // namespace gridloom
