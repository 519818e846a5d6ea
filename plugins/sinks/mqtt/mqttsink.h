// SPDX-License-Identifier: Apache-2.0
// MqttSink: publishes what SinkRunner gives it and reports each PUBACK. It keeps no message beyond its connection:
// when that ends, everything unacknowledged is failed() and SinkRunner sends it again.
// Beside them it keeps its own retained topic "{prefix}/status" (QoS 1, no message id, in no ledger):
// {"state":"online",..} on connect, {"state":"offline",..} at the end, by the last will when the end is sudden.
#pragma once

#include "core/clock.h"
#include "protocols/mqtt/mqttclient.h"
#include "sdk/sink.h"

#include <QObject>

#include <chrono>
#include <memory>
#include <vector>

namespace gridloom {

class MqttSink : public QObject, public Sink {
    Q_OBJECT
public:
    MqttSink(SinkHost &host, const Clock &clock);
    ~MqttSink() override;

    /// Errors: "mqtt.settings".
    Result<void> configure(const QJsonObject &params, const QByteArray &topicPrefix) override;
    Result<void> subscribe(const QByteArray &filter) override;
    void start() override;
    void send(std::span<const OutboundMessage> messages) override;
    void stop() override;
    SinkStatistics statistics() const override { return m_statistics; }

private:
    struct Held {
        int packetId = 0;
        std::uint64_t messageId = 0;
    };

    void connected();
    void disconnected(const Error &why);
    void acknowledged(int packetId);
    void refused(int packetId, const Error &why);
    void subscribed(const QByteArray &filter, bool isGranted);
    void acknowledgementIsDue();
    std::optional<Held> take(int packetId);
    void failAll(const Error &why);
    QByteArray statusPayload(const char *state) const;

    SinkHost &m_host;
    const Clock &m_clock;
    MqttSettings m_settings;
    QByteArray m_topicPrefix;
    QByteArray m_statusTopic;
    std::vector<QByteArray> m_filters;
    std::chrono::milliseconds m_ackTimeout{10'000};
    std::unique_ptr<MqttClient> m_client;
    std::vector<Held> m_held; ///< in the order sent; at most kSinkWindow
    QTimer m_ackTimer;        ///< runs while something is held
    QElapsedTimer m_sinceProgress;
    QString m_reportedFailure; ///< code of the last connectionChanged(false)
    SinkStatistics m_statistics;
};

} // namespace gridloom
