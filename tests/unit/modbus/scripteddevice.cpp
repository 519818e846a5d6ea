// SPDX-License-Identifier: Apache-2.0
#include "scripteddevice.h"

namespace gridloom::test {

namespace {
QByteArray wordBytes(int v)
{
    QByteArray bytes;
    bytes += static_cast<char>(v >> 8);
    bytes += static_cast<char>(v);
    return bytes;
}
} // namespace

QByteArray frame(int transaction, int unit, const QByteArray &pdu)
{
    return wordBytes(transaction) + wordBytes(0) + wordBytes(static_cast<int>(pdu.size()) + 1) + static_cast<char>(unit)
        + pdu;
}

QByteArray ScriptedDevice::Request::text() const
{
    const bool isSingleWrite = function() == 5 || function() == 6;
    return QByteArray::number(function()) + ':' + QByteArray::number(address()) + (isSingleWrite ? '=' : '+')
        + QByteArray::number(count());
}

ScriptedDevice::ScriptedDevice()
{
    connect(&m_server, &QTcpServer::newConnection, this, &ScriptedDevice::accept);
}

bool ScriptedDevice::listen(quint16 port)
{
    const bool isListening = m_server.listen(QHostAddress::LocalHost, port);
    m_port = m_server.serverPort();
    return isListening;
}

void ScriptedDevice::shutDown()
{
    m_server.close();
    closeConnections();
}

void ScriptedDevice::closeConnections()
{
    for (auto *socket : QList(m_sockets))
        socket->abort();
}

void ScriptedDevice::accept()
{
    while (auto *socket = m_server.nextPendingConnection()) {
        ++connections;
        m_sockets << socket;
        socket->setSocketOption(QAbstractSocket::LowDelayOption, 1); // answers may come in pieces
        mostConnections = std::max(mostConnections, openConnections());
        connect(socket, &QTcpSocket::readyRead, this, [this, socket] { read(socket); });
        connect(socket, &QTcpSocket::disconnected, this, [this, socket] {
            m_sockets.removeOne(socket);
            m_buffers.erase(socket);
            socket->deleteLater();
        });
    }
}

void ScriptedDevice::read(QTcpSocket *socket)
{
    auto &buffer = m_buffers[socket];
    buffer += socket->readAll();
    while (buffer.size() >= 12) {
        const auto size = 6 + (static_cast<unsigned char>(buffer[4]) << 8 | static_cast<unsigned char>(buffer[5]));
        if (buffer.size() < size)
            return;
        const Request request{buffer.left(size)};
        buffer.remove(0, size);
        requests << request;
        const auto reply = m_script ? m_script(request) : answer(request);
        if (!m_sockets.contains(socket)) // the script closed it
            return;
        socket->write(reply);
        socket->flush();
    }
}

QByteArray ScriptedDevice::exception(const Request &request, int code)
{
    QByteArray pdu;
    pdu += static_cast<char>(request.function() | 0x80);
    pdu += static_cast<char>(code);
    return frame(request.transaction(), request.unit(), pdu);
}

QByteArray ScriptedDevice::answer(const Request &request)
{
    const int first = request.address();
    const bool isSingleWrite = request.function() == 5 || request.function() == 6;
    const int count = isSingleWrite ? 1 : request.count();
    for (int a = first; a < first + count; ++a)
        if (holes.contains(a))
            return exception(request, 2);
    QByteArray pdu(1, static_cast<char>(request.function()));
    switch (request.function()) {
    case 3:
    case 4:
        pdu += static_cast<char>(2 * count);
        for (int a = first; a < first + count; ++a)
            pdu += wordBytes(registers.contains(a) ? registers[a] : 0);
        break;
    case 6:
        registers[first] = request.count();
        pdu += request.frame.mid(8, 4);
        break;
    case 16:
        for (int i = 0; i < count; ++i)
            registers[first + i] = static_cast<unsigned char>(request.frame[13 + 2 * i]) << 8
                | static_cast<unsigned char>(request.frame[14 + 2 * i]);
        pdu += request.frame.mid(8, 4);
        break;
    default: return exception(request, 1);
    }
    return frame(request.transaction(), request.unit(), pdu);
}

void ScriptedDevice::send(const QByteArray &bytes)
{
    m_sockets.last()->write(bytes);
    m_sockets.last()->flush();
}

QList<QByteArray> ScriptedDevice::requestTexts() const
{
    QList<QByteArray> texts;
    for (const auto &request : requests)
        texts << request.text();
    return texts;
}

} // namespace gridloom::test
