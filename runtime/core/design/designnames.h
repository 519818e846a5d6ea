// SPDX-License-Identifier: Apache-2.0
// The rules for ids and names (docs/design-format.md). Pure.
#pragma once

#include <QString>

namespace gridloom {

/// [a-z0-9][a-z0-9-]{0,62}
bool isValidId(QStringView id);

/// What is wrong with a name and what to do; empty when nothing is. A name has 1 to 256 characters (code points), no
/// control character, line or paragraph separator, and no dot. Anything else stays as it is, byte for byte.
/// 256 characters are at most 1,024 bytes of UTF-8, and 768 bytes when every one is escaped as %XX; a topic holds three
/// names, so no topic can reach MQTT's limit of 65,535 bytes (MQTT 3.1.1, 1.5.3).
QString nameProblem(const QString &name);

} // namespace gridloom
