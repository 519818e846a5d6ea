// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/subscriber.h"

namespace gridloom {

namespace {
const QByteArray kEverything = QByteArrayLiteral("gridloom/v1/#");
const QByteArray kFence = QByteArrayLiteral("gridloom-bench/fence");
} // namespace

void Subscriber::open(quint16 brokerPort)
{
    MqttSettings settings;
    settings.host = QStringLiteral("127.0.0.1");
    settings.port = brokerPort;
    settings.clientId = "outside-subscriber"; // sinks are called gridloom-GATEWAY
    m_client = std::make_unique<MqttClient>(settings);
    connect(m_client.get(), &MqttClient::subscribed, this, [this](const QByteArray &, bool isGranted) {
        m_grants += isGranted ? 1 : 0;
        m_isReady = m_grants >= 2;
    });
    connect(m_client.get(), &MqttClient::disconnected, this, [this] { ++m_losses; });
    connect(m_client.get(), &MqttClient::messageReceived, this, [this](const MqttMessage &message) {
        if (message.topic == kFence)
            m_hasFenceReturned = true;
        else
            m_count.add(message.topic, message.payload, message.qos);
    });
    for (const QByteArray &filter : {kEverything, kFence})
        if (const auto asked = m_client->subscribe(filter, 1); !asked)
            qFatal("%s", qPrintable(asked.error().message)); // a constant filter
    m_client->open();
}

Result<void> Subscriber::sendFence()
{
    const auto sent = m_client->publish({kFence, QByteArrayLiteral("{}"), 1, false});
    return sent ? Result<void>() : Result<void>(sent.error());
}

} // namespace gridloom
