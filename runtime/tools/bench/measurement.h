// SPDX-License-Identifier: Apache-2.0
// Measurement: a session with the readings taken beside it. Main thread; blocks in observe() and finish(), where the
// event loop runs.
#pragma once

#include "tools/bench/canary.h"
#include "tools/bench/interrupt.h"
#include "tools/bench/oversleep.h"
#include "tools/bench/runresult.h"
#include "tools/bench/sampler.h"
#include "tools/bench/session.h"

namespace gridloom {

class Measurement {
public:
    /// `interrupt` outlives it.
    explicit Measurement(const Interrupt &interrupt);

    /// Starts the session, sampler and canary.
    Result<void> start(const Session::Setup &setup);
    /// Calls `see` with each status line until it answers false, Ctrl+C is pressed (isInterrupted()) or `limit` (0:
    /// none) has passed. Errors: those of Session::failed(), "bench.silent" when no line comes for 15 s.
    Result<void> observe(const std::function<bool(const RuntimeStatus &)> &see, std::chrono::milliseconds limit);
    /// Stops everything; what was found goes into final, outside, use, canaryMs, samplerTimeouts and machine. Readings
    /// are those of `from` until now.
    Result<RunResult> finish(SteadyTime from);

    bool isInterrupted() const { return m_interrupt.wasRequested(); }
    Session &session() { return m_session; }

private:
    const Interrupt &m_interrupt;
    Session m_session;
    Sampler m_sampler;
    Canary m_canary;
    Oversleep m_oversleep;
};

/// Text for people goes to stdout, unless the JSON does.
void printText(const QByteArray &text, const QString &jsonFile);
/// "" does nothing, "-" is stdout. Error "bench.json".
Result<void> writeJsonFile(const QString &path, const QByteArray &json);
/// Prints an error to stderr.
void printError(const Error &error);

} // namespace gridloom
