// SPDX-License-Identifier: Apache-2.0
#include "mqttsink.h"

#include "core/json.h"
#include "core/topics.h"

#include <QDateTime>
#include <QLoggingCategory>

#include <algorithm>

namespace gridloom {

namespace {

Q_LOGGING_CATEGORY(lcMqtt, "gridloom.sink.mqtt")

Error settingsError(const QString &message)
{
    return Error{QStringLiteral("mqtt.settings"), message};
}

std::chrono::milliseconds milliseconds(const QJsonObject &params, QLatin1String key, int fallback)
{
    return std::chrono::milliseconds(params.value(key).toInt(fallback));
}

} // namespace

MqttSink::MqttSink(SinkHost &host, const Clock &clock) : m_host(host), m_clock(clock)
{
    m_ackTimer.setSingleShot(true);
    connect(&m_ackTimer, &QTimer::timeout, this, &MqttSink::acknowledgementIsDue);
}

MqttSink::~MqttSink() = default;

Result<void> MqttSink::configure(const QJsonObject &params, const QByteArray &topicPrefix)
{
    m_settings = {};
    m_settings.host = params.value(QLatin1String("host")).toString();
    if (m_settings.host.isEmpty())
        return settingsError(QStringLiteral("host is empty; name the MQTT broker"));
    const int port = params.value(QLatin1String("port")).toInt(1883);
    if (port < 1 || port > 65'535)
        return settingsError(QStringLiteral("port %1 is none; use 1 to 65535").arg(port));
    m_settings.port = static_cast<std::uint16_t>(port);
    m_topicPrefix = topicPrefix;
    m_statusTopic = topicPrefix + "/status";
    if (!validTopic(m_statusTopic))
        return settingsError(QStringLiteral("the gateway's name gives no valid topic; shorten it"));
    m_settings.clientId = params.value(QLatin1String("clientId")).toString().toUtf8();
    if (m_settings.clientId.isEmpty())
        m_settings.clientId = "gridloom-" + topicPrefix.mid(topicPrefix.lastIndexOf('/') + 1);
    m_settings.username = params.value(QLatin1String("username")).toString();
    m_settings.passwordFile = params.value(QLatin1String("passwordFile")).toString();
    if (m_settings.username.isEmpty() && !m_settings.passwordFile.isEmpty())
        return settingsError(QStringLiteral("passwordFile stands without username; give both or none"));
    m_settings.isVersion5 = params.value(QLatin1String("version")).toString() == QLatin1String("5");
    m_settings.keepAlive = std::chrono::seconds(params.value(QLatin1String("keepAliveS")).toInt(30));
    m_settings.connectTimeout = milliseconds(params, QLatin1String("connectTimeoutMs"), 10'000);
    m_ackTimeout = milliseconds(params, QLatin1String("ackTimeoutMs"), 10'000);
    if (params.contains(QLatin1String("tls"))) {
        const QJsonObject tls = params.value(QLatin1String("tls")).toObject();
        m_settings.tls =
            MqttTls{tls.value(QLatin1String("caFile")).toString(), tls.value(QLatin1String("certFile")).toString(),
                    tls.value(QLatin1String("keyFile")).toString()};
        if (m_settings.tls->certFile.isEmpty() != m_settings.tls->keyFile.isEmpty())
            return settingsError(QStringLiteral("tls.certFile and tls.keyFile belong together; give both or none"));
    }
    m_settings.will = MqttWill{m_statusTopic, R"({"state":"offline"})", 1, true};
    return {};
}

Result<void> MqttSink::subscribe(const QByteArray &filter)
{
    m_filters.push_back(m_topicPrefix + '/' + filter);
    return {};
}

void MqttSink::start()
{
    m_client = std::make_unique<MqttClient>(m_settings);
    for (const QByteArray &filter : m_filters)
        static_cast<void>(m_client->subscribe(filter, 1)); // its own words below a prefix that was checked
    connect(m_client.get(), &MqttClient::subscribed, this, &MqttSink::subscribed);
    connect(m_client.get(), &MqttClient::messageReceived, this, [this](const MqttMessage &message) {
        m_host.messageReceived(message.topic, message.payload, message.isRetained);
    });
    connect(m_client.get(), &MqttClient::connected, this, &MqttSink::connected);
    connect(m_client.get(), &MqttClient::disconnected, this, &MqttSink::disconnected);
    connect(m_client.get(), &MqttClient::acknowledged, this, &MqttSink::acknowledged);
    connect(m_client.get(), &MqttClient::refused, this, &MqttSink::refused);
    m_client->open();
}

void MqttSink::send(std::span<const OutboundMessage> messages)
{
    for (const OutboundMessage &message : messages) {
        MqttProperties properties;
        if (m_settings.isVersion5)
            properties.emplace_back("id", QByteArray::number(message.id));
        if (m_settings.isVersion5 && message.isBackfill)
            properties.emplace_back("backfill", "true");
        const auto published =
            m_client->publish({message.topic, message.payload, message.qos, message.isRetained}, properties);
        if (!published) {
            m_host.failed(message.id, published.error());
            continue;
        }
        ++m_statistics.sent;
        m_held.push_back({published.value(), message.id});
        if (!m_ackTimer.isActive()) {
            m_sinceProgress.start();
            m_ackTimer.start(m_ackTimeout);
        }
    }
}

void MqttSink::stop()
{
    if (!m_client)
        return;
    // QoS 0, since a message of QoS 1 could wait in the library behind unacknowledged ones. Order on the connection
    // does the rest: the broker sees it before DISCONNECT.
    if (m_client->isConnected())
        static_cast<void>(m_client->publish({m_statusTopic, statusPayload("offline"), 0, true}));
    m_client->close();
    m_statistics.isConnected = false;
    failAll(Error{QStringLiteral("mqtt.stopped"), QStringLiteral("the MQTT sink was stopped"), true});
    m_client.reset();
}

void MqttSink::connected()
{
    ++m_statistics.connects;
    m_statistics.isConnected = true;
    m_reportedFailure.clear();
    static_cast<void>(m_client->publish({m_statusTopic, statusPayload("online"), 1, true}));
    m_host.connectionChanged(true, {});
}

void MqttSink::disconnected(const Error &why)
{
    const bool wasConnected = std::exchange(m_statistics.isConnected, false);
    failAll(why);
    // Attempts that fail alike are reported once.
    if (wasConnected || m_reportedFailure != why.code) {
        m_reportedFailure = why.code;
        m_host.connectionChanged(false, why);
    }
}

void MqttSink::acknowledged(int packetId)
{
    const auto held = take(packetId);
    if (!held)
        return; // our own status
    ++m_statistics.acknowledged;
    m_host.delivered(held->messageId);
}

void MqttSink::refused(int packetId, const Error &why)
{
    if (const auto held = take(packetId))
        m_host.failed(held->messageId, why);
}

/// Without commands the rest of the sink is as good as ever, so the connection stays.
void MqttSink::subscribed(const QByteArray &filter, bool isGranted)
{
    if (!isGranted)
        qCWarning(lcMqtt).noquote() << m_settings.host << "refused the subscription to" << filter
                                    << "- commands will not arrive. Check the access rights of this client";
}

/// The timer is not restarted with each acknowledgement; it looks here how long the last one is ago.
void MqttSink::acknowledgementIsDue()
{
    if (m_held.empty())
        return;
    const std::chrono::milliseconds waited(m_sinceProgress.elapsed());
    if (waited < m_ackTimeout) {
        m_ackTimer.start(m_ackTimeout - waited);
        return;
    }
    m_client->dropConnection(Error{QStringLiteral("mqtt.ackTimeout"),
                                   QStringLiteral("%1 acknowledged none of %2 messages for %3 ms; connecting anew")
                                       .arg(m_settings.host)
                                       .arg(m_held.size())
                                       .arg(waited.count()),
                                   true});
}

/// No longer held when the host hears of it: it may send() from within.
std::optional<MqttSink::Held> MqttSink::take(int packetId)
{
    const auto found =
        std::find_if(m_held.begin(), m_held.end(), [=](const Held &held) { return held.packetId == packetId; });
    if (found == m_held.end())
        return std::nullopt;
    const Held held = *found;
    m_held.erase(found);
    m_sinceProgress.start();
    if (m_held.empty())
        m_ackTimer.stop();
    return held;
}

void MqttSink::failAll(const Error &why)
{
    m_ackTimer.stop();
    const std::vector<Held> held = std::exchange(m_held, {});
    for (const Held &one : held)
        m_host.failed(one.messageId, why);
}

QByteArray MqttSink::statusPayload(const char *state) const
{
    const auto sinceEpoch = std::chrono::duration_cast<std::chrono::milliseconds>(m_clock.wallNow().time_since_epoch());
    const QDateTime time = QDateTime::fromMSecsSinceEpoch(sinceEpoch.count(), Qt::UTC);
    JsonWriter json(96);
    json.beginObject();
    json.key("state").string(state);
    json.key("time").string(time.toString(Qt::ISODateWithMs));
    json.key("version").string(GRIDLOOM_VERSION);
    json.endObject();
    return json.take();
}

} // namespace gridloom
