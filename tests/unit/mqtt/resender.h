// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recordinghost.h"

#include <deque>
#include <functional>
#include <set>

namespace gridloom {

/// Sends 1..count as SinkRunner does, at most kSinkWindow at a time, and again what failed.
class Resender {
public:
    using Make = std::function<OutboundMessage(std::uint64_t id)>;
    Resender(RecordingHost &host, Sink &sink, std::uint64_t count, Make make) : m_sink(sink), m_make(std::move(make))
    {
        for (std::uint64_t id = 1; id <= count; ++id)
            m_waiting.push_back(id);
        host.onEnded = [this](std::uint64_t id, bool isDelivered) {
            m_held.erase(id);
            if (!isDelivered) {
                m_isUp = false; // the connection is about to end
                m_waiting.push_front(id);
                return;
            }
            ++m_delivered;
            fill();
        };
        host.onConnection = [this](bool isConnected) {
            m_isUp = isConnected;
            if (isConnected)
                fill();
        };
    }
    void fill()
    {
        while (m_isUp && m_held.size() < kSinkWindow && !m_waiting.empty()) {
            const std::uint64_t id = m_waiting.front();
            m_waiting.pop_front();
            m_held.insert(id);
            const OutboundMessage message = m_make(id);
            m_sink.send({&message, 1});
        }
    }
    std::uint64_t delivered() const { return m_delivered; }

private:
    Sink &m_sink;
    Make m_make;
    std::deque<std::uint64_t> m_waiting;
    std::set<std::uint64_t> m_held;
    std::uint64_t m_delivered = 0;
    bool m_isUp = false;
};

} // namespace gridloom
