// SPDX-License-Identifier: Apache-2.0
#include "daemon/supervisor.h"

#include <QCoreApplication>
#include <QDir>
#include <QLoggingCategory>
#include <QSaveFile>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcDaemon, "gridloom.daemon")
// An orderly stop ends within 10 s: what is not confirmed by then stays in flight in the account, and in the outbox.
constexpr std::chrono::milliseconds kDrainLimit{5'000};
constexpr std::chrono::seconds kLowWearCheckpoint{60};
constexpr qint64 kRecordsReserve = 32 << 20; // for alarms and audit on a full disk

RecordsOptions recordsOptions(int durableCommitMs)
{
    RecordsOptions options;
    options.reserve = kRecordsReserve;
    options.durableCommit = std::chrono::milliseconds(durableCommitMs);
    if (durableCommitMs > 0)
        options.checkpointPeriod = kLowWearCheckpoint;
    return options;
}
} // namespace

Supervisor::Supervisor(Options options, std::shared_ptr<const Design> design, std::unique_ptr<const Clock> clock)
    : m_options(std::move(options)), m_design(std::move(design)), m_clock(std::move(clock)),
      m_records(recordsOptions(m_options.durableCommitMs), *m_clock), m_wakeUp([this] { takeSnapshots(); })
{
    m_snapshots.setWakeUp([this] { m_wakeUp.notify(); });
    m_drainLimit.setSingleShot(true);
    connect(&m_drainLimit, &QTimer::timeout, this, &Supervisor::finish);
}

Supervisor::~Supervisor() = default;

Result<void> Supervisor::start()
{
    m_uptime.start();
    if (!QDir().mkpath(m_options.stateDir))
        return Error{QStringLiteral("state.folder"),
                     QStringLiteral("The state folder %1 cannot be created. Check --state-dir and its permissions.")
                         .arg(m_options.stateDir)};
    if (const auto opened = m_records.open(m_options.stateDir); !opened)
        return opened;
    if (!m_options.statusSocket.isEmpty())
        if (const auto listening = m_status.listen(m_options.statusSocket); !listening)
            return listening;
    Engine::Options options;
    options.pluginDir = m_options.pluginDir;
    options.stateDir = m_options.stateDir;
    options.checkpointPeriod = recordsOptions(m_options.durableCommitMs).checkpointPeriod;
    options.publish = [this](EngineSnapshot snapshot) { m_snapshots.push(std::move(snapshot)); };
    for (const QString &name : m_options.statusPoints) {
        const PointHandle point = m_design->pointByName.value(name.toUtf8());
        if (point == kNoPoint)
            return Error{QStringLiteral("status.unknownPoint"),
                         QStringLiteral("--status-points names \"%1\", which the design does not have.").arg(name)};
        options.watched.push_back(point);
    }
    const std::optional<DeploymentRecord> lastDeployment = m_records.lastDeployment();
    m_engine = std::make_unique<Engine>(m_design, *m_clock, m_records, std::move(options));
    Result<void> started = m_engine->start();
    if (!started) {
        m_records.close(); // it reports to the engine, which goes first
        return started;
    }
    const QString revision = QString::fromLatin1(m_design->revision);
    if (!lastDeployment || lastDeployment->revision != revision)
        m_engine->append(
            DeploymentRecord{m_clock->wallNow(), revision, QStringLiteral("Applied"), QStringLiteral("start"), {}});
    return {};
}

void Supervisor::stop()
{
    if (m_isDraining)
        return;
    m_isDraining = true;
    m_engine->drain();
    m_drainLimit.start(kDrainLimit);
}

void Supervisor::takeSnapshots()
{
    std::vector<EngineSnapshot> snapshots;
    m_snapshots.drain(snapshots);
    for (const QString &fault : m_records.takeFaults())
        m_engine->reportFault(fault);
    for (const EngineSnapshot &snapshot : snapshots) {
        if (m_isFinished)
            return;
        report(snapshot, snapshot.isDraining ? "draining" : "running");
        if (snapshot.isDraining)
            finishWhenIdle(snapshot);
    }
}

void Supervisor::finishWhenIdle(const EngineSnapshot &snapshot)
{
    if (snapshot.isIdle() && !m_engine->canDeliver())
        finish();
}

void Supervisor::report(const EngineSnapshot &snapshot, const char *state)
{
    StatusContext context{.sequence = ++m_sequence,
                          .uptimeS = static_cast<double>(m_uptime.elapsed()) * 1e-3,
                          .state = state,
                          .speed = m_options.speed,
                          .design = *m_design,
                          .records = m_records.statistics(),
                          .requests = m_engine->driverStatistics(),
                          .store = m_engine->storeStatistics(),
                          .queues = m_engine->queueStates(),
                          .realTime = m_engine->realTimeThreads(),
                          .sinks = {},
                          .process = readProcessUse()};
    for (const auto &sink : m_engine->sinks())
        context.sinks.push_back({sink->definition().id, sink->statistics()});
    m_lastLine = statusLine(snapshot, context);
    m_status.send(m_lastLine);
}

void Supervisor::finish()
{
    if (m_isFinished)
        return;
    m_isFinished = true;
    m_drainLimit.stop();
    const EngineSnapshot last = m_engine->stop([this] { m_records.close(); });
    report(last, "stopped");
    int exitCode = 0;
    if (!m_options.report.isEmpty()) {
        QSaveFile file(m_options.report);
        if (!file.open(QIODevice::WriteOnly) || file.write(m_lastLine + '\n') < 0 || !file.commit()) {
            qCCritical(lcDaemon).noquote()
                << "The report" << m_options.report << "could not be written:" << file.errorString();
            exitCode = 1;
        }
    }
    Q_EMIT finished(exitCode);
}

} // namespace gridloom
