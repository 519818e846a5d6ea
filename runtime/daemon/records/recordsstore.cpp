// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/recordsstore.h"

#include <QFile>

#include <unistd.h>

namespace gridloom {

namespace {
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAcknowledgementDelay{1'000};
constexpr milliseconds kFirstBackOff{50};
constexpr milliseconds kLongestBackOff{2'000};
constexpr milliseconds kRotationRetry{100};
constexpr milliseconds kSpaceRetry{1'000};    ///< while the disk is full
constexpr milliseconds kLogPatience{200};     ///< for a new log in place of a broken one
constexpr qint64 kLargeLog = 8'000'000;       ///< moved before its time
constexpr qsizetype kLargeBuffer = 1'000'000; ///< not kept for the next group
constexpr std::chrono::hours kIdle{1};
} // namespace

void RecordsStore::addFault(const QString &fault)
{
    const std::lock_guard lock(m_faultsMutex);
    m_faults << fault;
}

QStringList RecordsStore::takeFaults()
{
    const std::lock_guard lock(m_faultsMutex);
    return std::exchange(m_faults, {});
}

void RecordsStore::setCommitted(std::function<void(const CommitReport &)> committed)
{
    m_committed = std::move(committed);
}

RecordNumber RecordsStore::append(Record record)
{
    // The engine has taken them over by now.
    if (std::exchange(m_hasLeft, false))
        m_left = {};
    ++m_appendedCount;
    const RecordNumber number = ++m_lastNumber;
    if (!m_queue.pushAlways({number, std::move(record)}))
        ++m_failedCount;
    return number;
}

RecordsStatistics RecordsStore::statistics() const
{
    RecordsStatistics s;
    s.appended = m_appendedCount;
    s.committed = m_committedCount;
    s.failed = m_failedCount;
    s.commits = m_commitCount;
    s.bytesWritten = m_logBytes + (m_checkpointer ? m_checkpointer->bytesWritten() : 0);
    s.outboxEntries = m_outboxCount;
    s.lastCommitMs = m_lastCommitMs;
    return s;
}

void RecordsStore::close()
{
    m_queue.close();
    if (m_thread.joinable())
        m_thread.join();
    if (m_checkpointer)
        m_checkpointer->close();
    if (m_lock >= 0)
        ::close(m_lock);
    m_lock = -1;
}

void RecordsStore::run()
{
    m_nextRotation = steady_clock::now() + m_options.checkpointPeriod;
    for (;;) {
        gather();
        if (!m_group.empty())
            commit();
        else if (m_queue.isClosed() && m_queue.size() == 0)
            break;
        const RealTime now = steady_clock::now();
        if (now >= m_syncBy)
            syncAcknowledgements();
        if (m_isInReserve && now >= m_nextLeave)
            leaveReserve();
        if (!m_isInReserve && m_logHasRecords && (now >= m_nextRotation || m_log.size() > kLargeLog))
            rotate(now);
    }
    finish();
}

RecordsStore::RealTime RecordsStore::nextWakeUp() const
{
    RealTime wakeUp = std::min(steady_clock::now() + kIdle, m_syncBy);
    if (m_isInReserve)
        return std::min(wakeUp, m_nextLeave);
    return m_logHasRecords ? std::min(wakeUp, m_nextRotation) : wakeUp;
}

// Everything that waits, but not before the next commit may start.
void RecordsStore::gather()
{
    m_group.clear();
    m_queue.drainUntil(m_group, nextWakeUp());
    while (!m_group.empty() && steady_clock::now() < m_earliestCommit && !m_queue.isClosed())
        m_queue.drainUntil(m_group, m_earliestCommit);
}

void RecordsStore::commit()
{
    const RealTime begin = steady_clock::now();
    m_buffer.resize(0); // keeps its memory
    Result<void> written = writeGroup(encodeGroup());
    // At most the log that is ready, and then the reserve.
    for (int i = 0; i < 2 && !written && written.error().code == QLatin1String("file.full") && useReserve(); ++i) {
        m_buffer.resize(0);
        written = writeGroup(encodeGroup());
    }
    const RealTime end = steady_clock::now();
    if (written) {
        m_backOff = milliseconds(0);
        m_earliestCommit = begin + m_options.durableCommit;
        m_lastCommitMs = std::chrono::duration<double, std::milli>(end - begin).count();
    } else {
        m_backOff = std::clamp(m_backOff * 2, kFirstBackOff, kLongestBackOff);
        m_earliestCommit = end + m_backOff;
    }
    if (m_buffer.capacity() > kLargeBuffer)
        m_buffer = QByteArray();
    report(written);
}

// Into m_buffer; true when something in it must be on the disk before it is reported.
bool RecordsStore::encodeGroup()
{
    QSet<MessageKey> entries;
    QSet<MessageKey> done; // appended and acknowledged within this group: of no use to anybody after a crash
    m_isOrderlyEnd = std::holds_alternative<NumbersUsed>(m_group.back().record);
    for (const NumberedRecord &r : m_group) {
        m_seen.include(r);
        countOutbox(r.record);
        if (const auto *entry = std::get_if<OutboxEntry>(&r.record)) {
            entries.insert({entry->sink, entry->message.id});
        } else if (const auto *a = std::get_if<OutboxAcknowledged>(&r.record)) {
            if (const MessageKey key(a->sink, a->messageId); !entries.isEmpty() && entries.contains(key))
                done.insert(key);
        }
    }
    m_outboxCount = static_cast<std::uint64_t>(m_outbox.size());
    bool mustSync = false;
    for (const NumberedRecord &r : m_group) {
        const auto *entry = std::get_if<OutboxEntry>(&r.record);
        const auto *acknowledged = std::get_if<OutboxAcknowledged>(&r.record);
        if (!done.isEmpty()
            && ((entry != nullptr && done.contains({entry->sink, entry->message.id}))
                || (acknowledged != nullptr && done.contains({acknowledged->sink, acknowledged->messageId}))))
            continue;
        if (!isKept(r.record))
            continue;
        encodeRecord(m_buffer, r.number, r.record);
        mustSync = mustSync || acknowledged == nullptr;
    }
    if (isLowWear())
        packFrames(m_buffer);
    if (!m_isOrderlyEnd && m_seen.plus(kReserve / 2).exceeds(m_reserved)) {
        m_reserved.raise(m_seen.plus(kReserve));
        m_logHasBounds = false;
        mustSync = true;
    }
    return mustSync;
}

void RecordsStore::countOutbox(const Record &record)
{
    if (const auto *entry = std::get_if<OutboxEntry>(&record))
        m_outbox.insert({entry->sink, entry->message.id});
    else if (const auto *acknowledged = std::get_if<OutboxAcknowledged>(&record))
        m_outbox.remove({acknowledged->sink, acknowledged->messageId});
}

Result<void> RecordsStore::writeGroup(bool mustSync)
{
    leaveBrokenLog();
    if (!m_log.isOpen())
        return Error{
            QStringLiteral("records.noLog"),
            QStringLiteral("no log could be created; check the disk. What it refused before: %1").arg(m_refusal), true};
    if (m_buffer.isEmpty() && !mustSync)
        return {}; // messages that came and went
    if (!m_logHasBounds)
        encodeBounds(m_buffer, m_reserved);
    const qint64 sizeBefore = m_log.size();
    if (auto appended = m_log.append(m_buffer); !appended) {
        m_refusal = appended.error().message;
        return appended;
    }
    if (mustSync) {
        if (auto synced = m_log.sync(); !synced) {
            m_refusal = synced.error().message;
            // What is reported as failed must not come back after a restart.
            static_cast<void>(m_log.truncate(sizeBefore));
            return synced;
        }
        m_syncBy = RealTime::max();
    } else {
        m_syncBy = std::min(m_syncBy, steady_clock::now() + kAcknowledgementDelay);
    }
    m_logHasBounds = true;
    m_logHasRecords = true;
    m_logBytes += static_cast<std::uint64_t>(m_buffer.size());
    ++m_commitCount;
    return {};
}

// While the disk is full, alarms and audit go on, in the space that is kept for them.
bool RecordsStore::isKept(const Record &record) const
{
    return !m_isInReserve || std::holds_alternative<AlarmTransition>(record)
        || std::holds_alternative<AuditRecord>(record);
}

void RecordsStore::report(const Result<void> &result)
{
    if (!result || !m_isInReserve)
        return reportUpTo(m_group.back().number, result, false);
    const Error refused{QStringLiteral("records.full"),
                        QStringLiteral("the disk of %1 is full: only alarms and audit are recorded, in the space kept "
                                       "for them; free space")
                            .arg(m_folder),
                        true};
    for (std::size_t i = 0; i < m_group.size(); ++i) {
        const bool isDone = isKept(m_group[i].record);
        if (i + 1 == m_group.size() || isKept(m_group[i + 1].record) != isDone)
            reportUpTo(m_group[i].number, isDone ? Result<void>() : Result<void>(refused), true);
    }
}

void RecordsStore::reportUpTo(RecordNumber last, Result<void> result, bool isFromReserve)
{
    const std::uint64_t n = last - m_lastReported;
    (result ? m_committedCount : m_failedCount) += n;
    if (m_committed)
        m_committed({m_lastReported, last, std::move(result), isFromReserve});
    m_lastReported = last;
}

// The disk is full: the log that is ready has space of its own, and after that there is the reserve. False: neither.
bool RecordsStore::useReserve()
{
    if (!m_isInReserve && !m_log.isBroken()) {
        const QString full = m_log.path();
        rotate(steady_clock::now());
        if (m_log.path() != full)
            return true;
    }
    if (m_isInReserve || !m_reserve.isOpen())
        return false;
    const QString from = m_reserve.path();
    const QString to = Checkpointer::logPath(m_folder, m_checkpointer->takeNumber());
    m_reserve.close();
    auto opened = QFile::rename(from, to) ? AppendFile::open(to, kFileHeaderSize) : AppendFile::open(from);
    if (!opened || opened.value().path() != to || !syncFolder(m_folder))
        return false;
    const QString closed = m_log.path();
    beginLog(std::move(opened).value());
    m_isInReserve = true;
    m_nextLeave = steady_clock::now() + kSpaceRetry;
    if (!closed.isEmpty())
        m_checkpointer->moveLog(closed);
    return true;
}

// There is space again when there is enough for the next time as well.
void RecordsStore::leaveReserve()
{
    m_nextLeave = steady_clock::now() + kSpaceRetry;
    if (!takeReserve())
        return;
    rotate(steady_clock::now() + kLogPatience);
}

// They were reported already: losing one in a power cut means that a message is sent once more.
void RecordsStore::syncAcknowledgements()
{
    m_syncBy = RealTime::max();
    if (m_log.isOpen() && !m_log.isBroken())
        static_cast<void>(m_log.sync());
}

// The current log is closed for the checkpointer, the one that it keeps ready takes over.
void RecordsStore::rotate(RealTime patience)
{
    AppendFile next;
    bool isTaken = m_checkpointer->takeNextLog(next, patience);
    if (isTaken && next.path() < m_log.path()) { // made before the reserve became a log: its number is too low
        QFile::remove(next.path());
        isTaken = m_checkpointer->takeNextLog(next, patience);
    }
    if (!isTaken) {
        m_nextRotation = steady_clock::now() + kRotationRetry;
        return;
    }
    const QString closed = m_log.path();
    beginLog(std::move(next));
    m_isInReserve = false;
    if (!closed.isEmpty())
        m_checkpointer->moveLog(closed);
}

void RecordsStore::beginLog(AppendFile log)
{
    m_log = std::move(log);
    m_logHasBounds = false;
    m_logHasRecords = false;
    m_syncBy = RealTime::max(); // records.db makes what was in the old one durable
    m_nextRotation = steady_clock::now() + m_options.checkpointPeriod;
}

void RecordsStore::leaveBrokenLog()
{
    if (!m_log.isOpen() || m_log.isBroken())
        rotate(steady_clock::now() + kLogPatience);
    if (m_log.isOpen() && m_log.isBroken())
        m_log.close(); // no successor yet; its path is kept for the checkpointer
}

// Leaves a log with nothing but the bounds: should records.db be lost, no number is given out twice.
void RecordsStore::finish()
{
    syncAcknowledgements();
    if (m_logHasRecords || !m_log.isOpen())
        rotate(steady_clock::now() + kLongestBackOff);
    if (m_log.isOpen() && !m_logHasBounds) {
        m_buffer.resize(0);
        encodeBounds(m_buffer, m_isOrderlyEnd ? m_seen : m_reserved);
        if (m_log.append(m_buffer))
            static_cast<void>(m_log.sync());
    }
    m_log.close();
}

} // namespace gridloom
