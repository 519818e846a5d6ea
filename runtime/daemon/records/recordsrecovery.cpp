// SPDX-License-Identifier: Apache-2.0
// How a RecordsStore takes over what the last run left: the part that runs once, before the threads start.
#include "daemon/records/recordsstore.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gridloom {

namespace {
constexpr QLatin1String kReserveName("records-reserve.log");
}

struct RecordsStore::Recovery {
    std::unique_ptr<RecordsDatabase> database; ///< null when it cannot be opened now
    IdBounds bounds;
    bool hasBounds = false;
    bool isDamaged = false;
    std::uint64_t lastLog = 0;
    QSet<MessageKey> acknowledged;
    QStringList moved;   ///< logs to remove
    QStringList waiting; ///< logs for the checkpointer to try again
};

Result<void> RecordsStore::open(const QString &folder)
{
    if (!QDir().mkpath(folder)) {
        return Error{QStringLiteral("records.folder"),
                     QStringLiteral("the folder %1 cannot be created; check its owner and the disk").arg(folder)};
    }
    if (const auto locked = lockFolder(folder); !locked)
        return locked;
    Recovery recovery;
    recover(folder, recovery);
    settleOutbox(recovery);
    chooseFirstFree(recovery);
    startLog(folder, recovery);
    return {};
}

// The kernel releases the lock with the process, however that ends.
Result<void> RecordsStore::lockFolder(const QString &folder)
{
    m_lock = ::open(QFile::encodeName(folder).constData(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m_lock >= 0 && ::flock(m_lock, LOCK_EX | LOCK_NB) == 0)
        return {};
    const int code = errno;
    if (m_lock >= 0)
        ::close(m_lock);
    const bool isTaken = m_lock >= 0 && code == EWOULDBLOCK;
    m_lock = -1;
    if (isTaken)
        return Error{QStringLiteral("records.inUse"),
                     QStringLiteral("another process uses %1; stop it or give another state folder").arg(folder)};
    return Error{QStringLiteral("records.folder"),
                 QStringLiteral("%1 cannot be opened: %2").arg(folder, QString::fromLocal8Bit(std::strerror(code)))};
}

void RecordsStore::recover(const QString &folder, Recovery &recovery)
{
    QDir dir(folder);
    QStringList logs = dir.entryList({QStringLiteral("records-*.log")}, QDir::Files, QDir::Name);
    logs.removeAll(QString(kReserveName));
    const QString databasePath = folder + QStringLiteral("/records.db");
    // SQLite begins with an empty file: without any log it is the first start, cut short, and no damage.
    if (logs.isEmpty() && QFileInfo(databasePath).size() == 0)
        QFile::remove(databasePath);
    QStringList faults;
    auto database = RecordsDatabase::open(databasePath, m_options.retention, true, m_clock.wallNow(), faults);
    recovery.isDamaged = !faults.isEmpty();
    for (const QString &fault : std::as_const(faults))
        addFault(fault);
    if (database) {
        recovery.database = std::move(database).value();
        recovery.bounds = recovery.database->bounds();
        recovery.hasBounds = recovery.database->hasBounds();
        if (auto kept = recovery.database->kept())
            m_left = std::move(kept).value();
        else
            addFault(kept.error().message);
        for (const QString &key : std::as_const(m_left.damagedStates))
            addFault(QStringLiteral("%1: the state of %2 was damaged; it starts anew").arg(databasePath, key));
    } else {
        addFault(database.error().message);
    }

    // Never used under its own name yet.
    for (const QString &name : dir.entryList({QStringLiteral("records-*.log.new")}, QDir::Files))
        dir.remove(name);
    for (const QString &name : logs) {
        const std::uint64_t number = name.mid(8).chopped(4).toULongLong();
        if (Checkpointer::logPath(folder, number) != folder + QLatin1Char('/') + name)
            continue;
        recovery.lastLog = std::max(recovery.lastLog, number);
        recoverLog(dir.filePath(name), recovery);
    }
}

void RecordsStore::recoverLog(const QString &path, Recovery &recovery)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        addFault(QStringLiteral("%1 cannot be read: %2; check the disk").arg(path, file.errorString()));
        return;
    }
    const LogContents log = readLog(file.readAll());
    if (log.firstDamage >= 0) {
        recovery.isDamaged = true;
        const auto aside = keepAside(path, m_clock.wallNow());
        const QString keptAs = aside ? QFileInfo(aside.value()).fileName() : aside.error().message;
        addFault(log.isNewer
                     ? QStringLiteral("%1 was written by a newer version of Gridloom and cannot be read. It is kept as "
                                      "%2; install that version again to use it.")
                           .arg(path, keptAs)
                     : QStringLiteral("%1 was damaged: %2 bytes from offset %3 on cannot be read. The bad file is kept "
                                      "as %4; examine or delete it.")
                           .arg(path)
                           .arg(log.damagedBytes)
                           .arg(log.firstDamage)
                           .arg(keptAs));
    }
    // By hand and not by reading the database again: so a disk that takes no transaction now loses nothing.
    const RecordNumber lastMoved = recovery.database ? recovery.database->lastMoved() : 0;
    for (const NumberedRecord &r : log.records)
        if (r.number > lastMoved)
            takeOver(r.record, recovery);
    if (log.isExact && log.records.back().number > lastMoved)
        recovery.bounds = log.bounds;
    else
        recovery.bounds.raise(log.bounds);
    recovery.hasBounds = recovery.hasBounds || log.hasBounds;

    if (recovery.waiting.isEmpty() && recovery.database) {
        const auto moved = recovery.database->move(log, m_clock.wallNow());
        if (moved) {
            recovery.moved << path;
            return;
        }
        addFault(moved.error().message);
    }
    recovery.waiting << path;
}

