// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/statssocket.h"

namespace gridloom {

namespace {

constexpr qint64 kMostUnread = 1 << 20; ///< bytes

} // namespace

StatsSocket::StatsSocket(QObject *parent) : QObject(parent)
{
    m_server.setSocketOptions(QLocalServer::UserAccessOption);
    connect(&m_server, &QLocalServer::newConnection, this, &StatsSocket::accept);
}

Result<void> StatsSocket::open(const QString &path)
{
    // A socket file that a killed simulator left behind.
    QLocalServer::removeServer(path);
    if (m_server.listen(path))
        return {};
    return Error{
        QStringLiteral("sim.statsSocket"),
        QStringLiteral("the socket %1 cannot be opened: %2; choose a path in a writable folder, at most 107 bytes")
            .arg(path, m_server.errorString())};
}

void StatsSocket::publish(const QByteArray &line)
{
    for (QLocalSocket *client : std::as_const(m_clients)) {
        if (client->bytesToWrite() > kMostUnread)
            client->abort();
        else
            client->write(line + '\n');
    }
}

void StatsSocket::accept()
{
    while (QLocalSocket *client = m_server.nextPendingConnection()) {
        m_clients.append(client);
        // Queued: a client may go while publish() walks over the list.
        connect(
            client, &QLocalSocket::disconnected, this,
            [this, client] {
                m_clients.removeOne(client);
                client->deleteLater();
            },
            Qt::QueuedConnection);
    }
}

} // namespace gridloom
