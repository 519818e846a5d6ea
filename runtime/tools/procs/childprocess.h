// SPDX-License-Identifier: Apache-2.0
// ChildProcess: runs one program that can not outlive us. The kernel kills it when the thread that started it ends
// (PR_SET_PDEATHSIG), so start it from a thread that lives as long as the child is needed. Signals of the terminal
// (Ctrl+C) do not reach it: it is stopped by us.
// Used on one thread; needs that thread's event loop (or one of the waiting functions here) to take in the output.
#pragma once

#include "core/result.h"

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <chrono>

namespace gridloom {

class ChildProcess : public QObject {
    Q_OBJECT
public:
    /// What is kept of the output: its newest part.
    static constexpr qsizetype kOutputLimit = 1 << 20;

    explicit ChildProcess(QObject *parent = nullptr);
    /// Kills a child that still runs, without grace.
    ~ChildProcess() override;

    /// Starts the program and waits until it was executed, at most 5 s. stdout and stderr are captured together, stdin
    /// is empty. `environment` holds NAME=VALUE entries added to our own. Errors: "process.running", "process.start".
    Result<void> start(const QString &program, const QStringList &arguments, const QStringList &environment = {},
                       const QString &workingFolder = {});

    /// Blocks until the output since start holds `text`. Errors: "process.ended" when the child ended before,
    /// "process.timeout".
    Result<void> waitForOutput(const QByteArray &text, std::chrono::milliseconds timeout);
    /// Blocks until the child has ended; false when it still runs after `timeout`.
    bool waitForExit(std::chrono::milliseconds timeout);
    /// SIGTERM without waiting: the child ends its work in its own time.
    void requestStop();
    /// SIGTERM, and SIGKILL when it still runs after `grace`. Blocks until it is gone. Idempotent.
    void terminate(std::chrono::milliseconds grace = std::chrono::seconds(5));
    /// SIGKILL; blocks until it is gone. Idempotent.
    void kill();

    bool isRunning() const { return m_process.state() != QProcess::NotRunning; }
    qint64 pid() const { return m_process.processId(); } ///< 0 when none runs
    /// 0-255 after a normal end, 128 + signal after a signal (as a shell says it), -1 before any end.
    int exitCode() const { return m_exitCode; }
    const QByteArray &output() const { return m_output; }

Q_SIGNALS:
    void outputGrew();
    void exited(int exitCode);

private:
    void takeOutput();

    QProcess m_process;
    QByteArray m_output;
    int m_exitCode = -1;
};

} // namespace gridloom
