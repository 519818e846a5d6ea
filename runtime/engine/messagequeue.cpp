// SPDX-License-Identifier: Apache-2.0
#include "engine/messagequeue.h"

#include <QDataStream>
#include <QIODevice>

#include <algorithm>
#include <iterator>

namespace gridloom {

namespace {
// A page about as long as what deflate looks back on.
constexpr std::size_t kPageMessages = 64;
constexpr qsizetype kPageBytes = 32 * 1024;
constexpr int kFastest = 1;
} // namespace

void MessageQueue::pushBack(OutboundMessage message)
{
    ++m_size;
    m_bytes += messageBytes(message);
    if (m_pages.empty() && m_tail.empty() && m_head.size() < kPageMessages) {
        m_head.push_back(std::move(message));
        return;
    }
    m_tailBytes += messageBytes(message);
    m_tail.push_back(std::move(message));
    if (m_tail.size() >= kPageMessages || m_tailBytes >= kPageBytes)
        pack();
}

void MessageQueue::putBack(OutboundMessage message)
{
    ++m_size;
    m_bytes += messageBytes(message);
    // Its place is among the first: whatever was taken is older than what still waits, but for others put back.
    const auto place =
        std::find_if(m_head.begin(), m_head.end(), [&](const OutboundMessage &other) { return other.id > message.id; });
    m_head.insert(place, std::move(message));
}

const OutboundMessage &MessageQueue::front()
{
    open();
    return m_head.front();
}

OutboundMessage MessageQueue::popFront()
{
    open();
    OutboundMessage message = std::move(m_head.front());
    m_head.pop_front();
    --m_size;
    m_bytes -= messageBytes(message);
    return message;
}

void MessageQueue::pack()
{
    if (m_tail.empty())
        return;
    QByteArray plain;
    plain.reserve(m_tailBytes + static_cast<qsizetype>(m_tail.size()) * 24);
    QDataStream out(&plain, QIODevice::WriteOnly);
    for (const OutboundMessage &m : m_tail)
        out << static_cast<quint64>(m.id) << m.topic << m.payload << m.qos << m.isRetained
            << static_cast<std::uint8_t>(m.kind) << m.isBackfill;
    m_pages.push_back({qCompress(plain, kFastest), m_tail.size()});
    m_pages.back().packed.squeeze(); // it has room for the worst case
    m_tail.clear();
    m_tailBytes = 0;
}

/// Afterwards the oldest message lies in the head.
void MessageQueue::open()
{
    if (!m_head.empty())
        return;
    if (m_pages.empty()) {
        std::move(m_tail.begin(), m_tail.end(), std::back_inserter(m_head));
        m_tail.clear();
        m_tailBytes = 0;
        return;
    }
    const Page page = std::move(m_pages.front());
    m_pages.pop_front();
    const QByteArray plain = qUncompress(page.packed);
    QDataStream in(plain);
    for (std::size_t i = 0; i < page.messages; ++i) {
        OutboundMessage m;
        quint64 id = 0;
        std::uint8_t kind = 0;
        in >> id >> m.topic >> m.payload >> m.qos >> m.isRetained >> kind >> m.isBackfill;
        m.id = id;
        m.kind = static_cast<MessageClass>(kind);
        m_head.push_back(std::move(m));
    }
}

} // namespace gridloom
