// SPDX-License-Identifier: Apache-2.0
#include "tools/procs/privatebroker.h"

#include <QDeadlineTimer>
#include <QFile>
#include <QHostAddress>
#include <QStandardPaths>
#include <QTcpServer>
#include <QTcpSocket>

#include <csignal>
#include <unistd.h>

namespace gridloom {

namespace {

constexpr int kPortAttempts = 5;
constexpr int kReadyTimeoutMs = 10'000;
constexpr int kHandshakeTimeoutMs = 1'000;
constexpr std::chrono::seconds kStopGrace{2};

/// CONNECT, protocol MQTT level 4, clean session, keep-alive 10 s, empty client id (MQTT 3.1.1, 3.1).
const QByteArray kConnectPacket("\x10\x0C\x00\x04MQTT\x04\x02\x00\x0A\x00\x00", 14);
constexpr char kConnAckType = 0x20;

/// Any CONNACK, "not authorised" too, says that the broker serves.
bool answersConnect(quint16 port, QDeadlineTimer deadline)
{
    QTcpSocket socket;
    socket.connectToHost(QHostAddress(QHostAddress::LocalHost), port);
    const int waitMs = static_cast<int>(std::min<qint64>(kHandshakeTimeoutMs, deadline.remainingTime()));
    if (!socket.waitForConnected(waitMs))
        return false;
    socket.write(kConnectPacket);
    return socket.waitForReadyRead(waitMs) && socket.peek(1).startsWith(kConnAckType);
}

/// mosquitto lies in an sbin folder, which the PATH of an ordinary user may lack.
QString locateProgram(const QString &name)
{
    const QString found = QStandardPaths::findExecutable(name);
    if (!found.isEmpty())
        return found;
    const QString inSbin =
        QStandardPaths::findExecutable(name, {QStringLiteral("/usr/sbin"), QStringLiteral("/usr/local/sbin")});
    return inSbin.isEmpty() ? name : inSbin;
}

} // namespace

PrivateBroker::PrivateBroker() : PrivateBroker(Options()) {}

PrivateBroker::PrivateBroker(Options options) : m_options(std::move(options)) {}

quint16 PrivateBroker::findFreePort()
{
    QTcpServer server;
    return server.listen(QHostAddress::LocalHost, 0) ? server.serverPort() : quint16(0);
}

Result<void> PrivateBroker::start()
{
    if (isRunning())
        return {};
    Result<void> result;
    // Between our look and the broker's bind somebody else may take the port.
    for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
        m_port = findFreePort();
        result = launch();
        if (result || isRunning())
            return result;
    }
    return result;
}

void PrivateBroker::stop()
{
    setFrozen(false);
    m_process.terminate(kStopGrace);
}

void PrivateBroker::kill()
{
    m_process.kill();
}

Result<void> PrivateBroker::restart()
{
    stop();
    return launch();
}

void PrivateBroker::setFrozen(bool isFrozen)
{
    if (isRunning())
        ::kill(static_cast<pid_t>(pid()), isFrozen ? SIGSTOP : SIGCONT);
}

Result<void> PrivateBroker::launch()
{
    if (const auto written = writeFiles(); !written)
        return written;
    const auto started = m_process.start(locateProgram(m_options.program),
                                         {QStringLiteral("-c"), m_folder.filePath(QStringLiteral("mosquitto.conf"))});
    return started ? waitUntilReady() : started;
}

Result<void> PrivateBroker::writeFiles()
{
    QStringList lines{QStringLiteral("listener %1 127.0.0.1").arg(m_port),
                      QStringLiteral("persistence false"),
                      QStringLiteral("set_tcp_nodelay true"),
                      QStringLiteral("max_queued_messages 100000"),
                      QStringLiteral("max_inflight_messages 1000"),
                      QStringLiteral("log_dest stderr"),
                      QStringLiteral("log_type error")};
    if (::geteuid() == 0)
        lines << QStringLiteral("user root"); // otherwise it changes to a user who may not read the folder
    if (m_options.username.isEmpty()) {
        lines << QStringLiteral("allow_anonymous true");
    } else {
        const QString passwords = m_folder.filePath(QStringLiteral("passwords"));
        ChildProcess tool;
        const auto started =
            tool.start(locateProgram(QStringLiteral("mosquitto_passwd")),
                       {QStringLiteral("-c"), QStringLiteral("-b"), passwords, m_options.username, m_options.password});
        if (!started)
            return started;
        if (!tool.waitForExit(std::chrono::milliseconds(kReadyTimeoutMs)) || tool.exitCode() != 0)
            return Error{QStringLiteral("broker.files"),
                         QStringLiteral("mosquitto_passwd could not write %1: %2")
                             .arg(passwords, QString::fromUtf8(tool.output()))};
        lines << QStringLiteral("allow_anonymous false") << QStringLiteral("password_file %1").arg(passwords);
    }
    lines << m_options.extraLines << QString();
    QFile file(m_folder.filePath(QStringLiteral("mosquitto.conf")));
    const QByteArray text = lines.join(QLatin1Char('\n')).toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        return Error{QStringLiteral("broker.files"),
                     QStringLiteral("%1 could not be written: %2").arg(file.fileName(), file.errorString())};
    return {};
}

Result<void> PrivateBroker::waitUntilReady()
{
    const QDeadlineTimer deadline(kReadyTimeoutMs);
    while (!deadline.hasExpired()) {
        if (answersConnect(m_port, deadline))
            return {};
        // Waits for its end, which tells at once that the port was taken; a running broker costs 5 ms a try.
        if (m_process.waitForExit(std::chrono::milliseconds(5)))
            break;
    }
    const Error error{QStringLiteral("broker.start"),
                      QStringLiteral("mosquitto did not serve port %1 of 127.0.0.1 (exit code %2): %3")
                          .arg(m_port)
                          .arg(m_process.exitCode())
                          .arg(QString::fromUtf8(log().right(500))),
                      true};
    return error;
}

} // namespace gridloom
