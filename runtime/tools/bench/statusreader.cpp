// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/statusreader.h"

namespace gridloom {

namespace {
constexpr std::chrono::milliseconds kRetry{50};
}

StatusReader::StatusReader(QObject *parent) : QObject(parent)
{
    m_retry.setSingleShot(true);
    connect(&m_retry, &QTimer::timeout, this, &StatusReader::connectAgain);
    connect(&m_socket, &QLocalSocket::readyRead, this, &StatusReader::readLines);
    connect(&m_socket, &QLocalSocket::errorOccurred, this, [this] {
        if (!m_path.isEmpty())
            m_retry.start(kRetry);
    });
}

void StatusReader::open(const QString &socketPath)
{
    m_path = socketPath;
    connectAgain();
}

void StatusReader::close()
{
    m_path.clear();
    m_retry.stop();
    m_socket.abort();
}

void StatusReader::connectAgain()
{
    if (m_socket.state() == QLocalSocket::UnconnectedState)
        m_socket.connectToServer(m_path, QIODevice::ReadOnly);
}

void StatusReader::readLines()
{
    while (m_socket.canReadLine()) {
        const auto status = parseRuntimeStatus(m_socket.readLine());
        if (status)
            Q_EMIT received(status.value());
        else
            Q_EMIT failed(status.error());
    }
}

} // namespace gridloom
