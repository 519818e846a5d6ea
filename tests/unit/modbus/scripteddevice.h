// SPDX-License-Identifier: Apache-2.0
// ScriptedDevice: a Modbus TCP server for tests, written byte by byte and apart from the driver's own frame code. It
// holds registers, and a script may put any bytes in place of an answer.
#pragma once

#include <QTcpServer>
#include <QTcpSocket>

#include <functional>
#include <map>
#include <set>

namespace gridloom::test {

class ScriptedDevice : public QObject {
    Q_OBJECT
public:
    /// What came in: one request frame, cut out of the stream by its length field.
    struct Request {
        QByteArray frame;
        int transaction() const { return word(0); }
        int unit() const { return byte(6); }
        int function() const { return byte(7); }
        int address() const { return word(8); }
        int count() const { return word(10); } ///< the value of functions 5 and 6
        /// "3:0+10" = function:address+count, "6:40=7" = function:address=value.
        QByteArray text() const;

    private:
        int byte(int at) const { return static_cast<unsigned char>(frame[at]); }
        int word(int at) const { return byte(at) << 8 | byte(at + 1); }
    };
    /// The bytes to send; nothing: no answer.
    using Script = std::function<QByteArray(const Request &)>;

    ScriptedDevice();
    ~ScriptedDevice() override { shutDown(); }

    /// Listens on 127.0.0.1, on `port` or any free one.
    bool listen(quint16 port = 0);
    quint16 port() const { return m_port; }
    /// Stops listening and closes every connection.
    void shutDown();
    void closeConnections();

    /// Replaces answer() until it is set to nothing.
    void setScript(Script script) { m_script = std::move(script); }
    /// The right answer by the state below.
    QByteArray answer(const Request &request);
    static QByteArray exception(const Request &request, int code);
    /// Bytes at any time, to the newest connection.
    void send(const QByteArray &bytes);

    std::map<int, int> registers; ///< holding registers by address; any other address is 0
    std::set<int> holes;          ///< addresses whose read or write is exception 2
    QList<Request> requests;
    QList<QByteArray> requestTexts() const;
    int connections = 0; ///< accepted since start
    int openConnections() const { return static_cast<int>(m_sockets.size()); }
    int mostConnections = 0; ///< open at the same time

private:
    void accept();
    void read(QTcpSocket *socket);

    QTcpServer m_server;
    quint16 m_port = 0;
    QList<QTcpSocket *> m_sockets;
    std::map<QTcpSocket *, QByteArray> m_buffers;
    Script m_script;
};

/// MBAP header with the right length before a PDU.
QByteArray frame(int transaction, int unit, const QByteArray &pdu);

} // namespace gridloom::test
