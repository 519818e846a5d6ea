// SPDX-License-Identifier: Apache-2.0
// Writer: carries writes out: request, acknowledgement, read-back, one result. A write that cannot be sent by its
// deadline ends as timed out and is never sent. Writes of one point keep their order. Driver's thread.
#pragma once

#include "exchange.h"
#include "jobqueue.h"

namespace gridloom::modbus {

class Writer {
public:
    Writer(DriverHost &host, const Clock &clock) : m_host(host), m_clock(clock) {}

    /// `point` belongs to `unit`; null: an unknown point.
    void write(const WriteRequest &request, Unit *unit, PointState *point);
    std::unique_ptr<WriteJob> next(RealTime now);
    /// What to send for a job: the write, or the read that verifies it.
    static Request requestOf(const WriteJob &job);
    void finished(std::unique_ptr<WriteJob> job, const Outcome &outcome);
    /// Ends queued writes whose deadline is over.
    void expire(RealTime now);
    /// Ends everything that is queued; the driver stops.
    void abandonAll();

    /// When a deadline or the wait of a busy device is over; nothing when no write is queued.
    std::optional<RealTime> nextDue(RealTime now) const;

private:
    void acceptReadBack(std::unique_ptr<WriteJob> job, std::span<const std::uint8_t> data);
    void acceptException(std::unique_ptr<WriteJob> job, std::uint8_t exception, unsigned epoch);
    void acceptTimeout(std::unique_ptr<WriteJob> job, unsigned epoch);
    /// Puts it back in front of the others.
    void retry(std::unique_ptr<WriteJob> job, RealTime notBefore);
    void end(std::unique_ptr<WriteJob> job, WriteResult result);
    void endTimedOut(std::unique_ptr<WriteJob> job);

    DriverHost &m_host;
    const Clock &m_clock;
    JobQueue<WriteJob> m_queue;
};

} // namespace gridloom::modbus
