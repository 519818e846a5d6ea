// SPDX-License-Identifier: Apache-2.0
// The status line of docs/status.md, built on the main thread from what the engine and the others report. Pure.
#pragma once

#include "engine/engine.h"

#include <QByteArray>

namespace gridloom {

struct ProcessUse {
    std::int64_t cpuMs = 0; ///< user and system time of the whole process
    std::int64_t rssKb = 0;
    int threads = 0;
};
/// Of this process, from /proc/self.
ProcessUse readProcessUse();

struct StatusContext {
    std::uint64_t sequence = 0;
    double uptimeS = 0;
    const char *state = "running"; ///< "running", "draining", "stopped"
    double speed = 1;
    const Design &design;
    RecordsStatistics records;
    DriverStatistics requests;
    StoreStatistics store;
    std::vector<Engine::QueueState> queues;
    Engine::RealTimeThreads realTime;
    struct SinkState {
        QString id;
        SinkRunner::Statistics statistics;
    };
    std::vector<SinkState> sinks;
    ProcessUse process;
};

/// One line of JSON without its line end.
QByteArray statusLine(const EngineSnapshot &snapshot, const StatusContext &context);

} // namespace gridloom
