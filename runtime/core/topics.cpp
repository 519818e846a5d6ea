// SPDX-License-Identifier: Apache-2.0
#include "core/topics.h"

namespace gridloom {

namespace {

bool mustEscape(char32_t c)
{
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) // U+0000 must not, control characters should not occur (1.5.3)
        return true;
    if ((c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE) // non-characters: mosquitto closes the connection
        return true;
    return c == U'+' || c == U'#' || c == U'/' || c == U'%';
}

/// The code point that begins at `at` of well-formed UTF-8; `at` moves behind it.
char32_t nextCodePoint(QByteArrayView utf8, qsizetype &at)
{
    const auto lead = static_cast<unsigned char>(utf8[at++]);
    if (lead < 0x80)
        return lead;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    char32_t c = lead & (0x3FU >> more);
    for (int i = 0; i < more; ++i)
        c = c << 6U | (static_cast<unsigned char>(utf8[at++]) & 0x3FU);
    return c;
}

int hexDigit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

} // namespace

QByteArray escapeLevel(const QString &name)
{
    constexpr char kHex[] = "0123456789ABCDEF";
    QByteArray level;
    level.reserve(name.size() + 8);
    for (const char32_t c : name.toUcs4()) {
        const bool isSurrogate = c >= 0xD800 && c <= 0xDFFF;
        const QByteArray utf8 = QString::fromUcs4(isSurrogate ? U"\uFFFD" : &c, 1).toUtf8();
        if (!mustEscape(c)) {
            level += utf8;
            continue;
        }
        for (const char byte : utf8) {
            const auto bits = static_cast<unsigned char>(byte);
            level += '%';
            level += kHex[bits >> 4];
            level += kHex[bits & 15];
        }
    }
    return level;
}

std::optional<QString> unescapeLevel(const QByteArray &level)
{
    QByteArray utf8;
    utf8.reserve(level.size());
    for (qsizetype i = 0; i < level.size(); ++i) {
        if (level[i] != '%') {
            utf8 += level[i];
            continue;
        }
        if (i + 2 >= level.size())
            return std::nullopt;
        const int high = hexDigit(level[i + 1]);
        const int low = hexDigit(level[i + 2]);
        if (high < 0 || low < 0)
            return std::nullopt;
        utf8 += static_cast<char>(high << 4 | low);
        i += 2;
    }
    QString name = QString::fromUtf8(utf8);
    if (escapeLevel(name) != level)
        return std::nullopt;
    return name;
}

bool validTopic(const QByteArray &topic)
{
    if (topic.isEmpty() || topic.size() > kMaxTopicBytes)
        return false;
    if (!QUtf8StringView(topic).isValidUtf8())
        return false;
    for (qsizetype at = 0; at < topic.size();) {
        const char32_t c = nextCodePoint(topic, at);
        if (c != U'/' && c != U'%' && mustEscape(c))
            return false;
    }
    return true;
}

Result<QByteArray> makeTopic(const QByteArray &prefix, const QList<QString> &names)
{
    QByteArray topic = prefix;
    for (const QString &name : names) {
        if (name.isEmpty())
            return Error{QStringLiteral("mqtt.topic"),
                         QStringLiteral("a name below topic %1 is empty; give it at least one character")
                             .arg(QString::fromUtf8(prefix.left(80)))};
        if (!topic.isEmpty())
            topic += '/';
        topic += escapeLevel(name);
    }
    if (topic.size() > kMaxTopicBytes)
        return Error{QStringLiteral("mqtt.topic"),
                     QStringLiteral("topic %1... has %2 bytes, MQTT allows %3; shorten the names")
                         .arg(QString::fromUtf8(topic.left(80)))
                         .arg(topic.size())
                         .arg(kMaxTopicBytes)};
    return topic;
}

QByteArray topicPrefix(const QString &gateway)
{
    return "gridloom/v1/" + escapeLevel(gateway);
}

} // namespace gridloom
