// SPDX-License-Identifier: Apache-2.0
// StatsSocket: a local socket whose clients get every line that is published. Lives on one thread with an event loop.
#pragma once

#include "core/result.h"

#include <QByteArray>
#include <QList>
#include <QLocalServer>
#include <QLocalSocket>

namespace gridloom {

class StatsSocket : public QObject {
    Q_OBJECT
public:
    explicit StatsSocket(QObject *parent = nullptr);

    /// Error "sim.statsSocket".
    Result<void> open(const QString &path);
    /// Sends a line (without its end) to every client; one that does not read is dropped. Never blocks.
    void publish(const QByteArray &line);

private:
    void accept();

    QLocalServer m_server;
    QList<QLocalSocket *> m_clients;
};

} // namespace gridloom
