// SPDX-License-Identifier: Apache-2.0
#include "protocols/mqtt/hostlookup.h"

#include <mutex>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>

namespace gridloom {

/// What the look-up's thread and its owner share; the owner may go first.
struct HostLookup::Shared {
    std::mutex mutex;
    HostLookup *owner = nullptr;
};

namespace {

QList<QByteArray> resolve(const QByteArray &name, QString *error)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (const int code = ::getaddrinfo(name.constData(), nullptr, &hints, &found); code != 0) {
        *error = QString::fromLocal8Bit(::gai_strerror(code));
        return {};
    }
    QList<QByteArray> addresses;
    for (const addrinfo *one = found; one; one = one->ai_next) {
        char text[NI_MAXHOST];
        if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0
            && !addresses.contains(QByteArray(text)))
            addresses.append(QByteArray(text));
    }
    ::freeaddrinfo(found);
    return addresses;
}

} // namespace

HostLookup::~HostLookup()
{
    if (!m_running)
        return;
    const std::lock_guard lock(m_running->mutex);
    m_running->owner = nullptr;
}

void HostLookup::start(const QByteArray &name)
{
    if (m_running)
        return;
    m_running = std::make_shared<Shared>();
    m_running->owner = this;
    const auto look = [shared = m_running, name] {
        QString error;
        const QList<QByteArray> addresses = resolve(name, &error);
        const std::lock_guard lock(shared->mutex);
        if (!shared->owner)
            return;
        QMetaObject::invokeMethod(
            shared->owner,
            [owner = shared->owner, addresses, error] {
                owner->m_running.reset();
                Q_EMIT owner->finished(addresses, error);
            },
            Qt::QueuedConnection);
    };
    try {
        std::thread(look).detach();
    } catch (const std::system_error &) {
        m_running.reset();
        QMetaObject::invokeMethod(
            this, [this] { Q_EMIT finished({}, QStringLiteral("the system refused a thread for it")); },
            Qt::QueuedConnection);
    }
}

bool HostLookup::isAddress(const QByteArray &host)
{
    in6_addr buffer;
    return ::inet_pton(AF_INET, host.constData(), &buffer) == 1
        || ::inet_pton(AF_INET6, host.constData(), &buffer) == 1;
}

} // namespace gridloom
