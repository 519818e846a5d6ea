// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/session.h"

#include "tools/bench/outside.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>

namespace gridloom {

namespace {

constexpr std::chrono::seconds kReady{15};
constexpr std::chrono::seconds kDrained{10};
/// The runtime gives what is in flight 30 s, and then moves its records.
constexpr std::chrono::seconds kRuntimeStop{45};

bool waitUntil(const std::function<bool()> &condition, std::chrono::milliseconds timeout)
{
    const QDeadlineTimer deadline(timeout);
    while (!condition()) {
        if (deadline.hasExpired())
            return false;
        // A timer ends the wait when nothing else happens.
        QTimer wake;
        wake.start(std::chrono::milliseconds(50));
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    return true;
}

Error fileError(const QFile &file)
{
    return {QStringLiteral("bench.folder"), QStringLiteral("%1: %2").arg(file.fileName(), file.errorString())};
}

Result<void> writeFile(const QString &path, const QByteArray &content)
{
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size() || !file.flush())
        return fileError(file);
    return {};
}

Result<QJsonObject> readObject(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return fileError(file);
    const QJsonDocument json = QJsonDocument::fromJson(file.readAll());
    if (!json.isObject())
        return Error{QStringLiteral("bench.folder"), QStringLiteral("%1 is no JSON object").arg(path)};
    return json.object();
}

} // namespace

QString workFolder()
{
    return qEnvironmentVariable("TMPDIR", QStringLiteral("/var/tmp"));
}

Session::Session(QString binFolder)
    : m_binFolder(std::move(binFolder)), m_folder(workFolder() + QLatin1String("/gridloom-XXXXXX"))
{
    connect(&m_status, &StatusReader::received, this, &Session::statusReceived);
    connect(&m_status, &StatusReader::failed, this, &Session::failed);
    connect(&m_runtime, &ChildProcess::exited, this, [this](int code) {
        if (!m_isFinishing)
            Q_EMIT failed({QStringLiteral("bench.runtime"),
                           QStringLiteral("gridloomd ended by itself with code %1; its last words:\n%2")
                               .arg(code)
                               .arg(QString::fromUtf8(m_runtime.output().right(2000)))});
    });
}

Session::~Session()
{
    m_isFinishing = true;
    m_status.close();
    m_runtime.terminate();
    m_simulator.terminate();
    m_broker.stop();
}

Result<void> Session::start(const Setup &setup)
{
    if (!m_folder.isValid())
        return Error{QStringLiteral("bench.folder"),
                     QStringLiteral("no folder can be made below %1: %2; set TMPDIR to a writable one")
                         .arg(workFolder(), m_folder.errorString())};
    if (auto started = m_broker.start(); !started)
        return started;
    if (auto started = startSimulator(setup); !started)
        return started;
    if (auto started = startSubscriber(); !started)
        return started;
    return startRuntime(setup);
}

Result<void> Session::startSimulator(const Setup &setup)
{
    const QString scenario = m_folder.filePath(QStringLiteral("simulation.json"));
    if (auto written = writeFile(scenario, setup.simulation); !written)
        return written;
    const auto started = m_simulator.start(m_binFolder + QLatin1String("/gridloom-sim"),
                                           {QStringLiteral("--scenario"), scenario, QStringLiteral("--port-file"),
                                            m_folder.filePath(QStringLiteral("ports.json")), QStringLiteral("--report"),
                                            m_folder.filePath(QStringLiteral("sim-report.json")),
                                            QStringLiteral("--speed"), QString::number(setup.speed)});
    return started ? m_simulator.waitForOutput("ready", kReady) : started;
}

Result<void> Session::startSubscriber()
{
    m_subscriber.open(m_broker.port());
    if (!waitUntil([this] { return m_subscriber.isReady(); }, kReady))
        return Error{QStringLiteral("bench.subscriber"),
                     QStringLiteral("the broker on port %1 did not grant the subscription").arg(m_broker.port())};
    return {};
}

Result<void> Session::startRuntime(const Setup &setup)
{
    const auto portMap = readObject(m_folder.filePath(QStringLiteral("ports.json")));
    if (!portMap)
        return portMap.error();
    QHash<QString, int> ports;
    const QJsonObject devices = portMap.value().value(QLatin1String("devices")).toObject();
    for (auto it = devices.begin(); it != devices.end(); ++it)
        ports.insert(it.key(), it.value().toInt());

    const auto design = setup.design(ports, m_broker.port());
    if (!design)
        return design.error();
    const QString designFolder = m_folder.filePath(QStringLiteral("design"));
    for (const auto &[path, content] : design.value())
        if (auto written = writeFile(designFolder + QLatin1Char('/') + QString::fromUtf8(path), content); !written)
            return written;

    const QString socket = m_folder.filePath(QStringLiteral("status"));
    QStringList arguments{QStringLiteral("--design"),        designFolder,
                          QStringLiteral("--state-dir"),     stateFolder(),
                          QStringLiteral("--status-socket"), socket,
                          QStringLiteral("--report"),        m_folder.filePath(QStringLiteral("report.json"))};
    if (setup.speed != 1)
        arguments << QStringLiteral("--speed") << QString::number(setup.speed);
    if (setup.isLowWear)
        arguments << QStringLiteral("--durable-commit-ms") << QStringLiteral("100");
    if (!setup.statusPoints.isEmpty())
        arguments << QStringLiteral("--status-points") << setup.statusPoints.join(QLatin1Char(','));
    QDir().mkpath(stateFolder());
    m_runtimeStartedAt = std::chrono::steady_clock::now();
    if (auto started = m_runtime.start(m_binFolder + QLatin1String("/gridloomd"), arguments, setup.runtimeEnvironment);
        !started)
        return started;
    m_status.open(socket);
    return {};
}

Result<Session::Ending> Session::finish()
{
    m_isFinishing = true;
    const auto final = stopRuntime();
    if (!final)
        return final.error();
    Ending ending;
    ending.final = final.value();
    if (auto drained = drainSubscriber(); !drained)
        return drained.error();
    ending.outside.subscriberMessages = m_subscriber.count().messages();
    ending.outside.subscriberDuplicates = m_subscriber.count().duplicates();
    if (auto stopped = stopSimulator(ending.outside); !stopped)
        return stopped.error();
    m_broker.stop();

    const auto rows =
        countStoreRowsApart(m_binFolder + QLatin1String("/gridloom-bench"), stateFolder() + QLatin1String("/history"));
    if (!rows)
        return rows.error();
    ending.outside.storeRows = rows.value().rows;
    ending.outside.dbAggregationRows = rows.value().triggerRows;
    ending.outside.dbAggregationRuns = rows.value().triggerRuns;
    const auto records = countRecords(stateFolder() + QLatin1String("/records.db"));
    if (!records)
        return records.error();
    ending.outside.dbAlarmRows = records.value().alarmRows;
    ending.outside.dbCoordinationRows = records.value().coordinationRows;
    return ending;
}

Result<RuntimeStatus> Session::stopRuntime()
{
    m_runtime.requestStop();
    const bool ended = waitUntil([this] { return !m_runtime.isRunning(); }, kRuntimeStop);
    m_status.close();
    if (!ended || m_runtime.exitCode() != 0)
        return Error{QStringLiteral("bench.runtime"),
                     QStringLiteral("gridloomd %1; its last words:\n%2")
                         .arg(ended ? QStringLiteral("ended with code %1").arg(m_runtime.exitCode())
                                    : QStringLiteral("did not end within 45 s of SIGTERM"),
                              QString::fromUtf8(m_runtime.output().right(2000)))};
    QFile report(m_folder.filePath(QStringLiteral("report.json")));
    if (!report.open(QIODevice::ReadOnly))
        return fileError(report);
    return parseRuntimeStatus(report.readAll());
}

Result<void> Session::drainSubscriber()
{
    const auto sent = m_subscriber.sendFence();
    const bool returned = sent && waitUntil([this] { return m_subscriber.hasFenceReturned(); }, kDrained);
    if (!returned || m_subscriber.losses() > 0)
        return Error{QStringLiteral("bench.subscriber"),
                     QStringLiteral("the counting subscriber lost its connection or stopped receiving; its count means "
                                    "nothing. The broker says: %1")
                         .arg(QString::fromUtf8(m_broker.log().right(500)))};
    return {};
}

Result<void> Session::stopSimulator(OutsideCounts &outside)
{
    m_simulator.terminate();
    const auto report = readObject(m_folder.filePath(QStringLiteral("sim-report.json")));
    const qint64 reads = report ? report.value().value(QLatin1String("reads")).toInteger(-1) : -1;
    const qint64 writes = report ? report.value().value(QLatin1String("writes")).toInteger(-1) : -1;
    if (reads < 0 || writes < 0)
        return Error{QStringLiteral("bench.simulator"),
                     QStringLiteral("gridloom-sim left no report with its counts; its last words:\n%1")
                         .arg(QString::fromUtf8(m_simulator.output().right(2000)))};
    m_simulatorReport = report.value();
    outside.simReads = static_cast<std::uint64_t>(reads);
    outside.simWrites = static_cast<std::uint64_t>(writes);
    return {};
}

} // namespace gridloom
