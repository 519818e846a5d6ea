// SPDX-License-Identifier: Apache-2.0
// Sink: carries messages out. Created, used and destroyed on one thread with a Qt event loop; never blocks it.
// SinkRunner owns the order, the retry and the number of messages a sink holds (at most kSinkWindow unacknowledged).
// A sink whose manifest has the capability "commands" also brings messages in.
#pragma once

#include "sdk/plugin.h"

#include <QByteArray>
#include <QJsonObject>

#include <cstdint>
#include <span>

namespace gridloom {

inline constexpr std::size_t kSinkWindow = 20;

/// What a message is, which says what may happen to it while it waits. The numbers stand in files; 0 is also what
/// files without a class mean.
enum class MessageClass : std::uint8_t {
    Trigger = 0,   ///< by a script
    Telemetry = 1, ///< a periodic publication: late ones go out as backfill, and they are the first to be dropped
    Alarm = 2,     ///< a transition: the last to be dropped
    State = 3,     ///< the newest value of a point: a newer one replaces one that waits
    Reply = 4,     ///< to a command
};
inline constexpr std::size_t kMessageClasses = 5;
/// The class with this number; Trigger when there is none.
constexpr MessageClass messageClass(std::uint64_t number)
{
    return number < kMessageClasses ? static_cast<MessageClass>(number) : MessageClass::Trigger;
}

struct OutboundMessage {
    std::uint64_t id = 0; ///< ours, also inside the payload; the same after a restart
    QByteArray topic;
    QByteArray payload;
    std::uint8_t qos = 1;
    bool isRetained = false;
    MessageClass kind = MessageClass::Trigger;
    bool isBackfill = false; ///< telemetry that could not be sent when it was new
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
    /// A message on a topic of Sink::subscribe(). `isRetained`: a stored copy of some earlier time. Such a flood must cost
    /// the host nothing but this call.
    virtual void messageReceived(const QByteArray &topic, const QByteArray &payload, bool isRetained) = 0;
};

class Sink {
public:
    virtual ~Sink() = default;
    /// `topicPrefix` is "gridloom/v1/{gateway}", escaped. No I/O.
    virtual Result<void> configure(const QJsonObject &params, const QByteArray &topicPrefix) = 0;
    /// What comes on topics below the prefix that match `filter` ("cmd/+") goes to messageReceived() from now on, over
    /// reconnects too. Before start(); only for a sink with the capability "commands".
    virtual Result<void> subscribe(const QByteArray &filter) = 0;
    virtual void start() = 0;
    /// Only while connected; the sink holds each message until delivered() or failed().
    virtual void send(std::span<const OutboundMessage> messages) = 0;
    /// Says goodbye and closes. Idempotent.
    virtual void stop() = 0;
    virtual SinkStatistics statistics() const = 0;
};

} // namespace gridloom
