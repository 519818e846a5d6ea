// SPDX-License-Identifier: Apache-2.0
// Subscriber: an MQTT client beside the runtime that counts what the broker delivers. Used on one thread with an
// event loop.
#pragma once

#include "protocols/mqtt/mqttclient.h"
#include "tools/bench/messagecount.h"

#include <memory>

namespace gridloom {

class Subscriber : public QObject {
    Q_OBJECT
public:
    /// Connects and subscribes to gridloom/v1/# at QoS 1; isReady() once the broker has granted it.
    void open(quint16 brokerPort);
    bool isReady() const { return m_isReady; }
    /// Sends a message to itself. The broker delivers in order, so when hasFenceReturned() everything it had taken
    /// before has been counted.
    Result<void> sendFence();
    bool hasFenceReturned() const { return m_hasFenceReturned; }
    const MessageCount &count() const { return m_count; }
    /// Connections lost since open(): the broker keeps no session for us, so messages may have been missed.
    int losses() const { return m_losses; }

private:
    std::unique_ptr<MqttClient> m_client;
    MessageCount m_count;
    int m_grants = 0;
    int m_losses = 0;
    bool m_isReady = false;
    bool m_hasFenceReturned = false;
};

} // namespace gridloom
