// SPDX-License-Identifier: Apache-2.0
// NewestMessages: of each topic the newest message only, in the order in which the topics began to wait. A topic that
// changes again and again keeps its turn. Pure.
#pragma once

#include "engine/messagequeue.h"

#include <QHash>

#include <map>
#include <optional>

namespace gridloom {

class NewestMessages {
public:
    bool isEmpty() const { return m_byTurn.empty(); }
    std::size_t size() const { return m_byTurn.size(); }
    /// Answers the one that is not needed any more, if any: that of the same topic, or `message` itself when a newer one
    /// waits already.
    std::optional<OutboundMessage> put(OutboundMessage message)
    {
        const auto turn = m_turnOf.constFind(message.topic);
        if (turn == m_turnOf.constEnd()) {
            m_turnOf.insert(message.topic, message.id);
            m_byTurn.emplace(message.id, std::move(message));
            return std::nullopt;
        }
        OutboundMessage &waiting = m_byTurn.at(*turn);
        if (waiting.id < message.id)
            std::swap(waiting, message);
        return message;
    }
    const OutboundMessage &front() const { return m_byTurn.begin()->second; } ///< not empty
    OutboundMessage popFront()
    {
        OutboundMessage message = std::move(m_byTurn.begin()->second);
        m_byTurn.erase(m_byTurn.begin());
        m_turnOf.remove(message.topic);
        return message;
    }

private:
    std::map<std::uint64_t, OutboundMessage> m_byTurn; ///< the id of the topic's first message is its turn
    QHash<QByteArray, std::uint64_t> m_turnOf;
};

} // namespace gridloom
