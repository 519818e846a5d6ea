// SPDX-License-Identifier: Apache-2.0
// GatewayBed: a real gridloomd process with a design, a state folder and, when asked for, simulated devices and a private
// broker. Everything is on 127.0.0.1 and ends with the test.
#pragma once

#include "core/design/designdocument.h"
#include "tools/procs/childprocess.h"
#include "tools/procs/privatebroker.h"

#include <QJsonObject>
#include <QLocalSocket>
#include <QTemporaryDir>

#include <functional>

namespace gridloom {

class GatewayBed {
public:
    GatewayBed();

    /// Simulated devices; the answer maps each id to its port. Empty when the simulator did not start.
    QHash<QString, int> startSimulator(const QByteArray &scenario);
    /// The simulator's own counts, at its end.
    QJsonObject stopSimulator();
    /// Ends the simulator without a word, as a power cut would.
    void killSimulator() { m_simulator.kill(); }

    void writeDesign(const DesignDocument &files);
    /// Starts gridloomd on the design and waits for its first status line. `prefix` is a program put before it, such as
    /// prlimit with its arguments.
    bool startRuntime(const QStringList &arguments = {}, const QStringList &prefix = {});
    /// NAME=VALUE entries for the runtimes started from now on.
    void setEnvironment(const QStringList &entries) { m_environment = entries; }
    /// Starts gridloomd and waits for nothing; takeStatus() connects once there is something to connect to.
    bool launchRuntime(const QStringList &arguments = {}, const QStringList &prefix = {});
    /// The newest status line that has come, without waiting; empty when none has since the last call. Lets events
    /// be handled.
    QJsonObject takeStatus();
    /// The next status line, at most 10 s; empty when none came.
    QJsonObject nextStatus();
    /// The first status line for which `holds` answers true; empty when none did in time.
    QJsonObject statusWhere(const std::function<bool(const QJsonObject &)> &holds, int timeoutMs = 20'000);
    /// SIGTERM, at most 15 s; the exit code, and the last line of the report in `report`.
    int stopRuntime(QJsonObject &report);
    void killRuntime();
    ChildProcess &runtime() { return m_runtime; }

    QString stateDir() const { return m_folder.filePath(QStringLiteral("state")); }
    QString folder() const { return m_folder.path(); }
    QString designDir() const { return m_folder.filePath(QStringLiteral("design")); }
    static QString program(const char *name);

    /// A gateway "gw" with a store, and a sink "mqtt" at `brokerPort`.
    static DesignDocument baseDesign(int brokerPort);
    /// A channel "bus" and a device "dev" on it: points "a" (holding 0, int16) and the setpoint "set" (holding 1000, uint32).
    static void addBulkDevice(DesignDocument &files, int port, const QByteArray &id = "dev");
    static void addPeriodicTrigger(DesignDocument &files, const QByteArray &id, int periodMs, const QByteArray &lua);

private:
    QTemporaryDir m_folder;
    ChildProcess m_simulator;
    ChildProcess m_runtime;
    QLocalSocket m_status;
    QStringList m_environment;
};

/// status["a"]["b"]... as a number; 0 when it is not there.
qint64 numberAt(const QJsonObject &status, std::initializer_list<const char *> path);
/// Every ledger of a status line adds up, and so does the store's account.
bool ledgersAddUp(const QJsonObject &status);

} // namespace gridloom
