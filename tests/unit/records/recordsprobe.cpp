// SPDX-License-Identifier: Apache-2.0
#include "recordsprobe.h"

#include <QDir>
#include <QFile>

#include <sqlite3.h>

namespace gridloom::test {

AlarmTransition anAlarm(const QString &text)
{
    AlarmTransition a;
    a.alarmId = QStringLiteral("set.hot");
    a.from = QStringLiteral("Normal");
    a.to = QStringLiteral("Unacknowledged");
    a.severity = Severity::High;
    a.time = kTime;
    a.text = text;
    a.value = "18446744073709551615";
    return a;
}

ControlRecord aControl(std::uint64_t command, const QString &reason)
{
    ControlRecord c;
    c.command = command;
    c.pointId = QStringLiteral("pv1.limit");
    c.value = Value(12.5);
    c.reason = reason;
    c.priority = QStringLiteral("gridLimit");
    c.state = QStringLiteral("TimedOut");
    c.error = QStringLiteral("no answer");
    c.requested = kTime;
    c.durationUs = 2'000'000;
    return c;
}

RunRecord aRun(std::uint64_t number, const QString &error)
{
    RunRecord r;
    r.run = number;
    r.triggerId = QStringLiteral("shave");
    r.outcome = QStringLiteral("Ok");
    r.error = error;
    r.due = kTime;
    r.startUs = 10;
    r.evalUs = 20;
    r.alarmUs = 3000;
    r.aggregationUs = 50;
    r.doneUs = 60;
    r.detail = "{\"a\":1}";
    return r;
}

OutboxEntry aMessage(std::uint64_t id, const QByteArray &payload)
{
    return {kSink, {id, "gridloom/v1/x", payload, 1, true}, kTime};
}

OutboxAcknowledged anAcknowledgement(std::uint64_t id)
{
    return {kSink, id};
}

AuditRecord anAudit(const QString &who)
{
    return {kTime, who, QStringLiteral("write"), QStringLiteral("pv1.limit"), QStringLiteral("12.5"), false};
}

DeploymentRecord aDeployment(const QString &revision)
{
    return {kTime, revision, QStringLiteral("Applied"), QStringLiteral("start"), {}};
}

Commits::Commits(RecordsStore &store) : m_store(store)
{
    store.setCommitted([this](const Records::CommitReport &report) {
        const std::lock_guard lock(m_mutex);
        m_reports.push_back(report);
        m_changed.notify_all();
    });
}

bool Commits::waitFor(RecordNumber number)
{
    std::unique_lock lock(m_mutex);
    return m_changed.wait_for(lock, std::chrono::seconds(30),
                              [&] { return !m_reports.empty() && m_reports.back().last >= number; });
}

bool Commits::isCommitted(RecordNumber number) const
{
    const std::lock_guard lock(m_mutex);
    return std::any_of(m_reports.begin(), m_reports.end(),
                       [number](const auto &r) { return r.result.ok() && r.first < number && number <= r.last; });
}

bool Commits::isFailed(RecordNumber number) const
{
    const std::lock_guard lock(m_mutex);
    return std::any_of(m_reports.begin(), m_reports.end(),
                       [number](const auto &r) { return !r.result.ok() && r.first < number && number <= r.last; });
}

bool Commits::isGapless(RecordNumber first) const
{
    const std::lock_guard lock(m_mutex);
    for (const auto &report : m_reports) {
        if (report.first != first || report.last <= report.first)
            return false;
        first = report.last;
    }
    return true;
}

QStringList rows(const QString &database, const char *sql)
{
    sqlite3 *db = nullptr;
    sqlite3_stmt *statement = nullptr;
    QStringList result;
    int code = sqlite3_open_v2(database.toUtf8().constData(), &db, SQLITE_OPEN_READWRITE, nullptr);
    sqlite3_busy_timeout(db, 5000);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        QStringList columns;
        for (int i = 0; code == SQLITE_ROW && i < sqlite3_column_count(statement); ++i) {
            const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(statement, i));
            columns << (text == nullptr ? QStringLiteral("null")
                                        : QString::fromUtf8(text, sqlite3_column_bytes(statement, i)));
        }
        if (code == SQLITE_ROW)
            result << columns.join(QLatin1Char('|'));
    }
    if (code != SQLITE_DONE)
        result = {QStringLiteral("error: ") + QString::fromUtf8(sqlite3_errmsg(db))};
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return result;
}

QString integrity(const QString &database)
{
    return rows(database, "PRAGMA integrity_check").join(QLatin1Char(' '));
}

std::unique_ptr<QTemporaryDir> temporaryFolder()
{
    auto folder = std::make_unique<QTemporaryDir>(QStringLiteral("/dev/shm/gridloom-records-XXXXXX"));
    return folder->isValid() ? std::move(folder) : std::make_unique<QTemporaryDir>();
}

QByteArray readFile(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void writeFile(const QString &path, const QByteArray &bytes)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", qPrintable(path));
}

QStringList files(const QString &folder, const char *pattern)
{
    return QDir(folder).entryList({QLatin1String(pattern)}, QDir::Files, QDir::Name);
}

} // namespace gridloom::test