void RecordsStore::takeOver(const Record &record, Recovery &recovery)
{
    if (const auto *entry = std::get_if<OutboxEntry>(&record)) {
        m_left.outbox.push_back(*entry);
    } else if (const auto *a = std::get_if<OutboxAcknowledged>(&record)) {
        recovery.acknowledged.insert({a->sink, a->messageId});
    } else if (const auto *state = std::get_if<StateRecord>(&record)) {
        if (state->value.isEmpty())
            m_left.states.erase(state->key);
        else
            m_left.states[state->key] = state->value;
    } else if (const auto *alarm = std::get_if<AlarmTransition>(&record)) {
        std::erase_if(m_left.openAlarms,
                      [alarm](const AlarmTransition &open) { return open.alarmId == alarm->alarmId; });
        if (alarm->to != QLatin1String("Normal"))
            m_left.openAlarms.push_back(*alarm);
    } else if (const auto *reply = std::get_if<CommandReply>(&record)) {
        std::erase_if(m_left.replies, [reply](const CommandReply &r) { return r.id == reply->id; });
        m_left.replies.push_back(*reply);
    } else if (const auto *deployment = std::get_if<DeploymentRecord>(&record)) {
        m_left.lastDeployment = *deployment;
    }
}

// What is left, each message once: one saved from a damaged database can stand in a log as well.
void RecordsStore::settleOutbox(const Recovery &recovery)
{
    std::erase_if(m_left.outbox, [&](const OutboxEntry &entry) {
        const MessageKey key(entry.sink, entry.message.id);
        if (recovery.acknowledged.contains(key) || m_outbox.contains(key))
            return true;
        m_outbox.insert(key);
        return false;
    });
    m_outboxCount = static_cast<std::uint64_t>(m_outbox.size());
}

void RecordsStore::chooseFirstFree(const Recovery &recovery)
{
    m_firstFree = recovery.bounds;
    if (recovery.isDamaged && recovery.hasBounds)
        m_firstFree = m_firstFree.plus(kReserve); // the newest bounds may lie in what was lost
    if (recovery.isDamaged && !recovery.hasBounds) {
        // Everything that knew the numbers is gone. No run of less than a thousand a second since 1970 came so far.
        const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(m_clock.wallNow().time_since_epoch());
        m_firstFree = m_firstFree.plus(static_cast<std::uint64_t>(std::max<std::int64_t>(now.count(), 0)));
    }
    m_seen = m_firstFree;
    m_lastNumber = m_firstFree.record - 1;
    m_lastReported = m_lastNumber;
}

// Under a name of its own, which no start reads. One that is there from before is taken as it is: the disk may be full.
Result<void> RecordsStore::takeReserve()
{
    if (m_options.reserve == 0 || m_reserve.isOpen())
        return {};
    const QString path = m_folder + QStringLiteral("/") + kReserveName;
    QFile file(path);
    const bool isThere = file.size() >= m_options.reserve && file.open(QIODevice::ReadOnly)
        && file.read(kFileHeaderSize) == logHeader() && file.read(kFileHeaderSize).count('\0') == kFileHeaderSize;
    auto reserve =
        isThere ? AppendFile::open(path, kFileHeaderSize) : AppendFile::create(path, logHeader(), m_options.reserve);
    if (!reserve)
        return reserve.error();
    m_reserve = std::move(reserve).value();
    return {};
}

// The log that this run begins with holds the bounds before any number is given out; only then do old logs go.
void RecordsStore::startLog(const QString &folder, Recovery &recovery)
{
    m_folder = folder;
    if (const auto taken = takeReserve(); !taken)
        addFault(QStringLiteral("no space could be kept for alarms and audit: %1").arg(taken.error().message));
    m_reserved = m_firstFree.plus(kReserve);
    QByteArray head = logHeader();
    encodeBounds(head, m_reserved);
    auto log = AppendFile::create(Checkpointer::logPath(folder, ++recovery.lastLog), head, Checkpointer::kLogReserve);
    if (log) {
        m_log = std::move(log).value();
        m_logHasBounds = true;
        m_logBytes += static_cast<std::uint64_t>(head.size());
    } else {
        m_refusal = log.error().message;
        addFault(m_refusal);
    }
    for (const QString &path : std::as_const(recovery.moved))
        QFile::remove(path);
    recovery.database.reset();
    m_checkpointer = std::make_unique<Checkpointer>(
        Checkpointer::Place{folder, folder + QStringLiteral("/records.db"), recovery.lastLog + 1, m_options.retention},
        m_clock, [this](const QString &fault) { addFault(fault); });
    for (const QString &path : std::as_const(recovery.waiting))
        m_checkpointer->moveLog(path);
    m_thread = std::thread([this] { run(); });
}

} // namespace gridloom
