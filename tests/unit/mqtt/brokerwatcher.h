// SPDX-License-Identifier: Apache-2.0
// BrokerWatcher: Debian's mosquitto_sub as an independent witness of what reached a broker.
#pragma once

#include "tools/procs/childprocess.h"

#include <QByteArray>
#include <QList>

namespace gridloom {

class BrokerWatcher {
public:
    struct Message {
        QByteArray topic;
        QByteArray payload;
        QByteArray qos;
        QByteArray isRetained; ///< "1": a stored copy, sent because we subscribed
        QByteArray property;   ///< MQTT 5.0 user properties
    };

    /// Subscribes to everything; returns once the broker has granted it.
    Result<void> start(quint16 port, const QStringList &more = {})
    {
        const QStringList arguments{QStringLiteral("-d"),
                                    QStringLiteral("-h"),
                                    QStringLiteral("127.0.0.1"),
                                    QStringLiteral("-p"),
                                    QString::number(port),
                                    QStringLiteral("-V"),
                                    QStringLiteral("mqttv5"),
                                    QStringLiteral("-q"),
                                    QStringLiteral("2"),
                                    QStringLiteral("-t"),
                                    QStringLiteral("#"),
                                    QStringLiteral("-F"),
                                    QStringLiteral("MSG|%t|%p|%q|%r|%P")};
        const auto started =
            m_process.start(QStringLiteral("stdbuf"), // line by line into our pipe
                            QStringList{QStringLiteral("-oL"), QStringLiteral("mosquitto_sub")} + arguments + more);
        return started ? m_process.waitForOutput("Subscribed (mid", std::chrono::seconds(10)) : started;
    }

    QList<Message> messages() const
    {
        QList<Message> found;
        for (const QByteArray &line : m_process.output().split('\n')) {
            const QList<QByteArray> parts = line.split('|');
            if (parts.size() == 6 && parts[0] == "MSG")
                found.append({parts[1], parts[2], parts[3], parts[4], parts[5]});
        }
        return found;
    }

    QList<QByteArray> payloads(const QByteArray &topic) const
    {
        QList<QByteArray> found;
        for (const Message &message : messages()) {
            if (message.topic == topic)
                found.append(message.payload);
        }
        return found;
    }

private:
    ChildProcess m_process;
};

} // namespace gridloom
