// SPDX-License-Identifier: Apache-2.0
// PrivateBroker: a mosquitto of our own on a free port of 127.0.0.1, with its files in a temporary folder. For
// gridloom-bench and tests: nothing of the machine's own broker is used, and it ends with us.
// Used on one thread. The calls block until the broker has done what was asked.
#pragma once

#include "core/result.h"
#include "tools/procs/childprocess.h"

#include <QTemporaryDir>

#include <memory>

namespace gridloom {

class PrivateBroker {
public:
    struct Options {
        /// A user that must log in; empty: everybody may connect.
        QString username;
        QString password;
        /// Added to mosquitto.conf(5) after the plain listener, for example a second one with certificates.
        QStringList extraLines;
        QString program = QStringLiteral("mosquitto");
    };

    PrivateBroker();
    explicit PrivateBroker(Options options);

    /// Starts on a free port and returns once a client got its CONNACK, at most 10 s. Errors: "broker.files",
    /// "broker.start".
    Result<void> start();
    /// SIGTERM, SIGKILL after 2 s.
    void stop();
    /// SIGKILL: clients see the connection reset, nothing is said to them.
    void kill();
    /// Starts again on the same port after stop() or kill(). Messages of before are gone (no persistence).
    Result<void> restart();

    /// Stops (SIGSTOP) or continues (SIGCONT) the process: a broker that holds its connections and says nothing.
    void setFrozen(bool isFrozen);

    bool isRunning() const { return m_process.isRunning(); }
    quint16 port() const { return m_port; } ///< 0 before start()
    qint64 pid() const { return m_process.pid(); }
    QByteArray log() const { return m_process.output(); }

    /// A port of 127.0.0.1 that was free a moment ago; 0 when there is none.
    static quint16 findFreePort();

private:
    Result<void> writeFiles();
    Result<void> launch();
    Result<void> waitUntilReady();

    Options m_options;
    QTemporaryDir m_folder;
    ChildProcess m_process;
    quint16 m_port = 0;
};

} // namespace gridloom
