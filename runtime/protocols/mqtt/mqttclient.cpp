// SPDX-License-Identifier: Apache-2.0
#include "protocols/mqtt/mqttclient.h"

#include "core/topics.h"
#include "protocols/mqtt/mqttsession.h"

#include <QRandomGenerator>
#include <QSocketNotifier>

#include <mosquitto.h>

#include <sys/ioctl.h>
#include <sys/socket.h>

namespace gridloom {

using namespace std::chrono_literals;

namespace {

/// Packets taken in per wake-up, so that a flood leaves the thread's other work its turn.
constexpr int kReadsPerWakeUp = 64;

Error retryable(const char *code, const QString &message)
{
    return Error{QString::fromLatin1(code), message, true};
}

int bytesWaiting(int socket)
{
    int bytes = 0;
    return ::ioctl(socket, FIONREAD, &bytes) == 0 ? bytes : 0;
}

} // namespace

MqttClient::MqttClient(MqttSettings settings, QObject *parent)
    : QObject(parent), m_settings(std::move(settings)), m_backoff(m_settings.firstRetry, m_settings.longestRetry)
{
    m_retry.setSingleShot(true);
    m_deadline.setSingleShot(true);
    m_keepAlive.setInterval(1s); // as mosquitto_loop_misc() asks for
    connect(&m_retry, &QTimer::timeout, this, &MqttClient::attempt);
    connect(&m_keepAlive, &QTimer::timeout, this, &MqttClient::keepAlive);
    connect(&m_lookup, &HostLookup::finished, this, &MqttClient::addressesFound);
    connect(&m_deadline, &QTimer::timeout, this, [this] {
        lose(retryable("mqtt.timeout",
                       QStringLiteral("%1 did not accept the connection within %2 ms")
                           .arg(m_settings.host)
                           .arg(m_settings.connectTimeout.count())));
    });
}

MqttClient::~MqttClient() = default;

void MqttClient::open()
{
    if (m_isOpen)
        return;
    m_isOpen = true;
    m_backoff.reset();
    attempt();
}

void MqttClient::close()
{
    m_isOpen = false;
    m_awaitsAddresses = false;
    m_retry.stop();
    m_deadline.stop();
    m_keepAlive.stop();
    if (m_session && m_isConnected)
        m_session->sayGoodbye();
    m_isConnected = false;
    m_session.reset();
}

void MqttClient::attempt()
{
    m_deadline.start(m_settings.connectTimeout);
    const QByteArray host = m_settings.host.toUtf8();
    if (HostLookup::isAddress(host)) {
        connectTo(host);
        return;
    }
    m_awaitsAddresses = true;
    m_lookup.start(host);
}

void MqttClient::addressesFound(const QList<QByteArray> &addresses, const QString &error)
{
    if (!m_awaitsAddresses)
        return; // the attempt is over; the next one looks again
    m_awaitsAddresses = false;
    if (addresses.isEmpty()) {
        lose(retryable("mqtt.host",
                       QStringLiteral("the name %1 was not resolved: %2. Check the host of the sink and "
                                      "the name server")
                           .arg(m_settings.host, error)));
        return;
    }
    // With TLS the library must be given the name, which the certificate is checked against; it looks it up again,
    // right after the look-up that has just succeeded. Otherwise each attempt takes the next address.
    connectTo(m_settings.tls ? m_settings.host.toUtf8() : addresses.at(m_addressIndex++ % addresses.size()));
}

void MqttClient::connectTo(const QByteArray &host)
{
    auto session = std::make_unique<Session>(m_settings.clientId);
    if (const auto configured = session->configure(m_settings); !configured) {
        lose(configured.error());
        return;
    }
    // Without a library thread this neither waits for the TCP handshake nor for an answer: CONNECT is queued.
    const int result = mosquitto_connect_async(session->library(), host.constData(), m_settings.port,
                                               static_cast<int>(m_settings.keepAlive.count()));
    if (result != MOSQ_ERR_SUCCESS) {
        lose(retryable("mqtt.connect",
                       QStringLiteral("%1:%2 was not reached: %3")
                           .arg(m_settings.host)
                           .arg(m_settings.port)
                           .arg(describeMqttError(result))));
        return;
    }
    m_session = std::move(session);
    watch();
}

void MqttClient::watch()
{
    const int socket = mosquitto_socket(m_session->library());
    m_session->readNotifier = std::make_unique<QSocketNotifier>(socket, QSocketNotifier::Read);
    m_session->writeNotifier = std::make_unique<QSocketNotifier>(socket, QSocketNotifier::Write);
    connect(m_session->readNotifier.get(), &QSocketNotifier::activated, this, &MqttClient::readSocket);
    connect(m_session->writeNotifier.get(), &QSocketNotifier::activated, this, &MqttClient::writeSocket);
}

/// The first event on the socket tells how the TCP handshake ended; the system's words are better than the library's.
bool MqttClient::isTcpUp()
{
    if (m_session->isTcpUp)
        return true;
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(mosquitto_socket(m_session->library()), SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) {
        lose(retryable("mqtt.connect",
                       QStringLiteral("%1:%2 was not reached: %3")
                           .arg(m_settings.host)
                           .arg(m_settings.port)
                           .arg(qt_error_string(code))));
        return false;
    }
    m_session->isTcpUp = true;
    return true;
}

void MqttClient::readSocket()
{
    if (!isTcpUp())
        return;
    mosquitto *library = m_session->library();
    const int socket = mosquitto_socket(library);
    int result = MOSQ_ERR_SUCCESS;
    for (int i = 0; i < kReadsPerWakeUp; ++i) {
        result = mosquitto_loop_read(library, 1);
        if (result != MOSQ_ERR_SUCCESS || m_session->isClosedByLibrary || bytesWaiting(socket) == 0)
            break;
    }
    // During the TLS handshake the library does not ask for writing; what waits is CONNECT.
    if (result == MOSQ_ERR_SUCCESS && m_settings.tls && !m_isConnected && !m_session->isClosedByLibrary)
        result = mosquitto_loop_write(library, 1);
    settle(result);
}

void MqttClient::writeSocket()
{
    if (!isTcpUp())
        return;
    // libmosquitto goes on with a TLS handshake in its read function alone.
    int result = MOSQ_ERR_SUCCESS;
    if (m_settings.tls && !m_isConnected)
        result = mosquitto_loop_read(m_session->library(), 1);
    if (result == MOSQ_ERR_SUCCESS && !m_session->isClosedByLibrary)
        result = mosquitto_loop_write(m_session->library(), 1);
    settle(result);
}

void MqttClient::keepAlive()
{
    settle(mosquitto_loop_misc(m_session->library()));
}

void MqttClient::updateWriteNotifier()
{
    // While TLS shakes hands the library wants to write for ever, which would spin; the peer's answers drive it.
    const bool isShakingHands = m_settings.tls && !m_isConnected && m_session->isTcpUp;
    const bool wanted = !isShakingHands && mosquitto_want_write(m_session->library());
    if (m_session->writeNotifier->isEnabled() != wanted)
        m_session->writeNotifier->setEnabled(wanted);
}

/// After each call of the library: hands out what it reported, then looks whether the connection is still there.
void MqttClient::settle(int libraryResult)
{
    const int systemError = errno;
    if (!deliverEvents())
        return;
    if (libraryResult == MOSQ_ERR_SUCCESS && !m_session->isClosedByLibrary) {
        updateWriteNotifier();
        return;
    }
    if (m_session->refusal) {
        lose(Error(*m_session->refusal));
        return;
    }
    errno = systemError;
    const int reason = libraryResult != MOSQ_ERR_SUCCESS ? libraryResult : m_session->closeReason;
    lose(retryable(m_isConnected ? "mqtt.lost" : "mqtt.connect",
                   QStringLiteral("the connection to %1:%2 was lost: %3")
                       .arg(m_settings.host)
                       .arg(m_settings.port)
                       .arg(describeMqttError(reason))));
}

void MqttClient::settleSoon()
{
    if (std::exchange(m_session->isSettlingSoon, true))
        return;
    QMetaObject::invokeMethod(
        this,
        [this, number = m_session->number] {
            if (!m_session || m_session->number != number)
                return;
            m_session->isSettlingSoon = false;
            settle(m_session->publishResult);
        },
        Qt::QueuedConnection);
}

/// False when a slot closed the connection.
bool MqttClient::deliverEvents()
{
    const std::uint64_t number = m_session->number;
    const std::vector<MqttEvent> events = std::exchange(m_session->events, {});
    for (const MqttEvent &event : events) {
        switch (event.kind) {
        case MqttEvent::Kind::Accepted: connectionAccepted(); break;
        case MqttEvent::Kind::Acknowledged: Q_EMIT acknowledged(event.packetId); break;
        case MqttEvent::Kind::Refused:
            Q_EMIT refused(event.packetId,
                           Error{QStringLiteral("mqtt.refused"),
                                 QStringLiteral("%1 refused the message: %2").arg(m_settings.host, event.text),
                                 event.isRetryable});
            break;
        case MqttEvent::Kind::Message: Q_EMIT messageReceived(event.message); break;
        case MqttEvent::Kind::Subscribed:
            for (const Subscription &subscription : QList<Subscription>(m_subscriptions)) {
                if (subscription.packetId == event.packetId)
                    Q_EMIT subscribed(subscription.filter, event.isGranted);
            }
            break;
        }
        if (!m_session || m_session->number != number)
            return false;
    }
    return true;
}

void MqttClient::connectionAccepted()
{
    m_isConnected = true;
    m_deadline.stop();
    m_keepAlive.start();
    m_connectedFor.start();
    for (Subscription &subscription : m_subscriptions)
        sendSubscription(subscription);
    Q_EMIT connected();
}

Result<int> MqttClient::publish(const MqttMessage &message, const MqttProperties &properties)
{
    if (!m_isConnected)
        return retryable("mqtt.notConnected", QStringLiteral("there is no connection to %1").arg(m_settings.host));
    if (!validTopic(message.topic))
        return Error{QStringLiteral("mqtt.topic"),
                     QStringLiteral("\"%1\" is no topic to publish to: 1 to 65,535 bytes of UTF-8 without + and #")
                         .arg(QString::fromUtf8(message.topic.left(80)))};
    int packetId = 0;
    const int result = m_session->publish(message, properties, packetId);
    switch (result) {
    case MOSQ_ERR_SUCCESS: break;
    case MOSQ_ERR_PAYLOAD_SIZE:
    case MOSQ_ERR_OVERSIZE_PACKET:
    case MOSQ_ERR_QOS_NOT_SUPPORTED:
        return Error{QStringLiteral("mqtt.payload"),
                     QStringLiteral("%1 does not take %2 bytes at QoS %3: %4")
                         .arg(m_settings.host)
                         .arg(message.payload.size())
                         .arg(message.qos)
                         .arg(describeMqttError(result))};
    default: {
        const QString why = describeMqttError(result);
        m_session->publishResult = result;
        settleSoon();
        return retryable("mqtt.lost", QStringLiteral("%1 was not reached: %2").arg(m_settings.host, why));
    }
    }
    if (!m_session->events.empty()) // a QoS 0 message that is written already
        settleSoon();
    updateWriteNotifier();
    return packetId;
}

Result<void> MqttClient::subscribe(const QByteArray &filter, std::uint8_t qos)
{
    if (filter.isEmpty() || filter.size() > kMaxTopicBytes || filter.contains('\0')
        || mosquitto_sub_topic_check(filter.constData()) != MOSQ_ERR_SUCCESS)
        return Error{QStringLiteral("mqtt.topic"),
                     QStringLiteral("\"%1\" is no topic filter: + stands for a whole level, # for the last ones")
                         .arg(QString::fromUtf8(filter.left(80)))};
    m_subscriptions.append({filter, qos, 0});
    if (m_isConnected)
        sendSubscription(m_subscriptions.last());
    return {};
}

void MqttClient::sendSubscription(Subscription &subscription)
{
    const int result = mosquitto_subscribe(m_session->library(), &subscription.packetId,
                                           subscription.filter.constData(), subscription.qos);
    if (result != MOSQ_ERR_SUCCESS) {
        m_session->publishResult = result;
        settleSoon();
    }
    updateWriteNotifier();
}

void MqttClient::dropConnection(const Error &why)
{
    if (!m_session)
        return;
    QMetaObject::invokeMethod(
        this,
        [this, why, number = m_session->number] {
            if (m_session && m_session->number == number)
                lose(why);
        },
        Qt::QueuedConnection);
}

void MqttClient::lose(const Error &why)
{
    // A connection that did not last as long as the wait before it counts as failed: two clients with the same id
    // that throw each other out would otherwise do so once a second for ever.
    if (m_isConnected && std::chrono::milliseconds(m_connectedFor.elapsed()) > m_lastWait)
        m_backoff.reset();
    m_isConnected = false;
    m_awaitsAddresses = false;
    m_deadline.stop();
    m_keepAlive.stop();
    m_session.reset();
    m_lastWait = m_backoff.next(QRandomGenerator::global()->generateDouble());
    m_retry.start(m_lastWait);
    Error reported = why;
    reported.isRetryable = true;
    Q_EMIT disconnected(reported);
}

} // namespace gridloom
