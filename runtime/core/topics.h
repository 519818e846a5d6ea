// SPDX-License-Identifier: Apache-2.0
// Topics: how names become MQTT topic levels (OASIS MQTT 3.1.1, 4.7 and 1.5.3). Pure.
// Escaping: + # / % and every character a receiver may refuse (control characters and non-characters, 1.5.3) become
// %XX, one per UTF-8 byte, upper-case hex. All else stays as it is, so readable names stay readable.
#pragma once

#include "core/result.h"

#include <QByteArray>
#include <QList>
#include <QString>

#include <optional>

namespace gridloom {

/// A topic is a UTF-8 string with a two-byte length (1.5.3).
inline constexpr qsizetype kMaxTopicBytes = 65'535;

/// One topic level out of a name; "" only for an empty name. Lone surrogates become U+FFFD.
QByteArray escapeLevel(const QString &name);

/// The name that escapeLevel() turned into this level; nothing when it did not make it (a bare + # / %, wrong hex,
/// bytes that are not UTF-8).
std::optional<QString> unescapeLevel(const QByteArray &level);

/// May be published to: 1 to 65,535 bytes of UTF-8 without wildcard, control character or non-character.
bool validTopic(const QByteArray &topic);

/// Joins a prefix and names (escaped here) to a topic. Error "mqtt.topic": an empty name, or longer than 65,535 bytes.
Result<QByteArray> makeTopic(const QByteArray &prefix, const QList<QString> &names);

/// "gridloom/v1/{gateway}": everything of one gateway lies below it.
QByteArray topicPrefix(const QString &gateway);

} // namespace gridloom
