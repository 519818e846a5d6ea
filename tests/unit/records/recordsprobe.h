// SPDX-License-Identifier: Apache-2.0
// What the tests of the records store share: sample records, a collector of commit reports, and a look into
// records.db by SQLite's own interface, which shares nothing with the store.
#pragma once

#include "daemon/records/recordsstore.h"

#include <QStringList>
#include <QTemporaryDir>

#include <condition_variable>
#include <mutex>

namespace gridloom::test {

/// 2026-08-01T00:00:00.000001Z
inline const WallTime kTime{std::chrono::microseconds(1'785'542'400'000'001)};
inline const QString kSink = QStringLiteral("mqtt");

AlarmTransition anAlarm(const QString &text);
ControlRecord aControl(std::uint64_t command, const QString &reason);
RunRecord aRun(std::uint64_t number, const QString &error = {});
OutboxEntry aMessage(std::uint64_t id, const QByteArray &payload = "{}");
OutboxAcknowledged anAcknowledgement(std::uint64_t id);
AuditRecord anAudit(const QString &who);
DeploymentRecord aDeployment(const QString &revision);

/// Collects what a store reports, and closes it in the end: the last reports come then.
class Commits {
public:
    explicit Commits(RecordsStore &store);
    ~Commits() { m_store.close(); }
    Commits(const Commits &) = delete;
    Commits &operator=(const Commits &) = delete;
    /// Waits (30 s at most) until everything up to `number` was reported.
    bool waitFor(RecordNumber number);
    bool isCommitted(RecordNumber number) const; ///< reported as durable
    bool isFailed(RecordNumber number) const;
    /// Whether each number after `first` up to the last one was reported exactly once and in order.
    bool isGapless(RecordNumber first) const;

private:
    RecordsStore &m_store;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<Records::CommitReport> m_reports;
};

/// Rows of a query, columns joined by '|', NULL as "null"; {"error: ..."} when it fails.
QStringList rows(const QString &database, const char *sql);
/// "ok" for a sound database.
QString integrity(const QString &database);

/// In memory where possible: what most tests look at does not depend on the disk, and its syncs take their time.
std::unique_ptr<QTemporaryDir> temporaryFolder();
QByteArray readFile(const QString &path);
void writeFile(const QString &path, const QByteArray &bytes);
QStringList files(const QString &folder, const char *pattern);

} // namespace gridloom::test
