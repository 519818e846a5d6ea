// SPDX-License-Identifier: Apache-2.0
// Text from a script on its way into a log line, an alarm or an error message. Pure.
#pragma once

#include <QByteArray>

#include <cstddef>
#include <string_view>

namespace gridloom {

/// Valid UTF-8 on one line: control characters (C0, DEL, C1), line and paragraph separators and malformed bytes are
/// written as \n, \r, \t or \xNN. At most `maxBytes` long, cut between two characters.
QByteArray printable(std::string_view text, std::size_t maxBytes);
/// Whether all of it is well-formed UTF-8 (RFC 3629).
bool isUtf8(std::string_view text);

} // namespace gridloom
