// SPDX-License-Identifier: Apache-2.0
// Reader: answers polls. Queues one read per planned block, turns answers into samples, and reacts to exceptions:
// splits refused blocks, waits for busy devices, gives silent units up. Every polled handle gets exactly one sample.
// Driver's thread.
#pragma once

#include "exchange.h"
#include "jobqueue.h"

namespace gridloom::modbus {

class Reader {
public:
    /// Whether there is a connection: Open (or an attempt is under way), Lost just now, or Down.
    enum class Link : std::uint8_t { Open, Lost, Down };

    Reader(DriverHost &host, const Clock &clock) : m_host(host), m_clock(clock) {}

    /// The units outlive the reader's use of them.
    void configure(std::span<const std::unique_ptr<Unit>> units);

    /// Nulls when the point is none of this channel.
    std::pair<Unit *, PointState *> find(PointHandle handle) const;
    void poll(std::span<const PointHandle> due, Link link);
    /// The next request that may be sent now, or null.
    std::unique_ptr<ReadJob> next(RealTime now);
    void finished(std::unique_ptr<ReadJob> job, const Outcome &outcome, Link link);
    /// Answers what is queued for a unit that went off-scan.
    void abandon(const Unit &unit);
    /// Answers everything that is queued.
    void abandonAll(Link link);

    /// When a job that waits for a busy device may be sent; nothing when none does.
    std::optional<RealTime> nextDue(RealTime now) const;

private:
    struct Stamp {
        WallTime wall;
        SteadyTime steady;
    };

    Stamp now() const { return {m_clock.wallNow(), m_clock.steadyNow()}; }

    void enqueue(Unit &unit, std::shared_ptr<Block> block, std::shared_ptr<Split> split, bool isFirst);
    void acceptValues(ReadJob &job, const Outcome &outcome);
    void acceptException(std::unique_ptr<ReadJob> job, const Outcome &outcome);
    void acceptFailure(std::unique_ptr<ReadJob> job, unsigned epoch);
    void splitOrLearn(const ReadJob &job, std::uint8_t exception);
    void close(const ReadJob &job, Quality bad, bool mayBeStale = false);

    void answer(PointState &point, Value value, Quality quality, const Stamp &stamp);
    /// Without news: the last usable value as stale, or null and `bad`.
    void answerOld(PointState &point, Quality bad, bool mayBeStale, const Stamp &stamp);
    void publish();

    DriverHost &m_host;
    const Clock &m_clock;
    std::vector<std::pair<Unit *, PointState *>> m_points; ///< by handle - m_firstHandle
    PointHandle m_firstHandle = 0;
    JobQueue<ReadJob> m_queue;
    std::vector<Sample> m_batch; ///< kept for its memory
};

} // namespace gridloom::modbus
