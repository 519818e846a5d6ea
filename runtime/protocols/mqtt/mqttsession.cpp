// SPDX-License-Identifier: Apache-2.0
#include "protocols/mqtt/mqttsession.h"

#include <QFile>

#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <atomic>
#include <cerrno>
#include <netdb.h>
#include <new>

namespace gridloom {

namespace {

constexpr qint64 kMaxPasswordBytes = 65'536; // MQTT 3.1.1, 3.1.3.5, and the line end

/// mosquitto_lib_init() is not thread-safe and counts its calls; once per process is enough.
void initializeLibrary()
{
    static const int initialized = mosquitto_lib_init();
    Q_UNUSED(initialized);
}

std::uint64_t nextSessionNumber()
{
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

} // namespace

QString describeMqttError(int code)
{
    switch (code) {
    case MOSQ_ERR_ERRNO: return errno != 0 ? qt_error_string(errno) : QStringLiteral("closed by the other side");
    case MOSQ_ERR_EAI: return QString::fromLocal8Bit(::gai_strerror(errno));
    case MOSQ_ERR_TLS: return QStringLiteral("TLS failed; check the certificates, their dates and the port");
    case MOSQ_ERR_KEEPALIVE: return QStringLiteral("no answer to the keep-alive");
    default: break;
    }
    // Reason codes of a DISCONNECT (MQTT 5.0, 2.4) begin where the library's own codes end.
    return QString::fromUtf8(code >= MQTT_RC_UNSPECIFIED ? mosquitto_reason_string(code) : mosquitto_strerror(code));
}

MqttClient::Session::Session(const QByteArray &clientId) : number(nextSessionNumber())
{
    initializeLibrary();
    m_library = mosquitto_new(clientId.constData(), true, this);
    if (!m_library)
        throw std::bad_alloc();
}

MqttClient::Session::~Session()
{
    readNotifier.reset(); // before their socket is closed
    writeNotifier.reset();
    mosquitto_destroy(m_library);
}

Result<void> MqttClient::Session::configure(const MqttSettings &settings)
{
    int result = mosquitto_int_option(m_library, MOSQ_OPT_PROTOCOL_VERSION,
                                      settings.isVersion5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311);
    m_isVersion5 = settings.isVersion5;
    if (result == MOSQ_ERR_SUCCESS)
        result = mosquitto_int_option(m_library, MOSQ_OPT_TCP_NODELAY, 1);
    // The default of 20 would keep messages back in the library, where QoS 0 and a goodbye overtake them.
    if (result == MOSQ_ERR_SUCCESS)
        result = mosquitto_int_option(m_library, MOSQ_OPT_SEND_MAXIMUM, 65'535);
    if (result == MOSQ_ERR_SUCCESS && settings.will)
        result = mosquitto_will_set(m_library, settings.will->topic.constData(),
                                    static_cast<int>(settings.will->payload.size()), settings.will->payload.constData(),
                                    settings.will->qos, settings.will->isRetained);
    if (result == MOSQ_ERR_SUCCESS && settings.tls)
        result = setTls(*settings.tls);
    if (result != MOSQ_ERR_SUCCESS)
        return Error{QStringLiteral("mqtt.settings"),
                     QStringLiteral("the MQTT settings for %1 do not work: %2. Check will and certificate files")
                         .arg(settings.host, describeMqttError(result))};
    setCallbacks();
    return setLogin(settings);
}

Result<void> MqttClient::Session::setLogin(const MqttSettings &settings)
{
    if (settings.username.isEmpty())
        return {};
    QByteArray password = settings.password.toUtf8();
    if (!settings.passwordFile.isEmpty()) {
        QFile file(settings.passwordFile);
        if (!file.open(QIODevice::ReadOnly))
            return Error{
                QStringLiteral("mqtt.settings"),
                QStringLiteral("the password file %1 was not read: %2").arg(settings.passwordFile, file.errorString())};
        password = file.readLine(kMaxPasswordBytes);
        while (password.endsWith('\n') || password.endsWith('\r'))
            password.chop(1);
    }
    if (mosquitto_username_pw_set(m_library, settings.username.toUtf8().constData(), password.constData())
        != MOSQ_ERR_SUCCESS)
        return Error{QStringLiteral("mqtt.settings"),
                     QStringLiteral("user name or password for %1 is no valid text").arg(settings.host)};
    return {};
}

int MqttClient::Session::setTls(const MqttTls &tls)
{
    const QByteArray authority = tls.caFile.toUtf8();
    const QByteArray certificate = tls.certFile.toUtf8();
    const QByteArray key = tls.keyFile.toUtf8();
    const auto orNull = [](const QByteArray &path) { return path.isEmpty() ? nullptr : path.constData(); };
    // mosquitto_tls_set() insists on a place of authorities, even when the system's list is used.
    const char *systemFolder = authority.isEmpty() ? "/etc/ssl/certs" : nullptr;
    if (authority.isEmpty()) {
        const int result = mosquitto_int_option(m_library, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
        if (result != MOSQ_ERR_SUCCESS)
            return result;
    }
    return mosquitto_tls_set(m_library, orNull(authority), systemFolder, orNull(certificate), orNull(key), nullptr);
}

void MqttClient::Session::setCallbacks()
{
    mosquitto_connect_callback_set(m_library, [](mosquitto *, void *object, int code) {
        auto *session = static_cast<Session *>(object);
        if (code == 0) {
            session->events.push_back({});
            return;
        }
        const char *text = session->m_isVersion5 ? mosquitto_reason_string(code) : mosquitto_connack_string(code);
        session->refusal = Error{QStringLiteral("mqtt.refused"),
                                 QStringLiteral("the broker refused the connection: %1 Check user name, password and "
                                                "client id")
                                     .arg(QString::fromUtf8(text)),
                                 true};
    });
    mosquitto_disconnect_callback_set(m_library, [](mosquitto *, void *object, int code) {
        auto *session = static_cast<Session *>(object);
        session->isClosedByLibrary = true;
        session->closeReason = code;
    });
    // The v5 form serves both versions; with 3.1.1 the reason is always 0.
    mosquitto_publish_v5_callback_set(
        m_library, [](mosquitto *, void *object, int packetId, int reason, const mosquitto_property *) {
            MqttEvent event;
            event.kind = reason >= MQTT_RC_UNSPECIFIED ? MqttEvent::Kind::Refused : MqttEvent::Kind::Acknowledged;
            event.packetId = packetId;
            event.isRetryable = reason != MQTT_RC_TOPIC_NAME_INVALID && reason != MQTT_RC_PAYLOAD_FORMAT_INVALID;
            if (event.kind == MqttEvent::Kind::Refused)
                event.text = QString::fromUtf8(mosquitto_reason_string(reason));
            static_cast<Session *>(object)->events.push_back(std::move(event));
        });
    mosquitto_subscribe_callback_set(m_library,
                                     [](mosquitto *, void *object, int packetId, int count, const int *granted) {
                                         MqttEvent event;
                                         event.kind = MqttEvent::Kind::Subscribed;
                                         event.packetId = packetId;
                                         event.isGranted = count > 0 && granted[0] < MQTT_RC_UNSPECIFIED;
                                         static_cast<Session *>(object)->events.push_back(std::move(event));
                                     });
    mosquitto_message_callback_set(m_library, [](mosquitto *, void *object, const mosquitto_message *message) {
        MqttEvent event;
        event.kind = MqttEvent::Kind::Message;
        event.message.topic = QByteArray(message->topic);
        event.message.payload = QByteArray(static_cast<const char *>(message->payload), message->payloadlen);
        event.message.qos = static_cast<std::uint8_t>(message->qos);
        event.message.isRetained = message->retain;
        static_cast<Session *>(object)->events.push_back(std::move(event));
    });
}

int MqttClient::Session::publish(const MqttMessage &message, const MqttProperties &properties, int &packetId)
{
    mosquitto_property *list = nullptr;
    if (m_isVersion5)
        for (const auto &[name, value] : properties)
            mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, name.constData(), value.constData());
    const int result =
        mosquitto_publish_v5(m_library, &packetId, message.topic.constData(), static_cast<int>(message.payload.size()),
                             message.payload.constData(), message.qos, message.isRetained, list);
    const int systemError = errno;
    mosquitto_property_free_all(&list);
    errno = systemError;
    return result;
}

void MqttClient::Session::sayGoodbye()
{
    // Closing a socket with unread bytes resets the connection, and a reset may overtake what was written last.
    mosquitto_loop_read(m_library, 1);
    readNotifier.reset();
    writeNotifier.reset();
    if (!isClosedByLibrary)
        mosquitto_disconnect(m_library);
}

} // namespace gridloom
