// SPDX-License-Identifier: Apache-2.0
#include "tools/procs/childprocess.h"

#include <QDeadlineTimer>
#include <QProcessEnvironment>

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

namespace gridloom {

namespace {
constexpr int kStartTimeoutMs = 5'000;
}

ChildProcess::ChildProcess(QObject *parent) : QObject(parent)
{
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    m_process.setStandardInputFile(QProcess::nullDevice());
    connect(&m_process, &QProcess::readyRead, this, &ChildProcess::takeOutput);
    connect(&m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        takeOutput();
        m_exitCode = status == QProcess::CrashExit ? 128 + code : code;
        Q_EMIT exited(m_exitCode);
    });
}

ChildProcess::~ChildProcess()
{
    m_process.disconnect(this);
    kill();
}

Result<void> ChildProcess::start(const QString &program, const QStringList &arguments, const QStringList &environment,
                                 const QString &workingFolder)
{
    if (isRunning())
        return Error{QStringLiteral("process.running"),
                     QStringLiteral("%1 was not started: process %2 still runs").arg(program).arg(pid())};
    m_output.clear();
    m_exitCode = -1;
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const QString &entry : environment)
        variables.insert(entry.section(QLatin1Char('='), 0, 0), entry.section(QLatin1Char('='), 1));
    m_process.setProcessEnvironment(variables);
    m_process.setWorkingDirectory(workingFolder);
    const pid_t parent = ::getpid();
    m_process.setChildProcessModifier([parent] {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) // it ended before the line above took effect
            ::_exit(127);
        // A group of its own: Ctrl+C in a terminal reaches us alone, and we stop our children in order.
        ::setpgid(0, 0);
    });
    m_process.start(program, arguments, QIODevice::ReadOnly);
    if (!m_process.waitForStarted(kStartTimeoutMs))
        return Error{QStringLiteral("process.start"),
                     QStringLiteral("%1 could not be started: %2. Check that it is installed and executable")
                         .arg(program, m_process.errorString())};
    return {};
}

Result<void> ChildProcess::waitForOutput(const QByteArray &text, std::chrono::milliseconds timeout)
{
    const QDeadlineTimer deadline(timeout);
    for (;;) {
        takeOutput();
        if (m_output.contains(text))
            return {};
        if (!isRunning())
            return Error{QStringLiteral("process.ended"),
                         QStringLiteral("%1 ended with %2 before it said \"%3\". Its last words: %4")
                             .arg(m_process.program())
                             .arg(m_exitCode)
                             .arg(QString::fromUtf8(text), QString::fromUtf8(m_output.right(500)))};
        if (deadline.hasExpired())
            return Error{QStringLiteral("process.timeout"),
                         QStringLiteral("%1 did not say \"%2\" within %3 ms. Its last words: %4")
                             .arg(m_process.program(), QString::fromUtf8(text))
                             .arg(timeout.count())
                             .arg(QString::fromUtf8(m_output.right(500)))};
        m_process.waitForReadyRead(static_cast<int>(deadline.remainingTime()));
    }
}

bool ChildProcess::waitForExit(std::chrono::milliseconds timeout)
{
    return !isRunning() || m_process.waitForFinished(static_cast<int>(timeout.count()));
}

void ChildProcess::requestStop()
{
    m_process.terminate();
}

void ChildProcess::terminate(std::chrono::milliseconds grace)
{
    requestStop();
    if (!waitForExit(grace))
        kill();
}

void ChildProcess::kill()
{
    if (!isRunning())
        return;
    m_process.kill();
    m_process.waitForFinished(-1);
}

void ChildProcess::takeOutput()
{
    const QByteArray added = m_process.readAll();
    if (added.isEmpty())
        return;
    m_output += added;
    if (m_output.size() > kOutputLimit)
        m_output.remove(0, m_output.size() - kOutputLimit);
    Q_EMIT outputGrew();
}

} // namespace gridloom
