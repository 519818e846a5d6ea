// SPDX-License-Identifier: Apache-2.0
#include "support/droppingproxy.h"

#include <QHostAddress>
#include <QList>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTimer>

#include <sys/socket.h>

namespace gridloom {

namespace {
/// What a silent network holds back for a sender; then its own buffers fill, as without acknowledgements.
constexpr qint64 kHeldBytes = 256 * 1024;
} // namespace

class DroppingProxy::Worker : public QObject {
public:
    explicit Worker(quint16 serverPort) : m_serverPort(serverPort), m_server(this)
    {
        m_server.listen(QHostAddress::LocalHost);
        connect(&m_server, &QTcpServer::newConnection, this, [this] {
            while (QTcpSocket *near = m_server.nextPendingConnection())
                accept(near);
        });
    }

    quint16 port() const { return m_server.serverPort(); }
    void setSilent(bool isSilent)
    {
        m_isSilent = isSilent;
        for (Link *link : QList<Link *>(m_links))
            pump(link);
    }
    void reset()
    {
        while (!m_links.isEmpty()) {
            Link *link = m_links.takeFirst();
            for (QTcpSocket *socket : {link->near, link->far}) {
                socket->disconnect(this);
                const linger atOnce{1, 0};
                ::setsockopt(static_cast<int>(socket->socketDescriptor()), SOL_SOCKET, SO_LINGER, &atOnce,
                             sizeof atOnce);
                socket->abort();
                socket->deleteLater();
            }
            delete link;
        }
    }
    int open() const { return static_cast<int>(m_links.size()); }

    std::chrono::milliseconds delay{0};
    bool isClosing = false;
    std::uint64_t accepted = 0;

private:
    struct Link {
        QTcpSocket *near = nullptr; ///< the client's
        QTcpSocket *far = nullptr;  ///< the server's
        bool isDialled = false;
    };

    void accept(QTcpSocket *near)
    {
        ++accepted;
        if (isClosing) {
            near->abort();
            near->deleteLater();
            return;
        }
        auto *link = new Link{near, new QTcpSocket(this)};
        m_links.append(link);
        for (QTcpSocket *socket : {link->near, link->far}) {
            socket->setReadBufferSize(kHeldBytes);
            connect(socket, &QTcpSocket::readyRead, this, [this, link] { pump(link); });
            connect(socket, &QTcpSocket::disconnected, this, [this, link] { pump(link); });
        }
        connect(link->far, &QTcpSocket::connected, this, [this, link] { pump(link); });
        connect(link->far, &QTcpSocket::errorOccurred, this, [this, link] { pump(link); });
        pump(link);
    }

    void pump(Link *link)
    {
        if (m_isSilent || !m_links.contains(link))
            return;
        if (!std::exchange(link->isDialled, true))
            link->far->connectToHost(QHostAddress(QHostAddress::LocalHost), m_serverPort);
        if (link->far->state() == QAbstractSocket::ConnectedState && link->near->bytesAvailable() > 0)
            link->far->write(link->near->readAll());
        if (link->far->bytesAvailable() > 0)
            toClient(link, link->far->readAll());
        const bool isNearGone = link->near->state() == QAbstractSocket::UnconnectedState;
        const bool isFarGone = link->far->state() == QAbstractSocket::UnconnectedState;
        if (!isNearGone && !isFarGone)
            return;
        if (isNearGone && link->near->bytesAvailable() > 0 && link->far->state() != QAbstractSocket::UnconnectedState)
            return; // its last words wait until the server is reached
        m_links.removeOne(link);
        for (QTcpSocket *socket : {link->near, link->far}) {
            socket->disconnect(this);
            connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
            socket->disconnectFromHost(); // after what was written
            if (socket->state() == QAbstractSocket::UnconnectedState)
                socket->deleteLater();
        }
        delete link;
    }

    void toClient(Link *link, const QByteArray &bytes)
    {
        if (delay.count() == 0) {
            link->near->write(bytes);
            return;
        }
        QTimer::singleShot(delay, Qt::PreciseTimer, link->near, [near = link->near, bytes] { near->write(bytes); });
    }

    const quint16 m_serverPort;
    QTcpServer m_server;
    QList<Link *> m_links;
    bool m_isSilent = false;
};

template<typename F>
auto DroppingProxy::inThread(F &&f) const
{
    using Answer = decltype(f());
    if constexpr (std::is_void_v<Answer>) {
        QMetaObject::invokeMethod(m_context, f, Qt::BlockingQueuedConnection);
    } else {
        Answer answer{};
        QMetaObject::invokeMethod(
            m_context, [&] { answer = f(); }, Qt::BlockingQueuedConnection);
        return answer;
    }
}

DroppingProxy::DroppingProxy(quint16 serverPort) : m_context(new QObject)
{
    m_thread.setObjectName(QStringLiteral("proxy"));
    m_thread.start();
    m_context->moveToThread(&m_thread);
    inThread([&] { m_worker = new Worker(serverPort); });
    m_port = inThread([this] { return m_worker->port(); });
}

DroppingProxy::~DroppingProxy()
{
    inThread([this] { delete m_worker; });
    m_context->deleteLater();
    m_thread.quit();
    m_thread.wait();
}

void DroppingProxy::setSilent(bool isSilent)
{
    inThread([=, this] { m_worker->setSilent(isSilent); });
}

void DroppingProxy::setDelay(std::chrono::milliseconds delay)
{
    inThread([=, this] { m_worker->delay = delay; });
}

void DroppingProxy::setClosing(bool isClosing)
{
    inThread([=, this] { m_worker->isClosing = isClosing; });
}

void DroppingProxy::reset()
{
    inThread([this] { m_worker->reset(); });
}

std::uint64_t DroppingProxy::accepted() const
{
    return inThread([this] { return m_worker->accepted; });
}

int DroppingProxy::open() const
{
    return inThread([this] { return m_worker->open(); });
}

} // namespace gridloom
