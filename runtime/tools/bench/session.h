// SPDX-License-Identifier: Apache-2.0
// Session: starts broker, simulator, subscriber and runtime in a folder of their own, stops them again and collects
// what each of them counted. Used on the main thread, whose event loop runs while its functions wait.
#pragma once

#include "core/clock.h"
#include "core/design/designdocument.h"
#include "tools/bench/reconcile.h"
#include "tools/bench/statusreader.h"
#include "tools/bench/subscriber.h"
#include "tools/procs/privatebroker.h"

#include <QHash>
#include <QJsonObject>
#include <QTemporaryDir>

#include <functional>

namespace gridloom {

class Session : public QObject {
    Q_OBJECT
public:
    struct Setup {
        QByteArray simulation; ///< the simulator's scenario
        /// The design, once the ports are known: of the simulated devices by id, and of the broker.
        std::function<Result<DesignDocument>(const QHash<QString, int> &ports, int brokerPort)> design;
        QStringList statusPoints; ///< values wanted in the status line
        double speed = 1;
        bool isLowWear = false;
        QStringList runtimeEnvironment; ///< NAME=VALUE, added to that of the runtime
    };
    struct Ending {
        RuntimeStatus final;
        OutsideCounts outside;
    };

    /// `binFolder`: where gridloomd, gridloom-sim and gridloom-bench are.
    explicit Session(QString binFolder);
    ~Session() override;

    /// Returns when the runtime's process runs. Errors of whatever could not be started, "bench.simulator",
    /// "bench.subscriber", "bench.folder". What was started until then ends with the session.
    Result<void> start(const Setup &setup);
    /// Stops the runtime (SIGTERM, at most 45 s), waits until everything is counted, stops the rest. Errors:
    /// "bench.runtime" when the runtime crashed or left no report, "bench.subscriber", "bench.store", "bench.records".
    Result<Ending> finish();

    /// Where the runtime keeps its state.
    QString stateFolder() const { return m_folder.filePath(QStringLiteral("state")); }
    QString folder() const { return m_folder.path(); }
    /// Leaves the folder for a look at what went wrong.
    void keepFolder() { m_folder.setAutoRemove(false); }
    /// When the runtime's process was about to be started, on CLOCK_MONOTONIC.
    SteadyTime runtimeStartedAt() const { return m_runtimeStartedAt; }
    /// docs/simulator.md, "Counters"; after finish().
    const QJsonObject &simulatorReport() const { return m_simulatorReport; }
    qint64 runtimePid() const { return m_runtime.pid(); }
    quint16 brokerPort() const { return m_broker.port(); }
    const MessageCount &messages() const { return m_subscriber.count(); }

Q_SIGNALS:
    void statusReceived(const gridloom::RuntimeStatus &status);
    /// The runtime's process is gone before finish(), or says something that cannot be understood.
    void failed(const gridloom::Error &error);

private:
    Result<void> startSimulator(const Setup &setup);
    Result<void> startSubscriber();
    Result<void> startRuntime(const Setup &setup);
    Result<RuntimeStatus> stopRuntime();
    Result<void> drainSubscriber();
    Result<void> stopSimulator(OutsideCounts &outside);

    QString m_binFolder;
    QTemporaryDir m_folder;
    PrivateBroker m_broker;
    ChildProcess m_simulator;
    ChildProcess m_runtime;
    Subscriber m_subscriber;
    StatusReader m_status;
    SteadyTime m_runtimeStartedAt{};
    QJsonObject m_simulatorReport;
    bool m_isFinishing = false;
};

/// Where folders of runs lie: $TMPDIR, else /var/tmp, which is on a disk where /tmp may be memory.
QString workFolder();

} // namespace gridloom
