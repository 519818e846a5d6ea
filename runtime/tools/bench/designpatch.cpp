// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/designpatch.h"

#include <QJsonDocument>
#include <QJsonObject>

namespace gridloom {

namespace {

Error designError(const QString &message)
{
    return {QStringLiteral("bench.design"), message};
}

void setAddress(QJsonObject &part, int port)
{
    QJsonObject params = part.value(QLatin1String("params")).toObject();
    params.insert(QStringLiteral("host"), QStringLiteral("127.0.0.1"));
    params.insert(QStringLiteral("port"), port);
    part.insert(QStringLiteral("params"), params);
}

/// Ports by channel id, by way of the devices.
Result<QHash<QString, int>> channelPorts(const DesignDocument &document, const QHash<QString, int> &ports)
{
    QHash<QString, int> byChannel;
    for (const auto &[path, content] : document) {
        if (!path.startsWith("devices/"))
            continue;
        const QJsonDocument json = QJsonDocument::fromJson(content);
        if (!json.isObject())
            return designError(QStringLiteral("%1 is no JSON object").arg(QString::fromUtf8(path)));
        const auto port = ports.find(json.object().value(QLatin1String("id")).toString());
        if (port != ports.end())
            byChannel.insert(json.object().value(QLatin1String("channel")).toString(), *port);
    }
    return byChannel;
}

} // namespace

Result<DesignDocument> patchAddresses(DesignDocument document, const QHash<QString, int> &ports, int brokerPort)
{
    const auto byChannel = channelPorts(document, ports);
    if (!byChannel)
        return byChannel.error();
    for (auto &[path, content] : document) {
        const bool isChannel = path.startsWith("channels/");
        if (!isChannel && !path.startsWith("sinks/"))
            continue;
        QJsonObject part = QJsonDocument::fromJson(content).object();
        const QString id = part.value(QLatin1String("id")).toString();
        if (id.isEmpty())
            return designError(QStringLiteral("%1 is no JSON object with an id").arg(QString::fromUtf8(path)));
        if (isChannel && part.value(QLatin1String("driver")).toString() == QLatin1String("modbus")) {
            if (!byChannel.value().contains(id))
                return designError(QStringLiteral("channel %1: the simulator serves none of its devices").arg(id));
            setAddress(part, byChannel.value().value(id));
        } else if (!isChannel && part.value(QLatin1String("sink")).toString() == QLatin1String("mqtt")) {
            setAddress(part, brokerPort);
        }
        content = QJsonDocument(part).toJson();
    }
    return document;
}

} // namespace gridloom
