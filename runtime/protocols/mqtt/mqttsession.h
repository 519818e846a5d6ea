// SPDX-License-Identifier: Apache-2.0
// MqttClient::Session: one libmosquitto instance, one connection. Callbacks of the library only note what happened;
// MqttClient hands it out after the library has returned, since the library may not be closed from a callback.
// Private to mqttclient.cpp and mqttsession.cpp.
#pragma once

#include "protocols/mqtt/mqttclient.h"

#include <QSocketNotifier>

namespace gridloom {

struct MqttEvent {
    enum class Kind : std::uint8_t { Accepted, Acknowledged, Refused, Message, Subscribed };
    Kind kind = Kind::Accepted;
    int packetId = 0;
    bool isGranted = false;
    bool isRetryable = true;
    QString text;
    MqttMessage message;
};

/// What a result code of the library means; call it before errno can change.
QString describeMqttError(int code);

struct MqttClient::Session {
    explicit Session(const QByteArray &clientId);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    mosquitto *library() const { return m_library; }
    /// Error "mqtt.settings": what the library does not take, such as a certificate that cannot be read.
    Result<void> configure(const MqttSettings &settings);
    int publish(const MqttMessage &message, const MqttProperties &properties, int &packetId);
    /// DISCONNECT, as far as the socket takes it now.
    void sayGoodbye();

    const std::uint64_t number; ///< tells sessions apart
    std::unique_ptr<QSocketNotifier> readNotifier;
    std::unique_ptr<QSocketNotifier> writeNotifier;
    std::vector<MqttEvent> events;
    std::optional<Error> refusal; ///< CONNACK with a code other than 0
    int closeReason = 0;
    int publishResult = 0;
    bool isTcpUp = false;
    bool isClosedByLibrary = false;
    bool isSettlingSoon = false;

private:
    Result<void> setLogin(const MqttSettings &settings);
    int setTls(const MqttTls &tls);
    void setCallbacks();

    mosquitto *m_library = nullptr;
    bool m_isVersion5 = false;
};

} // namespace gridloom
