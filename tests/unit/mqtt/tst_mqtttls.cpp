// SPDX-License-Identifier: Apache-2.0
#include "clientsettings.h"
#include "tools/procs/privatebroker.h"

#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

/// A certificate authority and a server certificate for `name` in `folder`, made by the openssl tool.
bool makeCertificates(const QString &folder, const QString &name)
{
    ChildProcess tool;
    const QString script = QStringLiteral(
        "set -e; cd \"$DIR\";"
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj '/CN=test ca';"
        "openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj \"/CN=$NAME\";"
        "printf 'subjectAltName=%s' \"$ALT\" > ext;"
        "openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 "
        "-extfile ext; chmod 644 server.key");
    const QString alternative =
        (name == QLatin1String("127.0.0.1") ? QStringLiteral("IP:") : QStringLiteral("DNS:")) + name;
    return tool.start(
               QStringLiteral("/bin/sh"), {QStringLiteral("-c"), script},
               {QStringLiteral("DIR=") + folder, QStringLiteral("NAME=") + name, QStringLiteral("ALT=") + alternative})
        && tool.waitForExit(30s) && tool.exitCode() == 0;
}

/// A listening socket whose queue is full, so that a further TCP handshake waits until drain() and the client's next
/// SYN a second later: the loopback's stand-in for a slow network. It never says a word.
class SlowListener {
public:
    SlowListener() : m_listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0))
    {
        m_address.sin_family = AF_INET;
        m_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof m_address;
        m_isReady = ::bind(m_listener, reinterpret_cast<sockaddr *>(&m_address), size) == 0
            && ::listen(m_listener, 0) == 0
            && ::getsockname(m_listener, reinterpret_cast<sockaddr *>(&m_address), &size) == 0;
        for (int &filler : m_fillers) {
            filler = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            ::connect(filler, reinterpret_cast<sockaddr *>(&m_address), size);
        }
    }
    ~SlowListener()
    {
        for (const int accepted : m_accepted)
            ::close(accepted);
        for (const int filler : m_fillers)
            ::close(filler);
        ::close(m_listener);
    }
    bool isReady() const { return m_isReady; }
    quint16 port() const { return ntohs(m_address.sin_port); }
    /// Accepts all that waits, every time it is called.
    std::size_t drain()
    {
        for (int accepted = 0; (accepted = ::accept(m_listener, nullptr, nullptr)) >= 0;)
            m_accepted.push_back(accepted);
        return m_accepted.size();
    }
    static constexpr std::size_t kFillers = 1;

private:
    int m_listener;
    bool m_isReady = false;
    sockaddr_in m_address{};
    std::array<int, kFillers> m_fillers{};
    std::vector<int> m_accepted;
};

} // namespace

class MqttTlsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void checksTheCertificate();
    void silentPeerDoesNotSpin();
    void slowNetworkDoesNotSpin();
};

void MqttTlsTest::checksTheCertificate()
{
    QTemporaryDir good;
    QTemporaryDir other;
    QVERIFY(makeCertificates(good.path(), QStringLiteral("127.0.0.1")));
    QVERIFY(makeCertificates(other.path(), QStringLiteral("elsewhere.example")));
    const quint16 goodPort = PrivateBroker::findFreePort();
    const quint16 otherPort = PrivateBroker::findFreePort();
    QStringList lines;
    for (const auto &[port, folder] : {std::pair(goodPort, good.path()), std::pair(otherPort, other.path())}) {
        lines << QStringLiteral("listener %1 127.0.0.1").arg(port)
              << QStringLiteral("certfile %1/server.crt").arg(folder)
              << QStringLiteral("keyfile %1/server.key").arg(folder);
    }
    PrivateBroker broker({{}, {}, lines, QStringLiteral("mosquitto")});
    const auto started = broker.start();
    QVERIFY2(started.ok(), qPrintable(started.error().message));

    MqttSettings settings = settingsFor(goodPort);
    settings.tls = MqttTls{good.filePath(QStringLiteral("ca.crt")), {}, {}};
    MqttClient client(settings);
    QSignalSpy connected(&client, &MqttClient::connected);
    QSignalSpy acknowledged(&client, &MqttClient::acknowledged);
    client.open();
    QTRY_COMPARE(connected.count(), 1);
    // Larger than any socket buffer: TLS has to ask for writing again and again.
    QVERIFY(client.publish({"t", QByteArray(8'000'000, 'x'), 1, false}).ok());
    QTRY_COMPARE_WITH_TIMEOUT(acknowledged.count(), 1, 20'000);

    settings.tls->caFile = other.filePath(QStringLiteral("ca.crt"));
    settings.clientId = "wrong-authority";
    MqttClient wrongAuthority(settings);
    settings.port = otherPort; // the right authority, but the certificate is for another name
    settings.clientId = "wrong-name";
    MqttClient wrongName(settings);
    settings.port = goodPort;
    settings.tls->caFile = QStringLiteral("/nonexistent/ca.crt");
    MqttClient noFile(settings);
    for (MqttClient *refusing : {&wrongAuthority, &wrongName, &noFile}) {
        QSignalSpy failed(refusing, &MqttClient::disconnected);
        QSignalSpy succeeded(refusing, &MqttClient::connected);
        refusing->open();
        QTRY_VERIFY(failed.count() >= 2);
        QCOMPARE(succeeded.count(), 0);
    }
}

void MqttTlsTest::silentPeerDoesNotSpin()
{
    QTcpServer silent;
    QVERIFY(silent.listen(QHostAddress::LocalHost));
    MqttSettings settings = settingsFor(silent.serverPort());
    settings.connectTimeout = 300ms;
    settings.tls = MqttTls{};
    MqttClient client(settings);
    QSignalSpy disconnected(&client, &MqttClient::disconnected);
    const LoopTurns turns;
    client.open();
    QTRY_COMPARE(disconnected.count(), 1);
    QCOMPARE(lastError(disconnected).code, QStringLiteral("mqtt.timeout"));
    QVERIFY2(turns.count < 100, qPrintable(QString::number(turns.count)));
}

/// The TLS handshake begins before TCP is up, which leaves libmosquitto wishing to write for ever.
void MqttTlsTest::slowNetworkDoesNotSpin()
{
    SlowListener slow;
    QVERIFY(slow.isReady());
    MqttSettings settings = settingsFor(slow.port());
    settings.connectTimeout = 6s;
    settings.tls = MqttTls{};
    MqttClient client(settings);
    QSignalSpy disconnected(&client, &MqttClient::disconnected);
    client.open();
    const LoopTurns turns;
    QTRY_VERIFY_WITH_TIMEOUT(slow.drain() == SlowListener::kFillers + 1, 5'000);
    const int before = turns.count;
    QEventLoop loop;
    QTimer::singleShot(300ms, &loop, &QEventLoop::quit);
    loop.exec();
    QCOMPARE(disconnected.count(), 0);
    QVERIFY2(turns.count - before < 50, qPrintable(QString::number(turns.count - before)));
}

QTEST_GUILESS_MAIN(MqttTlsTest)
#include "tst_mqtttls.moc"
