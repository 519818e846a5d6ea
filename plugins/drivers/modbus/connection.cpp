// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <QNetworkProxy>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gridloom::modbus {

using std::chrono::milliseconds;
using RealClock = std::chrono::steady_clock;

namespace {
constexpr milliseconds kIntervals[] = {milliseconds(500), milliseconds(1'000), milliseconds(2'000),
                                       milliseconds(4'000)};
} // namespace

Connection::Connection()
{
    m_timer.setSingleShot(true);
    m_timer.setTimerType(Qt::PreciseTimer);
    m_connecting.setProxy(QNetworkProxy::NoProxy);
    connect(&m_timer, &QTimer::timeout, this, &Connection::onTimeout);
    connect(&m_connecting, &QTcpSocket::connected, this, &Connection::onConnected);
    connect(&m_connecting, &QTcpSocket::errorOccurred, this, &Connection::onSocketError);
}

Connection::~Connection()
{
    closeStream();
}

void Connection::open(const QString &host, std::uint16_t port, milliseconds timeout)
{
    m_host = host;
    m_port = port;
    m_timeout = timeout;
    m_attempts = 0;
    attempt();
}

void Connection::close()
{
    m_state = State::Closed; // first: abort() reports errors of its own
    m_timer.stop();
    closeStream();
    m_connecting.abort();
    m_reader.clear();
}

void Connection::drop(const Error &why)
{
    if (m_state == State::Connected)
        fail(why);
}

// A request that the kernel cannot take as a whole waits behind many that nobody read: the peer is as good as gone.
void Connection::send(std::span<const std::uint8_t> frame)
{
    const ssize_t sent = ::send(m_stream, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(frame.size()))
        fail(notConnected(sent < 0 ? qt_error_string(errno)
                                   : QStringLiteral("The device does not take requests any more")));
}

void Connection::drain()
{
    std::array<std::uint8_t, 4096> chunk;
    while (::recv(m_stream, chunk.data(), chunk.size(), MSG_DONTWAIT) > 0)
        ;
    m_reader.clear();
}

void Connection::attempt()
{
    m_state = State::Connecting;
    m_attemptStarted = RealClock::now();
    m_timer.start(m_timeout);
    m_connecting.connectToHost(m_host, m_port);
}

void Connection::fail(const Error &why)
{
    m_isDown = m_state == State::Connecting;
    const bool wasConnected = m_state == State::Connected;
    m_state = State::Waiting;
    closeStream();
    m_connecting.abort();
    m_reader.clear();
    const auto interval = kIntervals[std::min(m_attempts, std::size(kIntervals) - 1)];
    ++m_attempts;
    // From start to start of attempts, so that a slow failure does not make the way back slower.
    auto delay = interval - std::chrono::duration_cast<milliseconds>(RealClock::now() - m_attemptStarted);
    if (wasConnected && m_attempts == 1)
        delay = interval;
    m_timer.start(std::max(delay, kIntervals[0]));
    Q_EMIT lost(why);
}

void Connection::onConnected()
{
    m_connecting.setSocketOption(QAbstractSocket::LowDelayOption, 1); // TCP_NODELAY: requests are small and waited for
    m_connecting.setSocketOption(QAbstractSocket::KeepAliveOption, 1);
    openStream();
    if (m_stream < 0)
        return fail(notConnected(qt_error_string(errno)));
    m_state = State::Connected;
    m_isDown = false;
    m_timer.stop();
    Q_EMIT opened();
}

// QTcpSocket copies each byte through two buffers and allocates for each request; it has done its part when the
// connection stands.
void Connection::openStream()
{
    m_stream = ::fcntl(static_cast<int>(m_connecting.socketDescriptor()), F_DUPFD_CLOEXEC, 0);
    if (m_stream < 0)
        return;
    m_connecting.abort(); // closes its own descriptor, not the connection
    m_readable = std::make_unique<QSocketNotifier>(m_stream, QSocketNotifier::Read);
    connect(m_readable.get(), &QSocketNotifier::activated, this, &Connection::onReadyRead);
}

void Connection::closeStream()
{
    if (m_stream < 0)
        return;
    m_readable->setEnabled(false);
    m_readable.release()->deleteLater(); // it may be the one that called
    ::close(std::exchange(m_stream, -1));
}

Error Connection::notConnected(const QString &why) const
{
    return {QStringLiteral("modbus.notConnected"),
            QStringLiteral("%1 port %2: %3. Check address, cable and power; reconnecting goes on by itself.")
                .arg(m_host)
                .arg(m_port)
                .arg(why),
            true};
}

void Connection::onSocketError()
{
    if (m_state == State::Connecting)
        fail(notConnected(m_connecting.errorString()));
}

void Connection::onTimeout()
{
    if (m_state == State::Waiting) {
        attempt();
    } else if (m_state == State::Connecting) {
        fail(
            {QStringLiteral("modbus.notConnected"),
             QStringLiteral("%1 port %2: no connection within %3 ms. Check address, cable and power; reconnecting goes "
                            "on by itself.")
                 .arg(m_host)
                 .arg(m_port)
                 .arg(m_timeout.count()),
             true});
    }
}

void Connection::onReadyRead()
{
    std::array<std::uint8_t, 4096> chunk;
    while (m_state == State::Connected) {
        const ssize_t size = ::recv(m_stream, chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0)
            return fail(notConnected(size < 0 ? qt_error_string(errno)
                                              : QStringLiteral("The remote host closed the connection")));
        takeFrames({chunk.data(), static_cast<std::size_t>(size)});
        if (static_cast<std::size_t>(size) < chunk.size())
            return; // what comes later is told again
    }
}

void Connection::takeFrames(std::span<const std::uint8_t> bytes)
{
    m_reader.append(bytes);
    Frame frame;
    // A receiver may drop or close the connection: then the reader is empty and the loop ends.
    auto status = m_reader.next(frame);
    for (; status == FrameReader::Status::Frame; status = m_reader.next(frame))
        Q_EMIT frameReceived(frame);
    if (status == FrameReader::Status::Broken)
        drop({QStringLiteral("modbus.brokenStream"),
              QStringLiteral("%1 port %2 sent bytes that are not Modbus TCP; reconnecting. Check that this is a "
                             "Modbus TCP port.")
                  .arg(m_host)
                  .arg(m_port),
              true});
}

} // namespace gridloom::modbus
