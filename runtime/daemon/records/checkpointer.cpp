// SPDX-License-Identifier: Apache-2.0
#include "daemon/records/checkpointer.h"

#include <QFile>

#include <sys/resource.h>
#include <unistd.h>

namespace gridloom {

namespace {
using std::chrono::steady_clock;
constexpr std::chrono::hours kIdle{1};
constexpr std::chrono::seconds kRetry{2}; ///< after a refusal of the disk
constexpr int kNice = 10;
} // namespace

Checkpointer::Checkpointer(Place place, const Clock &clock, std::function<void(const QString &)> report)
    : m_place(std::move(place)), m_nextLog(m_place.nextLog), m_clock(clock), m_report(std::move(report)),
      m_thread([this] { run(); })
{
}

QString Checkpointer::logPath(const QString &folder, std::uint64_t number)
{
    return QStringLiteral("%1/records-%2.log").arg(folder).arg(number, 8, 10, QLatin1Char('0'));
}

void Checkpointer::moveLog(const QString &path)
{
    m_closed.pushAlways(path);
}

bool Checkpointer::takeNextLog(AppendFile &log, steady_clock::time_point until)
{
    std::vector<AppendFile> ready;
    if (m_ready.drain(ready) == 0) {
        m_closed.pushAlways(QString()); // one that could not be created before is tried again now
        if (m_ready.drainUntil(ready, until) == 0)
            return false;
    }
    log = std::move(ready.front());
    m_closed.pushAlways(QString());
    return true;
}

void Checkpointer::close()
{
    m_closed.close();
    if (m_thread.joinable())
        m_thread.join();
}

void Checkpointer::run()
{
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice); // Linux: of this thread
    for (;;) {
        prepareNextLog();
        moveWaiting();
        const bool isStuck = !m_waiting.empty() || m_ready.size() == 0;
        const bool isLast = m_closed.isClosed() && m_closed.size() == 0;
        if (isLast)
            break;
        m_closed.drainUntil(m_waiting, steady_clock::now() + (isStuck ? steady_clock::duration(kRetry) : kIdle));
        std::erase(m_waiting, QString());
    }
    m_database.reset(); // on the thread that opened it
    std::vector<AppendFile> unused;
    m_ready.drain(unused);
    for (const AppendFile &log : unused)
        QFile::remove(log.path());
}

void Checkpointer::prepareNextLog()
{
    if (m_ready.size() > 0)
        return;
    auto log = AppendFile::create(logPath(m_place.folder, takeNumber()), logHeader(), kLogReserve);
    reportOnce(m_lastCreateFault, log ? Result<void>() : Result<void>(log.error()));
    if (!log)
        return;
    m_ready.push(std::move(log).value());
}

void Checkpointer::moveWaiting()
{
    while (!m_waiting.empty()) {
        const auto moved = moveOne(m_waiting.front());
        reportOnce(m_lastMoveFault, moved);
        if (!moved)
            return; // the order of logs is the order of records: later ones wait
        m_waiting.erase(m_waiting.begin());
    }
}

Result<void> Checkpointer::moveOne(const QString &path)
{
    if (!m_database) {
        QStringList faults;
        auto opened =
            RecordsDatabase::open(m_place.database, m_place.retention, m_mustCheck, m_clock.wallNow(), faults);
        for (const QString &fault : std::as_const(faults))
            m_report(fault);
        if (!opened)
            return opened.error();
        m_database = std::move(opened).value();
        m_mustCheck = false;
    }
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        return Error{QStringLiteral("records.log"),
                     QStringLiteral("%1 cannot be read: %2; check the disk").arg(path, file.errorString()), true};
    }
    const std::uint64_t before = m_database->bytesWritten();
    const LogContents log = readLog(file.readAll());
    const auto moved = m_database->move(log, m_clock.wallNow());
    m_bytesWritten += m_database->bytesWritten() - before;
    if (!moved) {
        m_database.reset(); // a damaged one is set aside when it is opened again
        m_mustCheck = true;
        return moved;
    }
    if (log.firstDamage >= 0) {
        const auto aside = keepAside(path, m_clock.wallNow());
        m_report(QStringLiteral("%1: %2 bytes from offset %3 on cannot be read back; the file is kept as %4")
                     .arg(path)
                     .arg(log.damagedBytes)
                     .arg(log.firstDamage)
                     .arg(aside ? aside.value() : aside.error().message));
    }
    QFile::remove(path);
    return {};
}

// A fault that lasts is one fault, however often the step is tried.
void Checkpointer::reportOnce(QString &last, const Result<void> &result)
{
    const QString now = result ? QString() : result.error().message;
    if (!now.isEmpty() && now != last)
        m_report(now);
    last = now;
}

} // namespace gridloom
