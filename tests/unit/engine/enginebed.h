// SPDX-License-Identifier: Apache-2.0
// EngineBed: a Cycle with a fake clock and fake surroundings; no thread, no socket, no file. Everything that leaves the
// engine is recorded, and the test answers in its place.
#pragma once

#include "core/design/designdocument.h"
#include "engine/cycle.h"

#include <memory>
#include <vector>

namespace gridloom {

class FakeRecords : public Records {
public:
    RecordNumber append(Record record) override
    {
        records.push_back(std::move(record));
        return records.size();
    }
    void setCommitted(std::function<void(const CommitReport &)>) override {}
    std::vector<OutboxEntry> pendingOutbox() const override { return {}; }
    std::map<QString, QByteArray> states() const override { return lastStates; }
    std::vector<AlarmTransition> openAlarms() const override { return lastAlarms; }
    std::vector<CommandReply> replies() const override { return lastReplies; }
    std::uint64_t nextMessageId() const override { return 100; }
    std::uint64_t nextRun() const override { return 1; }
    std::uint64_t nextCommand() const override { return 1; }
    RecordsStatistics statistics() const override { return {}; }

    template<typename T>
    std::vector<T> all() const
    {
        std::vector<T> found;
        for (const Record &record : records)
            if (const T *item = std::get_if<T>(&record))
                found.push_back(*item);
        return found;
    }
    /// What a start after this run would find: as on a disk that got everything.
    FakeRecords asLeft() const;

    std::vector<Record> records;
    std::map<QString, QByteArray> lastStates; ///< what an earlier run is to have left
    std::vector<AlarmTransition> lastAlarms;
    std::vector<CommandReply> lastReplies;
};

class EngineBed {
public:
    /// The files of the test's design beside gridloom.json, a store, a sink "mqtt" and a channel "bus".
    explicit EngineBed(DesignDocument files, const std::map<QString, QByteArray> &lastStates = {});
    /// Started `at` on the clock's scale (a bed begins at 0), with what an earlier run left in its records.
    EngineBed(DesignDocument files, const FakeRecords &left, Nanoseconds at);

    /// Lets time pass in one step and runs a cycle.
    void advance(Nanoseconds d);
    void step() { m_cycle->step(); }
    PointHandle point(const char *name) const { return design->pointByName.value(name, kNoPoint); }
    /// A sample as a driver would deliver it, and a cycle.
    void sample(const char *point, Value value, Quality quality = Quality::Good);
    /// The script of the oldest job ends so; and a cycle.
    void scriptEnds(std::vector<Action> actions, ScriptOutcome outcome = ScriptOutcome::Ok, const QString &error = {},
                    const std::optional<QByteArray> &state = {});
    void writeEnds(WriteResult::State state);     ///< the oldest write
    void recordsCommitted(bool isDurable = true); ///< everything appended so far
    void messageEnds();                           ///< the oldest message is acknowledged
    void rowsStored(bool isStored = true);        ///< the oldest batch
    void adoptOutbox(const std::vector<OutboxEntry> &pending) { m_cycle->adoptOutbox(pending); }
    void finish() { m_cycle->finish(); }
    void abandonRuns() { m_cycle->abandonRuns(); }
    void takeLastCommits() { m_cycle->takeLastCommits(); }
    EngineSnapshot snapshot() { return m_cycle->snapshot(); }

    FakeClock clock;
    FakeRecords records;
    std::shared_ptr<const Design> design;
    std::deque<ScriptWorkers::Job> jobs;
    std::deque<WriteRequest> writes;
    std::deque<OutboundMessage> messages;
    std::size_t settledMessages = 0;
    std::deque<StoreRunner::Batch> batches;
    std::vector<EngineSnapshot> published;
    Outlets::PollCounts polls;
    bool isStoreFull = false;
    bool isPolling = true;
    void push(EngineEvent event) { m_inbox.pushAlways(std::move(event)); }

private:
    EngineInbox m_inbox{64};
    std::unique_ptr<Expressions> m_expressions;
    std::unique_ptr<Cycle> m_cycle;
};

} // namespace gridloom
