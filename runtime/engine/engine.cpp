// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include "core/topics.h"
#include "engine/scheduling.h"

#include <QLoggingCategory>

#include <pthread.h>
#include <sys/prctl.h>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcEngine, "gridloom.engine")
}

Engine::Engine(std::shared_ptr<const Design> design, const Clock &clock, Records &records, Options options)
    : m_design(std::move(design)), m_clock(clock), m_records(records), m_options(std::move(options)),
      m_plugins(m_options.pluginDir)
{
    m_inbox.setWakeUp([this] { m_wait.notify(); });
}

Engine::~Engine()
{
    if (m_thread.joinable())
        stop([] {});
}

Result<void> Engine::start()
{
    auto expressions = Expressions::compile(*m_design);
    if (!expressions)
        return expressions.error();
    m_expressions = std::move(expressions).value();
    m_workers = std::make_unique<ScriptWorkers>(*m_design, m_inbox, m_clock);
    if (const auto started = m_workers->start(m_records.states()); !started)
        return started;
    if (const auto started = startStore(); !started)
        return started;
    m_io = std::make_unique<IoThread>(*m_design, m_inbox, m_clock);
    m_records.setCommitted([this](const Records::CommitReport &report) {
        m_inbox.pushAlways(RecordsCommitted{report, m_clock.steadyNow()});
    });
    const std::vector<OutboxEntry> pending = m_records.pendingOutbox();
    m_records.releaseOutbox();
    if (const auto started = startSinks(pending); !started)
        return started;
    m_cycle = std::make_unique<Cycle>(Cycle::Parts{*m_design, m_clock, m_inbox, m_records, *m_expressions, outlets(),
                                                   m_options.watched, m_options.publish, m_options.checkpointPeriod});
    m_cycle->adoptOutbox(pending);
    for (const Error &error : m_io->start(m_plugins))
        qCWarning(lcEngine).noquote() << error.message;
    m_thread = std::thread([this] { run(); });
    return {};
}

Result<void> Engine::startStore()
{
    if (m_design->stores.empty())
        return {};
    const StoreDefinition &definition = m_design->stores.begin()->second;
    const auto factory = m_plugins.store(definition.store);
    if (!factory)
        return factory.error();
    QList<Series> series;
    for (const PointRef &point : m_design->points)
        series.append({point.id, point.name, point.unit});
    QList<QString> triggers;
    for (const Trigger *trigger : m_design->triggerList)
        triggers.append(trigger->id);
    m_store = std::make_unique<StoreRunner>(factory.value()->createStore(m_clock), m_inbox, m_clock);
    m_store->start(
        {definition.params, m_options.stateDir + QStringLiteral("/history"), series, triggers, m_design->zone});
    return {};
}

Result<void> Engine::startSinks(const std::vector<OutboxEntry> &outbox)
{
    for (const auto &[id, definition] : m_design->sinks) {
        const auto factory = m_plugins.sink(definition.sink);
        if (!factory)
            return factory.error();
        std::vector<OutboundMessage> pending;
        for (const OutboxEntry &entry : outbox)
            if (entry.sink == id)
                pending.push_back(entry.message);
        m_sinks.push_back(std::make_unique<SinkRunner>(definition, topicPrefix(m_design->gatewayId), m_inbox, m_clock));
        if (const auto started = m_sinks.back()->start(*factory.value(), std::move(pending)); !started)
            return started;
    }
    return {};
}

Outlets Engine::outlets()
{
    Outlets o;
    o.write = [this](const WriteRequest &request) { m_io->write(request); };
    o.runScript = [this](ScriptWorkers::Job job) { m_workers->run(std::move(job)); };
    if (m_store)
        o.appendRows = [this](StoreRunner::Batch batch) { return m_store->append(std::move(batch)); };
    for (const auto &runner : m_sinks)
        o.sinks.push_back({&runner->definition(),
                           [sink = runner.get()](OutboundMessage message) { sink->send(std::move(message)); },
                           [sink = runner.get()](std::size_t n) { sink->settled(n); }});
    o.stopPolling = [this] { m_io->stopPolling(); };
    o.pollCounts = [this] {
        Outlets::PollCounts sum;
        // Order matters: what is dropped or missed was offered before.
        for (const auto &runner : m_io->runners()) {
            sum.dropped += runner->dropped();
            sum.missed += runner->missed();
            sum.offered += runner->offered();
        }
        return sum;
    };
    return o;
}

void Engine::run()
{
    ::pthread_setname_np(::pthread_self(), "engine");
    // The kernel may join wake-ups within 50 us by default; a due time is worth its own.
    ::prctl(PR_SET_TIMERSLACK, 1'000, 0, 0, 0);
    const Scheduling scheduling = requestRealTime(kEnginePriority);
    m_isRealTime.store(scheduling.isRealTime, std::memory_order_relaxed);
    if (scheduling.isRealTime)
        qCInfo(lcEngine) << "The engine runs under SCHED_FIFO.";
    else
        qCInfo(lcEngine).noquote() << "The engine runs under plain scheduling (SCHED_FIFO:" << scheduling.why
                                   << "); triggers of the 100 ms class may start some milliseconds late under load.";
    m_cycle->start();
    while (!m_isStopping.load(std::memory_order_acquire)) {
        const SteadyTime next = m_cycle->step();
        m_wait.until(std::chrono::steady_clock::now() + m_clock.realDuration(next - m_clock.steadyNow()));
    }
}

Engine::RealTimeThreads Engine::realTimeThreads() const
{
    return {m_isRealTime.load(std::memory_order_relaxed), m_workers->isFastWorkerRealTime()};
}

std::vector<Engine::QueueState> Engine::queueStates() const
{
    const auto state = [](const char *name, const auto &queue) {
        return QueueState{name, queue.size(), queue.highWater(), queue.refused()};
    };
    std::vector<QueueState> states = {state("engine", m_inbox), state("io", m_io->queue()),
                                      state("fastScripts", m_workers->queue(0)), state("scripts", m_workers->queue(1))};
    if (m_store)
        states.push_back(state("store", m_store->queue()));
    return states;
}

bool Engine::canDeliver() const
{
    return std::any_of(m_sinks.begin(), m_sinks.end(), [](const auto &sink) {
        const auto statistics = sink->statistics();
        return statistics.isConnected && statistics.waiting > 0;
    });
}

EngineSnapshot Engine::stop(const std::function<void()> &closeRecords)
{
    // Producers first: each still answers what it holds, so that nothing is left unaccounted.
    m_io->stop();
    m_workers->stop();
    m_isStopping.store(true, std::memory_order_release);
    m_inbox.pushAlways(DrainRequested{});
    m_thread.join();
    m_workers->handStatesOver();
    // From here on the cycle's state belongs to this thread.
    m_cycle->finish();
    if (m_store)
        m_store->stop();
    for (const auto &sink : m_sinks)
        sink->stop();
    m_cycle->abandonRuns();
    closeRecords();
    m_cycle->takeLastCommits();
    return m_cycle->snapshot();
}

} // namespace gridloom
