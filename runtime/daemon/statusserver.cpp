// SPDX-License-Identifier: Apache-2.0
#include "daemon/statusserver.h"

#include <QFile>
#include <QLocalSocket>

#include <sys/stat.h>

namespace gridloom {

namespace {
constexpr qint64 kMostUnread = 1 << 20;
}

// The server's sockets say that they disconnect while it is destroyed, after m_clients is gone.
StatusServer::~StatusServer()
{
    for (QLocalSocket *client : std::as_const(m_clients))
        client->disconnect(this);
}

Result<void> StatusServer::listen(const QString &path)
{
    m_server.setSocketOptions(QLocalServer::UserAccessOption);
    // Only what a gridloomd left behind is removed, never a file of somebody else.
    struct stat found {};
    if (::stat(QFile::encodeName(path).constData(), &found) == 0 && S_ISSOCK(found.st_mode))
        QLocalServer::removeServer(path);
    if (!m_server.listen(path))
        return Error{QStringLiteral("status.listen"),
                     QStringLiteral("The status socket %1 cannot be opened: %2. Check that its folder exists and is "
                                    "writable.")
                         .arg(path, m_server.errorString())};
    connect(&m_server, &QLocalServer::newConnection, this, [this] {
        while (QLocalSocket *client = m_server.nextPendingConnection()) {
            m_clients.append(client);
            connect(client, &QLocalSocket::disconnected, this, [this, client] {
                m_clients.removeOne(client);
                client->deleteLater();
            });
            connect(client, &QLocalSocket::readyRead, client, [client] { client->readAll(); });
        }
    });
    return {};
}

void StatusServer::send(const QByteArray &line)
{
    const QList<QLocalSocket *> clients = m_clients;
    for (QLocalSocket *client : clients) {
        if (client->bytesToWrite() > kMostUnread) {
            client->abort();
            continue;
        }
        client->write(line + '\n');
        client->flush();
    }
}

} // namespace gridloom
