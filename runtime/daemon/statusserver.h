// SPDX-License-Identifier: Apache-2.0
// StatusServer: sends status lines to every client of a local socket, read-only. Main thread. A client that does not
// read is dropped, never waited for.
#pragma once

#include "core/result.h"

#include <QList>
#include <QLocalServer>

namespace gridloom {

class StatusServer : public QObject {
    Q_OBJECT
public:
    ~StatusServer() override;
    /// Error "status.listen" names the path.
    Result<void> listen(const QString &path);
    /// `line` without its line end.
    void send(const QByteArray &line);

private:
    QLocalServer m_server;
    QList<QLocalSocket *> m_clients;
};

} // namespace gridloom
