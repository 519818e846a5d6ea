// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointer>
#include <QTcpServer>
#include <QTcpSocket>

namespace gridloom {

/// A network between sink and broker that can be cut or swallow everything.
class FlakyLink {
public:
    explicit FlakyLink(quint16 brokerPort)
    {
        m_server.listen(QHostAddress::LocalHost);
        QObject::connect(&m_server, &QTcpServer::newConnection, &m_server, [this, brokerPort] {
            QTcpSocket *near = m_server.nextPendingConnection();
            auto *far = new QTcpSocket(near);
            far->connectToHost(QHostAddress(QHostAddress::LocalHost), brokerPort);
            join(near, far);
            join(far, near);
            m_open.append(near);
        });
    }
    quint16 port() const { return m_server.serverPort(); }
    void setSilent(bool isSilent) { m_isSilent = isSilent; }
    /// Both ends see the connection end at once.
    void reset()
    {
        for (const QPointer<QTcpSocket> &near : std::as_const(m_open)) {
            if (near)
                near->abort();
        }
        m_open.clear();
    }

private:
    void join(QTcpSocket *from, QTcpSocket *to)
    {
        QObject::connect(from, &QTcpSocket::readyRead, to, [this, from, to] {
            const QByteArray bytes = from->readAll();
            if (!m_isSilent)
                to->write(bytes);
        });
        QObject::connect(from, &QTcpSocket::disconnected, to, [to] { to->disconnectFromHost(); });
    }

    QTcpServer m_server;
    QList<QPointer<QTcpSocket>> m_open;
    bool m_isSilent = false;
};

} // namespace gridloom
