// SPDX-License-Identifier: Apache-2.0
// MessageQueue: messages in the order of their ids. The oldest and the newest lie open, what is between them is packed in
// pages of deflated text, so that an hour's outage costs a few megabytes: messages of one gateway are much alike. Pure.
#pragma once

#include "sdk/sink.h"

#include <deque>
#include <vector>

namespace gridloom {

/// What a message counts against a quota.
inline qsizetype messageBytes(const OutboundMessage &message)
{
    return message.topic.size() + message.payload.size();
}

class MessageQueue {
public:
    bool isEmpty() const { return m_size == 0; }
    std::size_t size() const { return m_size; }
    /// Sum of messageBytes(); in memory it is less.
    qsizetype bytes() const { return m_bytes; }

    /// Newer than all others.
    void pushBack(OutboundMessage message);
    /// One that was taken from the front before, back into its place.
    void putBack(OutboundMessage message);
    /// The oldest; not empty.
    const OutboundMessage &front();
    OutboundMessage popFront();

private:
    struct Page {
        QByteArray packed;
        std::size_t messages = 0;
    };
    void pack();
    void open();

    std::deque<OutboundMessage> m_head; ///< the oldest
    std::deque<Page> m_pages;
    std::vector<OutboundMessage> m_tail; ///< the newest, unless everything fits into the head
    qsizetype m_tailBytes = 0;
    std::size_t m_size = 0;
    qsizetype m_bytes = 0;
};

} // namespace gridloom
