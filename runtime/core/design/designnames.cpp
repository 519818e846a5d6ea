// SPDX-License-Identifier: Apache-2.0
#include "core/design/designnames.h"

namespace gridloom {

bool isValidId(QStringView id)
{
    constexpr qsizetype kLongest = 63;
    if (id.isEmpty() || id.size() > kLongest || id[0] == u'-')
        return false;
    return std::all_of(id.begin(), id.end(),
                       [](QChar c) { return (c >= u'a' && c <= u'z') || (c >= u'0' && c <= u'9') || c == u'-'; });
}

QString nameProblem(const QString &name)
{
    constexpr qsizetype kLongest = 256;
    if (name.isEmpty())
        return QStringLiteral("the name is empty; give it 1 to 256 characters");
    qsizetype length = 0;
    for (const QChar c : name) {
        if (c.category() == QChar::Other_Control || c == QChar::LineSeparator || c == QChar::ParagraphSeparator)
            return QStringLiteral("the name holds the control character U+%1; remove it")
                .arg(QString::number(c.unicode(), 16).toUpper(), 4, QLatin1Char('0'));
        if (c == u'.')
            return QStringLiteral("the name holds a dot, which separates device and point in scripts; "
                                  "use another character");
        length += c.isLowSurrogate() ? 0 : 1;
    }
    if (length > kLongest)
        return QStringLiteral("the name has %1 characters; shorten it to at most 256").arg(length);
    return {};
}

} // namespace gridloom
