// SPDX-License-Identifier: Apache-2.0
// RecordsStore: alarms, control records, trigger runs and the outbox, durable once they are reported as committed. The
// engine appends without ever waiting; a thread of its own writes everything that waits as one group to a log and
// confirms it by one fdatasync. The Checkpointer moves closed logs into records.db. The whole: docs/records.md.
// Periods here are real time: a disk does not turn faster with --speed.
#pragma once

#include "core/boundedqueue.h"
#include "daemon/records/checkpointer.h"
#include "sdk/records.h"

#include <QSet>
#include <QStringList>

#include <atomic>
#include <mutex>
#include <thread>

namespace gridloom {

struct RecordsOptions {
    /// How often closed logs are moved into records.db; 1 ms or more.
    std::chrono::milliseconds checkpointPeriod{10'000};
    /// Low-wear profile: at most one commit in this time, 0 to 1 s, each group compressed; 0: the next commit starts when
    /// the last returned.
    std::chrono::milliseconds durableCommit{0};
    RecordsRetention retention;
    /// Bytes of disk that are taken at the start for alarms and audit alone, for when it is full; 0: none.
    qint64 reserve = 0;
};

class RecordsStore final : public Records {
public:
    RecordsStore(const RecordsOptions &options, const Clock &clock) : m_options(options), m_clock(clock) {}
    ~RecordsStore() override { close(); }

    /// Takes over `folder` (records.db and records-N.log) as any crash left it, and starts the threads. Blocks on the
    /// disk. Once, before anything else. Errors "records.folder" and "records.inUse"; damage is no error, see faults().
    Result<void> open(const QString &folder);
    /// Commits and reports what waits, moves everything into records.db, ends the threads. Idempotent; the thread
    /// that opened it, when append() is called no more.
    void close();
    /// Damage and lasting refusals of the disk since the last call, for an alarm to name. Any thread.
    QStringList takeFaults();

    RecordNumber append(Record record) override;
    void setCommitted(std::function<void(const CommitReport &)> committed) override;
    std::vector<OutboxEntry> pendingOutbox() const override { return m_left.outbox; }
    void releaseOutbox() override { std::vector<OutboxEntry>().swap(m_left.outbox); }
    std::map<QString, QByteArray> states() const override { return m_left.states; }
    std::vector<AlarmTransition> openAlarms() const override { return m_left.openAlarms; }
    std::vector<CommandReply> replies() const override { return m_left.replies; }
    /// The newest deployment on record. Before the first append.
    const std::optional<DeploymentRecord> &lastDeployment() const { return m_left.lastDeployment; }
    /// After anything but an orderly end (NumbersUsed) a start skips up to 100,000 numbers of each kind: what the
    /// earlier run used last need not have reached the disk.
    std::uint64_t nextMessageId() const override { return m_firstFree.message; }
    std::uint64_t nextRun() const override { return m_firstFree.run; }
    std::uint64_t nextCommand() const override { return m_firstFree.command; }
    RecordsStatistics statistics() const override;

private:
    using RealTime = std::chrono::steady_clock::time_point;
    struct Recovery;
    /// How far the bounds in the log lie ahead of the numbers seen. Numbers that never come by here (runs without a
    /// record, messages not appended yet) must fit into half of it.
    static constexpr std::uint64_t kReserve = 100'000;

    Result<void> lockFolder(const QString &folder);
    void recover(const QString &folder, Recovery &recovery);
    void recoverLog(const QString &path, Recovery &recovery);
    void takeOver(const Record &record, Recovery &recovery);
    void settleOutbox(const Recovery &recovery);
    void chooseFirstFree(const Recovery &recovery);
    void startLog(const QString &folder, Recovery &recovery);
    Result<void> takeReserve();
    void addFault(const QString &fault);

    // The records thread.
    void run();
    bool isLowWear() const { return m_options.durableCommit.count() > 0; }
    RealTime nextWakeUp() const;
    void gather();
    void commit();
    bool encodeGroup();
    void countOutbox(const Record &record);
    Result<void> writeGroup(bool mustSync);
    bool isKept(const Record &record) const;
    void report(const Result<void> &result);
    void reportUpTo(RecordNumber last, Result<void> result, bool isFromReserve);
    bool useReserve();
    void leaveReserve();
    void syncAcknowledgements();
    void rotate(RealTime patience);
    void beginLog(AppendFile log);
    void leaveBrokenLog();
    void finish();

    const RecordsOptions m_options;
    const Clock &m_clock;
    int m_lock = -1;
    std::function<void(const CommitReport &)> m_committed;
    KeptRecords m_left; ///< by earlier runs, until the first append
    bool m_hasLeft = true;
    IdBounds m_firstFree;
    RecordNumber m_lastNumber = 0; ///< given out by append()
    BoundedQueue<NumberedRecord> m_queue{4096};
    std::unique_ptr<Checkpointer> m_checkpointer;

    // The records thread's own.
    QString m_folder;
    AppendFile m_log;
    AppendFile m_reserve;       ///< not used yet
    bool m_isInReserve = false; ///< it is m_log now
    RealTime m_nextLeave{};     ///< when to look whether there is space again
    bool m_logHasRecords = false;
    bool m_logHasBounds = false;
    QByteArray m_buffer;
    std::vector<NumberedRecord> m_group;
    RecordNumber m_lastReported = 0;
    IdBounds m_seen;             ///< first free by the records that came by
    IdBounds m_reserved;         ///< what the log says
    bool m_isOrderlyEnd = false; ///< m_seen is exact: NumbersUsed came last
    QSet<MessageKey> m_outbox;
    RealTime m_earliestCommit{};
    RealTime m_nextRotation{};
    RealTime m_syncBy = RealTime::max(); ///< acknowledgements written but not synced
    QString m_refusal;                   ///< what the disk said when it last refused a write or sync
    std::chrono::milliseconds m_backOff{0};

    std::atomic<std::uint64_t> m_appendedCount{0}, m_committedCount{0}, m_failedCount{0}, m_commitCount{0};
    std::atomic<std::uint64_t> m_logBytes{0}, m_outboxCount{0};
    std::atomic<double> m_lastCommitMs{0};
    std::mutex m_faultsMutex;
    QStringList m_faults;
    std::thread m_thread;
};

} // namespace gridloom
