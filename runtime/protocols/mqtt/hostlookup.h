// SPDX-License-Identifier: Apache-2.0
// HostLookup: addresses of a host name without blocking the caller's thread. getaddrinfo() may take as long as the
// resolver likes (tens of seconds without a name server), so it runs on a thread of its own, one at a time; a look-up
// that nobody waits for any more ends by itself, and nothing ever waits for it, the end of the program neither.
#pragma once

#include <QByteArray>
#include <QList>
#include <QObject>
#include <QString>

#include <memory>

namespace gridloom {

class HostLookup : public QObject {
    Q_OBJECT
public:
    explicit HostLookup(QObject *parent = nullptr) : QObject(parent) {}
    ~HostLookup() override;

    /// Answered by finished(), never before this call returns. While a look-up runs, another start() joins it.
    void start(const QByteArray &name);

    /// Whether it is an IPv4 or IPv6 address, which needs no look-up.
    static bool isAddress(const QByteArray &host);

Q_SIGNALS:
    /// Numeric addresses in the resolver's order; none with the reason in `error`.
    void finished(const QList<QByteArray> &addresses, const QString &error);

private:
    struct Shared;
    std::shared_ptr<Shared> m_running;
};

} // namespace gridloom
