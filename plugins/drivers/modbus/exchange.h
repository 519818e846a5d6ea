// SPDX-License-Identifier: Apache-2.0
// Exchange: the transactions of one connection: sends requests, finds the request that an answer belongs to, ends what
// got none in time. A frame belongs to a request only when transaction id, unit, function, length and byte count are
// right; any other is counted and thrown away while the time runs on. Driver's thread.
#pragma once

#include "connection.h"
#include "jobs.h"

#include <deque>
#include <optional>

namespace gridloom::modbus {

/// What became of a request.
struct Outcome {
    enum class Kind : std::uint8_t { Values, Written, Exception, TimedOut, ConnectionLost };
    Kind kind = Kind::TimedOut;
    std::uint8_t exception = 0;
    std::span<const std::uint8_t> data{}; ///< Values: valid during the call
    unsigned epoch = 0;                   ///< ScanState::epoch() when it was sent
};

class ExchangeClient {
public:
    virtual ~ExchangeClient() = default;
    /// Exactly once for each send(). Must not send from within.
    virtual void finished(Job job, const Outcome &outcome) = 0;
    /// An answer to a request of this unit that had timed out.
    virtual void answeredLate(std::uint8_t unit) = 0;
};

class Exchange {
public:
    Exchange(Connection &connection, ExchangeClient &client);

    void configure(int maxInFlight, std::chrono::milliseconds delay);

    bool canSend(RealTime now) const;
    /// `isProbe`: a unit that is known to be dead while others live: its silence says nothing about the connection.
    void send(Job job, Unit &unit, Request request, RealTime deadline, bool isProbe, RealTime now);

    void received(const Frame &frame, RealTime now);
    /// Ends what is overdue. Answers why the connection should be closed, if it should: three time-outs in a row
    /// without any frame (half-open), or a frame that began and did not end.
    std::optional<Error> expire(RealTime now);
    /// Ends everything; call it when the connection is gone.
    void connectionLost();

    /// When expire() or a new send() is due; nothing while idle.
    std::optional<RealTime> nextDue(RealTime now) const;

    std::uint64_t timeouts() const { return m_timeouts; }
    std::uint64_t exceptions() const { return m_exceptions; }
    std::uint64_t droppedFrames() const { return m_droppedFrames; }
    void countDroppedFrame() { ++m_droppedFrames; }

private:
    struct Transaction {
        std::uint16_t id = 0;
        std::uint8_t unit = 0;
        bool ignoresId = false;
        bool isProbe = false;
        unsigned epoch = 0;
        unsigned silenceEpoch = 0;
        Request request;
        RealTime deadline;
        Job job;
    };
    struct Expired {
        std::uint16_t id = 0;
        std::uint8_t unit = 0;
    };

    std::uint16_t nextId();
    Transaction take(std::size_t index);
    void drop(const Frame &frame);
    std::optional<Error> judgeSilence(const Transaction &transaction);

    Connection &m_connection;
    ExchangeClient &m_client;
    std::size_t m_maxInFlight = 1;
    std::chrono::milliseconds m_delay{0};
    std::vector<Transaction> m_inFlight;
    std::deque<Expired> m_expired; ///< the last few, to know late answers
    RealTime m_nextSend{};
    std::uint16_t m_lastId = 0;
    int m_silentTimeouts = 0; ///< in a row, without any frame; those of one epoch count once
    unsigned m_silenceEpoch = 0;
    std::uint64_t m_timeouts = 0;
    std::uint64_t m_exceptions = 0;
    std::uint64_t m_droppedFrames = 0;
};

} // namespace gridloom::modbus
