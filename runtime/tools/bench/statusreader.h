// SPDX-License-Identifier: Apache-2.0
// StatusReader: connects to the runtime's status socket and takes in its lines. Used on one thread with an event loop.
#pragma once

#include "tools/bench/runtimestatus.h"

#include <QLocalSocket>
#include <QObject>
#include <QTimer>

namespace gridloom {

class StatusReader : public QObject {
    Q_OBJECT
public:
    explicit StatusReader(QObject *parent = nullptr);
    /// Tries until the runtime listens.
    void open(const QString &socketPath);
    void close();

Q_SIGNALS:
    void received(const gridloom::RuntimeStatus &status);
    /// A line that could not be understood.
    void failed(const gridloom::Error &error);

private:
    void connectAgain();
    void readLines();

    QString m_path;
    QLocalSocket m_socket;
    QTimer m_retry;
};

} // namespace gridloom
