// SPDX-License-Identifier: Apache-2.0
#include "engine/scriptworkers.h"

#include "engine/scheduling.h"
#include "engine/statejournal.h"

#include <QLoggingCategory>

#include <pthread.h>
#include <sys/prctl.h>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcEngine, "gridloom.engine")
}

ScriptWorkers::ScriptWorkers(const Design &design, EngineInbox &inbox, const Clock &clock)
    : m_design(design), m_inbox(inbox), m_clock(clock)
{
}

ScriptWorkers::~ScriptWorkers()
{
    stop();
}

Result<void> ScriptWorkers::start(const std::map<QString, QByteArray> &states)
{
    for (const Trigger *trigger : m_design.triggerList) {
        m_scripts.emplace_back();
        if (!trigger->isEnabled)
            continue;
        auto script = TriggerScript::compile(m_design, *trigger);
        if (!script)
            return script.error();
        m_scripts.back() = std::move(script).value();
        const auto state = states.find(scriptStateKey(*trigger));
        if (state != states.end() && !m_scripts.back()->restoreState(state->second))
            qCWarning(lcEngine).noquote()
                << "Trigger" << trigger->name << "starts with an empty state: the one that was kept cannot be used.";
    }
    for (Worker &worker : m_workers)
        worker.thread = std::thread([this, &worker] { work(worker); });
    return {};
}

bool ScriptWorkers::isFast(const Trigger &trigger)
{
    const auto *periodic = std::get_if<Trigger::Periodic>(&trigger.when);
    return periodic && periodic->period <= kFastPeriod;
}

std::size_t ScriptWorkers::workerOf(const Trigger &trigger)
{
    return isFast(trigger) ? 0 : 1;
}

void ScriptWorkers::run(Job job)
{
    const Trigger &trigger = *m_design.triggerList[job.trigger];
    m_workers[workerOf(trigger)].jobs.pushAlways(std::move(job));
}

void ScriptWorkers::stop()
{
    std::vector<Job> dropped;
    for (Worker &worker : m_workers) {
        worker.jobs.close();
        worker.jobs.drain(dropped);
    }
    for (Worker &worker : m_workers)
        if (worker.thread.joinable())
            worker.thread.join();
}

void ScriptWorkers::handStatesOver()
{
    for (std::size_t trigger = 0; trigger < m_scripts.size(); ++trigger)
        if (m_scripts[trigger])
            if (auto state = m_scripts[trigger]->saveState())
                m_inbox.pushAlways(ScriptStateSaved{static_cast<int>(trigger), std::move(state).value()});
}

void ScriptWorkers::work(Worker &worker)
{
    const bool isReserved = &worker == m_workers.data();
    ::pthread_setname_np(::pthread_self(), isReserved ? "lua-fast" : "lua");
    if (isReserved)
        m_isRealTime.store(requestRealTime(kFastScriptsPriority).isRealTime, std::memory_order_relaxed);
    Job job;
    while (worker.jobs.pop(job)) {
        ScriptFinished finished;
        finished.trigger = job.trigger;
        finished.run = job.run;
        finished.imageTime = job.image->frozenAt();
        finished.started = m_clock.steadyNow();
        RunContext context;
        context.image = job.image.get();
        context.run = job.run;
        context.now = job.image->frozenAt();
        context.wall = job.image->wallTime();
        context.wantsState = job.wantsState;
        finished.result = m_scripts[static_cast<std::size_t>(job.trigger)]->run(context);
        finished.ended = m_clock.steadyNow();
        job.image.reset(); // its pages need no copy any more
        m_inbox.pushAlways(std::move(finished));
    }
}

} // namespace gridloom
