// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/messagecount.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QVariant>

namespace gridloom {

void MessageCount::add(const QByteArray &topic, const QByteArray &payload, int qos)
{
    if (qos < 1 || topic.endsWith("/status"))
        return;
    const QJsonValue id = QJsonDocument::fromJson(payload).object().value(QLatin1String("id"));
    if (!id.isString() && !id.isDouble()) {
        ++m_withoutId;
        return;
    }
    if (!m_ids.insert(id.toVariant().toString().toStdString()).second)
        ++m_duplicates;
}

} // namespace gridloom
