// SPDX-License-Identifier: Apache-2.0
#include "support/gatewaybed.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QDir>
#include <QFile>
#include <QJsonDocument>

namespace gridloom {

using namespace std::chrono_literals;

namespace {
QJsonObject readJson(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}
} // namespace

GatewayBed::GatewayBed() = default;

QString GatewayBed::program(const char *name)
{
    return QStringLiteral(GRIDLOOM_BINARY_DIR "/bin/") + QLatin1String(name);
}

QHash<QString, int> GatewayBed::startSimulator(const QByteArray &scenario)
{
    QFile file(m_folder.filePath(QStringLiteral("scenario.json")));
    if (!file.open(QIODevice::WriteOnly) || file.write(scenario) != scenario.size())
        return {};
    file.close();
    const QString ports = m_folder.filePath(QStringLiteral("ports.json"));
    const auto started =
        m_simulator.start(program("gridloom-sim"),
                          {QStringLiteral("--scenario"), file.fileName(), QStringLiteral("--port-file"), ports,
                           QStringLiteral("--report"), m_folder.filePath(QStringLiteral("sim.json"))});
    if (!started || !m_simulator.waitForOutput("ready", 10s))
        return {};
    QHash<QString, int> map;
    const QJsonObject devices = readJson(ports)[QLatin1String("devices")].toObject();
    for (auto it = devices.begin(); it != devices.end(); ++it)
        map[it.key()] = it.value().toInt();
    return map;
}

QJsonObject GatewayBed::stopSimulator()
{
    m_simulator.terminate();
    return readJson(m_folder.filePath(QStringLiteral("sim.json")));
}

void GatewayBed::writeDesign(const DesignDocument &files)
{
    QDir(designDir()).removeRecursively();
    for (const auto &[path, content] : files) {
        const QString target = designDir() + QLatin1Char('/') + QString::fromUtf8(path);
        QDir().mkpath(QFileInfo(target).path());
        QFile file(target);
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("cannot write %s", qPrintable(target));
    }
}

bool GatewayBed::launchRuntime(const QStringList &arguments, const QStringList &prefix)
{
    const QString socket = m_folder.filePath(QStringLiteral("status"));
    QStringList command = prefix;
    command << program("gridloomd") << QStringLiteral("--design") << designDir() << QStringLiteral("--state-dir")
            << stateDir() << QStringLiteral("--status-socket") << socket << QStringLiteral("--report")
            << m_folder.filePath(QStringLiteral("report.json")) << arguments;
    m_status.abort();
    QFile::remove(socket);
    QFile::remove(m_folder.filePath(QStringLiteral("report.json")));
    return m_runtime.start(command.first(), command.mid(1), m_environment).ok();
}

bool GatewayBed::startRuntime(const QStringList &arguments, const QStringList &prefix)
{
    if (!launchRuntime(arguments, prefix))
        return false;
    QDeadlineTimer deadline(15s);
    while (!deadline.hasExpired() && m_runtime.isRunning()) {
        m_status.abort();
        m_status.connectToServer(m_folder.filePath(QStringLiteral("status")));
        if (m_status.waitForConnected(200))
            return !nextStatus().isEmpty();
        m_runtime.waitForExit(20ms);
    }
    return false;
}

QJsonObject GatewayBed::takeStatus()
{
    QCoreApplication::processEvents(QEventLoop::AllEvents);
    if (m_status.state() == QLocalSocket::UnconnectedState)
        m_status.connectToServer(m_folder.filePath(QStringLiteral("status")));
    QJsonObject newest;
    while (m_status.canReadLine())
        newest = QJsonDocument::fromJson(m_status.readLine()).object();
    return newest;
}

QJsonObject GatewayBed::nextStatus()
{
    QDeadlineTimer deadline(10s);
    while (!m_status.canReadLine() && !deadline.hasExpired())
        if (!m_status.waitForReadyRead(static_cast<int>(deadline.remainingTime())))
            break;
    return m_status.canReadLine() ? QJsonDocument::fromJson(m_status.readLine()).object() : QJsonObject();
}

QJsonObject GatewayBed::statusWhere(const std::function<bool(const QJsonObject &)> &holds, int timeoutMs)
{
    QDeadlineTimer deadline(timeoutMs);
    while (!deadline.hasExpired()) {
        const QJsonObject status = nextStatus();
        if (status.isEmpty())
            return {};
        if (holds(status))
            return status;
    }
    return {};
}

int GatewayBed::stopRuntime(QJsonObject &report)
{
    m_runtime.terminate(15s);
    report = readJson(m_folder.filePath(QStringLiteral("report.json")));
    return m_runtime.exitCode();
}

void GatewayBed::killRuntime()
{
    m_runtime.kill();
    m_status.abort();
}

DesignDocument GatewayBed::baseDesign(int brokerPort)
{
    return {{"gridloom.json", R"({"schema":1,"site":{"id":"s","name":"S","zone":"Europe/Vienna"},
                "gateway":{"id":"gw","name":"Gateway"},"storage":{"mode":"realTime"}})"},
            {"stores/local.json", R"({"id":"local","name":"local","store":"embedded","params":{}})"},
            {"sinks/mqtt.json",
             R"({"id":"mqtt","name":"mqtt","sink":"mqtt","params":{"host":"127.0.0.1","port":)"
                 + QByteArray::number(brokerPort) + "}}"}};
}

