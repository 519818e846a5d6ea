// SPDX-License-Identifier: Apache-2.0
// Connection: the one TCP connection of a channel. Connects, reconnects for ever by itself and cuts the stream into
// frames. One socket at any time. Lives in the driver's thread, never blocks.
// Attempts start 0.5, 1, 2, 4 s, then every 4 s after the one before; confirm() starts this anew.
#pragma once

#include "core/result.h"
#include "protocols/modbus/framereader.h"

#include <QObject>
#include <QSocketNotifier>
#include <QTcpSocket>
#include <QTimer>

#include <chrono>
#include <memory>

namespace gridloom::modbus {

class Connection : public QObject {
    Q_OBJECT
public:
    Connection();
    ~Connection() override;

    /// `timeout`: longest wait for one attempt, name look-up included.
    void open(const QString &host, std::uint16_t port, std::chrono::milliseconds timeout);
    /// Closes for good; no signal.
    void close();
    /// Closes, emits lost() and reconnects by the back-off.
    void drop(const Error &why);
    /// The peer gave a right answer: only this, not a mere connect, ends the back-off.
    void confirm() { m_attempts = 0; }

    bool isConnected() const { return m_state == State::Connected; }
    bool isConnecting() const { return m_state == State::Connecting; }
    /// An attempt failed since the connection was last open.
    bool isDown() const { return m_isDown; }
    bool hasPartialFrame() const { return m_reader.hasPartialFrame(); }

    /// While connected. May emit lost() before it returns.
    void send(std::span<const std::uint8_t> frame);
    /// Throws away what arrived and was not read yet.
    void drain();

Q_SIGNALS:
    void opened();
    void frameReceived(const gridloom::modbus::Frame &frame);
    /// The connection, or an attempt to open it, failed. A new attempt follows by itself.
    void lost(const gridloom::Error &why);

private:
    enum class State { Closed, Waiting, Connecting, Connected };

    void attempt();
    void fail(const Error &why);
    Error notConnected(const QString &why) const;
    void onConnected();
    void onSocketError();
    void onReadyRead();
    void takeFrames(std::span<const std::uint8_t> bytes);
    void onTimeout();

    void openStream();
    void closeStream();

    QTcpSocket m_connecting; ///< until the connection stands
    int m_stream = -1;       ///< from then on: its socket, read and written without buffers in between
    std::unique_ptr<QSocketNotifier> m_readable;
    QTimer m_timer; ///< Waiting: until the next attempt; Connecting: the attempt's deadline
    FrameReader m_reader;
    QString m_host;
    std::uint16_t m_port = 0;
    std::chrono::milliseconds m_timeout{0};
    std::chrono::steady_clock::time_point m_attemptStarted{};
    std::size_t m_attempts = 0; ///< since the last confirm()
    State m_state = State::Closed;
    bool m_isDown = false;
};

} // namespace gridloom::modbus
