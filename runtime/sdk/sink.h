// SPDX-License-Identifier: Apache-2.0
// Sink: carries messages out. Created, used and destroyed on one thread with a Qt event loop; never blocks it.
// SinkRunner owns the order, the retry and the number of messages a sink holds (at most kSinkWindow unacknowledged).
#pragma once

#include "sdk/plugin.h"

#include <QByteArray>
#include <QJsonObject>

#include <cstdint>
#include <span>

namespace gridloom {

inline constexpr std::size_t kSinkWindow = 20;

struct OutboundMessage {
    std::uint64_t id = 0; ///< ours, also inside the payload; the same after a restart
    QByteArray topic;
    QByteArray payload;
    std::uint8_t qos = 1;
    bool isRetained = false;
};

struct SinkStatistics {
    std::uint64_t sent = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t connects = 0;
    bool isConnected = false;
};

class SinkHost { // call only in the thread that created the sink
public:
    virtual ~SinkHost() = default;
    /// The receiver has taken responsibility (PUBACK; for QoS 0: written to the socket).
    virtual void delivered(std::uint64_t messageId) = 0;
    /// Not delivered, and the sink no longer holds it: the runner sends it again after its back-off.
    virtual void failed(std::uint64_t messageId, const Error &error) = 0;
    /// True: the sink can send now. False: everything it held has been failed().
    virtual void connectionChanged(bool isConnected, const Error &why) = 0;
};

class Sink {
public:
    virtual ~Sink() = default;
    /// `topicPrefix` is "gridloom/v1/{gateway}", escaped. No I/O.
    virtual Result<void> configure(const QJsonObject &params, const QByteArray &topicPrefix) = 0;
    virtual void start() = 0;
    /// Only while connected; the sink holds each message until delivered() or failed().
    virtual void send(std::span<const OutboundMessage> messages) = 0;
    /// Says goodbye and closes. Idempotent.
    virtual void stop() = 0;
    virtual SinkStatistics statistics() const = 0;
};

} // namespace gridloom
