// SPDX-License-Identifier: Apache-2.0
// ControlPath: leads every write from its request through the Arbiter to the driver and back, and keeps the account and
// the record of each command. Engine thread.
#pragma once

#include "core/control/arbiter.h"
#include "core/ledger.h"
#include "engine/outlets.h"
#include "sdk/records.h"

namespace gridloom {

class TriggerRuns;

struct ControlCounts {
    std::uint64_t confirmed = 0, mismatch = 0, rejected = 0, timedOut = 0, superseded = 0, notNeeded = 0;
};

class ControlPath {
public:
    ControlPath(const Design &design, const Outlets &outlets, Records &records, TriggerRuns &runs, const Clock &clock);

    /// Told how each request with a ticket ended, also from within request(); each listener knows its own tickets.
    void onTicketEnded(std::function<void(const ControlCommand &, SteadyTime)> ended)
    {
        m_ticketEnded.push_back(std::move(ended));
    }
    /// Leases of coordination tasks and what they find: see Arbiter.
    Result<void> lease(const std::vector<PointHandle> &points, const QString &owner, ControlPriority priority,
                       SteadyTime now, SteadyTime until)
    {
        return m_arbiter.lease(points, owner, priority, now, until);
    }
    Result<void> holdsLease(const std::vector<PointHandle> &points, const QString &owner) const
    {
        return m_arbiter.holdsLease(points, owner);
    }
    void release(const std::vector<PointHandle> &points, const QString &owner) { m_arbiter.release(points, owner); }
    std::pair<Value, SteadyTime> lastWritten(PointHandle point) const { return m_arbiter.lastWritten(point); }

    /// A run's effect must have been announced (effectAsked) before.
    void request(const ControlRequest &request, SteadyTime now, WallTime wall);
    void writeFinished(const WriteFinished &event);
    /// Sends what may go now and ends what is past its deadline.
    void advance(SteadyTime now);
    std::optional<SteadyTime> nextDue() const;
    /// A device is back: what it was told before may be gone, so the next write is needed even when it is the same.
    void deviceReturned(const Device &device);
    /// Orderly stop: nothing that waits is sent any more.
    void rejectWaiting(SteadyTime now);

    CommandId nextCommand() const { return m_arbiter.nextCommand(); }
    const Ledger &ledger() const { return m_ledger; }
    const ControlCounts &counts() const { return m_counts; }

private:
    void finished(const ControlCommand &command, SteadyTime now);

    const Design &m_design;
    const Outlets &m_outlets;
    Records &m_records;
    TriggerRuns &m_runs;
    const Clock &m_clock;
    Arbiter m_arbiter;
    std::vector<std::function<void(const ControlCommand &, SteadyTime)>> m_ticketEnded;
    Ledger m_ledger;
    ControlCounts m_counts;
};

} // namespace gridloom
