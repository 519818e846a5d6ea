// SPDX-License-Identifier: Apache-2.0
// Checkpointer: a thread of low priority that moves closed logs into records.db, removes them, and keeps an empty log
// ready, so that group commits wait neither for SQLite nor for the creation of a file.
#pragma once

#include "core/boundedqueue.h"
#include "daemon/records/recordsdatabase.h"
#include "sdk/appendfile.h"

#include <atomic>
#include <thread>

namespace gridloom {

class Checkpointer {
public:
    struct Place {
        QString folder;
        QString database;
        std::uint64_t nextLog = 1; ///< number of the first log to create
        RecordsRetention retention;
    };
    /// `report` is called on this thread with each new fault.
    Checkpointer(Place place, const Clock &clock, std::function<void(const QString &)> report);
    ~Checkpointer() { close(); }

    /// Logs are moved in the order of this call. Any thread; never blocks.
    void moveLog(const QString &path);
    /// The log that comes after all others, with nothing but a header; false when there is none by `until`.
    bool takeNextLog(AppendFile &log, std::chrono::steady_clock::time_point until);
    /// A number for a log that comes after all others so far. Any thread.
    std::uint64_t takeNumber() { return m_nextLog++; }
    /// Moves what waits, once, and ends the thread. What could not be moved stays for the next start.
    void close();

    std::uint64_t bytesWritten() const { return m_bytesWritten; } ///< any thread

    /// Space of a new log: ten seconds of 500 records a second.
    static constexpr qint64 kLogReserve = 1 << 20;
    static QString logPath(const QString &folder, std::uint64_t number);

private:
    void run();
    void prepareNextLog();
    void moveWaiting();
    Result<void> moveOne(const QString &path);
    void reportOnce(QString &last, const Result<void> &result);

    const Place m_place;
    std::atomic<std::uint64_t> m_nextLog;
    const Clock &m_clock;
    const std::function<void(const QString &)> m_report;
    BoundedQueue<QString> m_closed{64}; ///< paths; an empty one asks for a next log only
    BoundedQueue<AppendFile> m_ready{1};
    std::atomic<std::uint64_t> m_bytesWritten{0};

    // The thread's own.
    std::unique_ptr<RecordsDatabase> m_database;
    std::vector<QString> m_waiting;
    QString m_lastMoveFault, m_lastCreateFault;
    bool m_mustCheck = false; ///< the database refused a transaction
    std::thread m_thread;     // last: everything is there when it starts
};

} // namespace gridloom
