// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/measurement.h"

#include "tools/bench/machine.h"

#include <QCoreApplication>
#include <QEventLoop>
#include <QFile>

#include <cstdio>

namespace gridloom {

namespace {
constexpr std::chrono::seconds kSilence{15};
}

Measurement::Measurement(const Interrupt &interrupt)
    : m_interrupt(interrupt), m_session(QCoreApplication::applicationDirPath())
{
}

Result<void> Measurement::start(const Session::Setup &setup)
{
    if (auto started = m_session.start(setup); !started)
        return started;
    m_sampler.start(m_session.runtimePid(), m_session.folder());
    m_oversleep.start();
    return m_canary.start(m_session.folder());
}

Result<void> Measurement::observe(const std::function<bool(const RuntimeStatus &)> &see,
                                  std::chrono::milliseconds limit)
{
    // The connections end with the loop, before what they capture.
    // clazy:excludeall=lambda-in-connect
    Result<void> result;
    QEventLoop loop;
    QTimer silence, end;
    silence.setSingleShot(true);
    silence.start(kSilence);
    QObject::connect(&m_session, &Session::statusReceived, &loop, [&](const RuntimeStatus &s) {
        silence.start(kSilence);
        if (!see(s))
            loop.quit();
    });
    QObject::connect(&m_session, &Session::failed, &loop, [&](const Error &error) {
        result = error;
        loop.quit();
    });
    QObject::connect(&silence, &QTimer::timeout, &loop, [&] {
        result = Error{QStringLiteral("bench.silent"),
                       QStringLiteral("gridloomd wrote no status line for %1 s").arg(kSilence.count())};
        loop.quit();
    });
    QObject::connect(&end, &QTimer::timeout, &loop, &QEventLoop::quit);
    QObject::connect(&m_interrupt, &Interrupt::requested, &loop, &QEventLoop::quit);
    if (limit.count() > 0)
        end.start(limit);
    if (!m_interrupt.wasRequested())
        loop.exec();
    return result;
}

Result<RunResult> Measurement::finish(SteadyTime from)
{
    const SteadyTime to = std::chrono::steady_clock::now();
    m_sampler.stop();
    m_canary.stop();
    m_oversleep.stop();
    const auto ending = m_session.finish();
    if (!ending)
        return ending.error();
    RunResult result;
    result.final = ending.value().final;
    result.outside = ending.value().outside;
    result.use = m_sampler.evaluate(from, to);
    result.oversleepMs = m_oversleep.longestMs(from, to);
    result.canaryMs = m_canary.evaluate(from, to);
    result.samplerTimeouts = m_sampler.timeouts();
    result.machine = describeMachine(m_session.folder());
    result.seconds = std::chrono::duration<double>(to - from).count();
    return result;
}

void printText(const QByteArray &text, const QString &jsonFile)
{
    std::FILE *out = jsonFile == QLatin1String("-") ? stderr : stdout;
    std::fwrite(text.constData(), 1, static_cast<std::size_t>(text.size()), out);
    std::fflush(out);
}

Result<void> writeJsonFile(const QString &path, const QByteArray &json)
{
    if (path.isEmpty())
        return {};
    QFile file(path);
    const bool opened =
        path == QLatin1String("-") ? file.open(stdout, QIODevice::WriteOnly) : file.open(QIODevice::WriteOnly);
    if (!opened || file.write(json) != json.size() || !file.flush())
        return Error{QStringLiteral("bench.json"),
                     QStringLiteral("the result could not be written to %1: %2").arg(path, file.errorString())};
    return {};
}

void printError(const Error &error)
{
    std::fprintf(stderr, "gridloom-bench: %s (%s)\n", qPrintable(error.message), qPrintable(error.code));
}

} // namespace gridloom