void GatewayBed::addBulkDevice(DesignDocument &files, int port, const QByteArray &id)
{
    files["channels/" + id + "-bus.json"] = R"({"id":")" + id + R"(-bus","name":")" + id
        + R"(-bus","driver":"modbus","params":{"host":"127.0.0.1","timeoutMs":300,"port":)" + QByteArray::number(port)
        + "}}";
    files["devices/" + id + ".json"] =
        R"({"id":")" + id + R"(","name":")" + id + R"(","channel":")" + id + R"(-bus","params":{"unit":1},"points":[
                {"id":"a","name":"a","kind":"measured","address":"holding:0","type":"int16","periodMs":200},
                {"id":"set","name":"set","kind":"setpoint","address":"holding:1000","type":"uint32","periodMs":1000,
                 "write":{}}]})";
}

void GatewayBed::addPeriodicTrigger(DesignDocument &files, const QByteArray &id, int periodMs, const QByteArray &lua)
{
    files["triggers/" + id + ".json"] = R"({"id":")" + id + R"(","name":")" + id
        + R"(","when":{"kind":"periodic","periodMs":)" + QByteArray::number(periodMs) + "}}";
    files["triggers/" + id + ".lua"] = lua;
}

qint64 numberAt(const QJsonObject &status, std::initializer_list<const char *> path)
{
    QJsonValue value = status;
    for (const char *key : path)
        value = value.toObject()[QLatin1String(key)];
    return value.toInteger();
}

bool ledgersAddUp(const QJsonObject &status)
{
    const QJsonObject ledgers = status[QLatin1String("ledger")].toObject();
    for (auto it = ledgers.begin(); it != ledgers.end(); ++it) {
        const QJsonObject l = it.value().toObject();
        if (numberAt(l, {"offered"})
            != numberAt(l, {"done"}) + numberAt(l, {"failed"}) + numberAt(l, {"timedOut"}) + numberAt(l, {"discarded"})
                + numberAt(l, {"inFlight"}))
            return false;
    }
    const QJsonObject s = status[QLatin1String("store")].toObject();
    return !ledgers.isEmpty()
        && numberAt(s, {"samplesOffered"})
        == numberAt(s, {"rows"}) + numberAt(s, {"skippedByPolicy"}) + numberAt(s, {"lost"}) + numberAt(s, {"pending"});
}

} // namespace gridloom
