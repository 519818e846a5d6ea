// SPDX-License-Identifier: Apache-2.0
// One JSON file of a design, read strictly (RFC 8259, with a leading byte order mark tolerated as section 8.1 allows).
// QJsonDocument parses; a scan afterwards finds what it lets pass: keys that stand twice in an object (it keeps one of
// them silently), unescaped control characters, unknown escapes and halves of surrogate pairs in strings. Pure.
#pragma once

#include "core/design/faultlist.h"

#include <QJsonObject>

#include <optional>

namespace gridloom {

/// The object in the file; nothing, and one fault, when it cannot be read: "design.notUtf8", "design.syntax",
/// "design.wrongType" (a list). What only the scan finds ("design.duplicateKey", "design.syntax") is a fault each, with
/// line and pointer, beside the object: reading goes on to find the other faults. Nesting is bounded (1,024).
std::optional<QJsonObject> readJsonText(const QByteArray &bytes, const QString &path, FaultList &faults);

/// "~" and "/" of a key as "~0" and "~1" (RFC 6901, section 3).
QString escapedForPointer(QStringView key);

/// A fault "design.notUtf8" with its line when the bytes are no UTF-8; true when they are.
bool checkUtf8(const QByteArray &bytes, const QString &path, FaultList &faults);

} // namespace gridloom
