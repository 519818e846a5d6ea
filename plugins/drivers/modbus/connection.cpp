// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <QNetworkProxy>

#include <algorithm>

namespace gridloom::modbus {

using std::chrono::milliseconds;
using RealClock = std::chrono::steady_clock;

namespace {
constexpr milliseconds kIntervals[] = {milliseconds(500), milliseconds(1'000), milliseconds(2'000),
                                       milliseconds(4'000)};
constexpr qint64 kReadBufferSize = 16 * 1024; // a peer that floods us is held back by TCP
} // namespace

Connection::Connection()
{
    m_timer.setSingleShot(true);
    m_timer.setTimerType(Qt::PreciseTimer);
    m_socket.setProxy(QNetworkProxy::NoProxy);
    m_socket.setReadBufferSize(kReadBufferSize);
    connect(&m_timer, &QTimer::timeout, this, &Connection::onTimeout);
    connect(&m_socket, &QTcpSocket::connected, this, &Connection::onConnected);
    connect(&m_socket, &QTcpSocket::errorOccurred, this, &Connection::onSocketError);
    connect(&m_socket, &QTcpSocket::readyRead, this, &Connection::onReadyRead);
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
    m_socket.abort();
    m_reader.clear();
}

void Connection::drop(const Error &why)
{
    if (m_state == State::Connected)
        fail(why);
}

void Connection::send(std::span<const std::uint8_t> frame)
{
    m_socket.write(reinterpret_cast<const char *>(frame.data()), static_cast<qint64>(frame.size()));
    m_socket.flush(); // saves a turn of the event loop
}

void Connection::drain()
{
    m_socket.readAll();
    m_reader.clear();
}

void Connection::attempt()
{
    m_state = State::Connecting;
    m_attemptStarted = RealClock::now();
    m_timer.start(m_timeout);
    m_socket.connectToHost(m_host, m_port);
}

void Connection::fail(const Error &why)
{
    m_isDown = m_state == State::Connecting;
    const bool wasConnected = m_state == State::Connected;
    m_state = State::Waiting;
    m_socket.abort();
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
    m_state = State::Connected;
    m_isDown = false;
    m_timer.stop();
    m_socket.setSocketOption(QAbstractSocket::LowDelayOption, 1); // TCP_NODELAY: requests are small and waited for
    m_socket.setSocketOption(QAbstractSocket::KeepAliveOption, 1);
    Q_EMIT opened();
}

void Connection::onSocketError()
{
    if (m_state != State::Connecting && m_state != State::Connected)
        return;
    fail({QStringLiteral("modbus.notConnected"),
          QStringLiteral("%1 port %2: %3. Check address, cable and power; reconnecting goes on by itself.")
              .arg(m_host)
              .arg(m_port)
              .arg(m_socket.errorString()),
          true});
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
    std::array<char, 4096> chunk;
    while (m_state == State::Connected) {
        const auto size = m_socket.read(chunk.data(), chunk.size());
        if (size <= 0)
            return;
        m_reader.append({reinterpret_cast<const std::uint8_t *>(chunk.data()), static_cast<std::size_t>(size)});
        Frame frame;
        // A receiver may drop or close the connection: then the reader is empty and the loops end.
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
}

} // namespace gridloom::modbus
