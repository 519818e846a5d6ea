// SPDX-License-Identifier: Apache-2.0
// MqttClient: one connection to an MQTT broker (OASIS MQTT 3.1.1 or 5.0), kept up by itself: libmosquitto on the
// event loop of the thread that owns this object. No call blocks; a dead broker or name server costs no time.
// Each connection is a clean session with a new library instance, so nothing of an old one is ever sent again: what
// was published and not acknowledged when disconnected() comes is the caller's to repeat.
// Signals come from the event loop, never from inside a call. A slot may call close(), but must not delete the client
// (deleteLater() will do).
#pragma once

#include "core/result.h"
#include "protocols/mqtt/backoff.h"
#include "protocols/mqtt/hostlookup.h"

#include <QByteArray>
#include <QElapsedTimer>
#include <QList>
#include <QObject>
#include <QTimer>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

struct mosquitto;
struct mosquitto_message;
class QSocketNotifier;

namespace gridloom {

struct MqttTls {
    QString caFile;   ///< PEM; empty: the certificates the system trusts
    QString certFile; ///< PEM, with keyFile: the client's own certificate
    QString keyFile;
};

struct MqttWill {
    QByteArray topic;
    QByteArray payload;
    std::uint8_t qos = 1;
    bool isRetained = true;
};

struct MqttSettings {
    QString host;
    std::uint16_t port = 1883;
    QByteArray clientId; ///< UTF-8, not empty; unique at the broker
    QString username;    ///< empty: no login
    QString password;
    QString passwordFile; ///< instead of `password`: its first line, read at each attempt
    bool isVersion5 = false;
    std::chrono::seconds keepAlive{30};               ///< 5 to 65,535 s
    std::chrono::milliseconds connectTimeout{10'000}; ///< name, TCP, TLS and CONNACK together
    std::chrono::milliseconds firstRetry{1'000};
    std::chrono::milliseconds longestRetry{60'000};
    std::optional<MqttTls> tls;
    std::optional<MqttWill> will;
};

struct MqttMessage {
    QByteArray topic;
    QByteArray payload;
    std::uint8_t qos = 0;
    bool isRetained = false;
};

/// Names and values.
using MqttProperties = std::vector<std::pair<QByteArray, QByteArray>>;

class MqttClient : public QObject {
    Q_OBJECT
public:
    explicit MqttClient(MqttSettings settings, QObject *parent = nullptr);
    /// Closes without a DISCONNECT, so the broker publishes the will; call close() first to say goodbye.
    ~MqttClient() override;

    /// Connects and stays connected until close(): after a loss it tries again after 1, 2, 4 .. 60 s (with chance).
    void open();
    /// Sends DISCONNECT when connected (the broker drops the will) and stops trying. No signal follows. Idempotent.
    void close();
    bool isConnected() const { return m_isConnected; }

    /// Hands one message to the socket; what the socket does not take, or with 5.0 the broker's receive maximum holds
    /// back, the library queues without bound: the caller bounds what it gives. `properties` go along as user properties
    /// (5.0 only). Answers the packet id that acknowledged() or refused() will name, unless
    /// disconnected() comes first. Errors: "mqtt.notConnected" and "mqtt.lost" (retryable), "mqtt.topic",
    /// "mqtt.payload".
    Result<int> publish(const MqttMessage &message, const MqttProperties &properties = {});
    /// Kept over reconnects; answered by subscribed() each time the broker granted it. Error "mqtt.topic".
    Result<void> subscribe(const QByteArray &filter, std::uint8_t qos);
    /// Gives up this connection for a reason the caller saw (no acknowledgement for too long); disconnected() follows
    /// from the event loop, then a new attempt.
    void dropConnection(const Error &why);

Q_SIGNALS:
    void connected();
    /// A connection was lost or an attempt failed. `why` is retryable always: the next attempt is scheduled.
    void disconnected(const gridloom::Error &why);
    /// QoS 0: written to the socket. QoS 1: PUBACK. QoS 2: PUBCOMP.
    void acknowledged(int packetId);
    /// MQTT 5.0: the broker acknowledged with a reason code of 0x80 or above and keeps nothing of the message. Not retryable
    /// when it says that this topic or payload will never do (0x90, 0x99).
    void refused(int packetId, const gridloom::Error &why);
    void subscribed(const QByteArray &filter, bool isGranted);
    void messageReceived(const gridloom::MqttMessage &message);

private:
    struct Session;
    struct Subscription {
        QByteArray filter;
        std::uint8_t qos = 0;
        int packetId = 0;
    };

    void attempt();
    void addressesFound(const QList<QByteArray> &addresses, const QString &error);
    void connectTo(const QByteArray &host);
    void watch();
    void readSocket();
    void writeSocket();
    bool isTcpUp();
    void keepAlive();
    void settle(int libraryResult);
    void settleSoon();
    bool deliverEvents();
    void connectionAccepted();
    void sendSubscription(Subscription &subscription);
    void updateWriteNotifier();
    void lose(const Error &why);

    const MqttSettings m_settings;
    Backoff m_backoff;
    HostLookup m_lookup;
    QTimer m_retry;
    QTimer m_deadline;
    QTimer m_keepAlive;
    QElapsedTimer m_connectedFor;
    std::chrono::milliseconds m_lastWait{0};
    std::unique_ptr<Session> m_session;
    QList<Subscription> m_subscriptions;
    qsizetype m_addressIndex = 0;
    bool m_isOpen = false;
    bool m_isConnected = false;
    bool m_awaitsAddresses = false;
};

} // namespace gridloom
