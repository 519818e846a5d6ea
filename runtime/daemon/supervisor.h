// SPDX-License-Identifier: Apache-2.0
// Supervisor: gridloomd's main thread. It brings the engine up, passes its snapshots on as status lines, and leads the
// orderly stop: drain what is in flight, stop, write the report.
#pragma once

#include "daemon/options.h"
#include "daemon/records/recordsstore.h"
#include "daemon/statusline.h"
#include "daemon/statusserver.h"
#include "engine/eventloopwakeup.h"

#include <QElapsedTimer>
#include <QTimer>

#include <memory>

namespace gridloom {

class Supervisor : public QObject {
    Q_OBJECT
public:
    Supervisor(Options options, std::shared_ptr<const Design> design, std::unique_ptr<const Clock> clock);
    ~Supervisor() override;

    /// Opens records, store and sockets and starts the engine.
    Result<void> start();
    /// Something found at the start: raised as an alarm. After start().
    void reportFault(const QString &text) { m_engine->reportFault(text); }
    /// Begins the orderly stop; finished() follows within 10 s. Idempotent.
    void stop();

Q_SIGNALS:
    void finished(int exitCode);

private:
    void takeSnapshots();
    void report(const EngineSnapshot &snapshot, const char *state);
    void finishWhenIdle(const EngineSnapshot &snapshot);
    void finish();

    Options m_options;
    std::shared_ptr<const Design> m_design;
    std::unique_ptr<const Clock> m_clock;
    RecordsStore m_records;
    std::unique_ptr<Engine> m_engine;
    StatusServer m_status;
    BoundedQueue<EngineSnapshot> m_snapshots{4};
    EventLoopWakeUp m_wakeUp;
    QElapsedTimer m_uptime;
    QTimer m_drainLimit;
    std::uint64_t m_sequence = 0;
    QByteArray m_lastLine;
    bool m_isDraining = false;
    bool m_isFinished = false;
};

} // namespace gridloom
