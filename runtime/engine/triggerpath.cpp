// SPDX-License-Identifier: Apache-2.0
#include "engine/triggerpath.h"

#include <QLoggingCategory>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcEngine, "gridloom.engine")

constexpr int kOverrunsToDisable = 3;
constexpr std::size_t kSlowRunsKept = 10;
// Of runs that did nothing and ended well, one in so many is recorded.
constexpr std::uint64_t kQuietRunsPerRecord = 100;

Nanoseconds claimTtl(const Trigger &trigger, const ControlAction &action)
{
    if (action.ttl)
        return *action.ttl;
    const auto *periodic = std::get_if<Trigger::Periodic>(&trigger.when);
    return 3 * Nanoseconds(periodic ? periodic->period : Milliseconds(1'000));
}
} // namespace

TriggerPath::TriggerPath(const Design &design, const Outlets &outlets, Records &records, TriggerRuns &runs,
                         RunNumbers &numbers, Effects effects, Nanoseconds slowAfter, StateKeeping keeping)
    : m_design(design), m_outlets(outlets), m_records(records), m_runs(runs), m_effects(effects),
      m_slowAfter(slowAfter), m_keeping(keeping), m_states(static_cast<std::size_t>(design.triggerList.size())),
      m_statistics(static_cast<std::size_t>(design.triggerList.size())), m_numbers(numbers)
{
    std::vector<std::pair<PointHandle, Watcher>> watchersOf;
    for (const Trigger *trigger : design.triggerList) {
        const auto *when = std::get_if<Trigger::OnChange>(&trigger->when);
        if (!when || !trigger->isEnabled)
            continue;
        m_states[static_cast<std::size_t>(trigger->index)].watches.resize(
            static_cast<std::size_t>(when->points.size()));
        for (qsizetype i = 0; i < when->points.size(); ++i)
            watchersOf.emplace_back(when->points[i], Watcher{trigger->index, static_cast<std::size_t>(i)});
    }
    m_watchersOf = {static_cast<std::size_t>(design.points.size()), std::move(watchersOf)};
}

void TriggerPath::start(SteadyTime now)
{
    std::vector<QString> keys;
    for (const Trigger *trigger : m_design.triggerList)
        keys.push_back(scriptStateKey(*trigger));
    m_keeping.journal.removeOthers(QStringLiteral("script/"), std::move(keys));
    for (State &state : m_states)
        state.nextState = now + m_keeping.period;
    for (const Trigger *trigger : m_design.triggerList)
        if (const auto *when = std::get_if<Trigger::Periodic>(&trigger->when); when && trigger->isEnabled)
            m_schedule.add(nextOnGrid(now, when->period, when->phase), trigger->index);
}

std::optional<SteadyTime> TriggerPath::nextDue() const
{
    return m_schedule.next();
}

bool TriggerPath::differs(const Trigger::OnChange &when, const Watch &watch, const ImageSlot &slot) const
{
    if (watch.firedQuality != slot.quality)
        return true;
    const auto before = watch.fired.toDouble();
    const auto after = slot.value.toDouble();
    if (when.deadband > 0 && before && after)
        return std::abs(*after - *before) > when.deadband;
    return !(watch.fired == slot.value);
}

void TriggerPath::pointChanged(PointHandle point, const ImageSlot &slot, SteadyTime now)
{
    for (const Watcher &watcher : m_watchersOf[point]) {
        const auto &when = std::get<Trigger::OnChange>(m_design.triggerList[watcher.trigger]->when);
        Watch &watch = m_states[static_cast<std::size_t>(watcher.trigger)].watches[watcher.position];
        if (!differs(when, watch, slot)) {
            watch.changedAt.reset();
            continue;
        }
        if (when.forDuration > Milliseconds(0)) {
            if (!watch.changedAt) {
                watch.changedAt = now;
                m_schedule.add(now + when.forDuration, ~watcher.trigger);
            }
            continue;
        }
        watch.fired = slot.value;
        watch.firedQuality = slot.quality;
        due(watcher.trigger, slot.gatewayTime);
    }
}

void TriggerPath::due(int trigger, SteadyTime at)
{
    // Several of its points may change in one cycle: one run sees them all.
    for (const auto &[other, otherAt] : m_due)
        if (other == trigger)
            return;
    m_due.emplace_back(trigger, at);
}

void TriggerPath::periodicDue(int trigger, SteadyTime due, SteadyTime now)
{
    const auto &when = std::get<Trigger::Periodic>(m_design.triggerList[trigger]->when);
    const SteadyTime next = nextOnGrid(now, when.period, when.phase);
    if (const auto missed = (next - due) / Nanoseconds(when.period) - 1; missed > 0) {
        m_ledger.offer(static_cast<std::uint64_t>(missed));
        m_ledger.finish(Outcome::Discarded, static_cast<std::uint64_t>(missed));
        m_statistics[static_cast<std::size_t>(trigger)].skipped += static_cast<std::uint64_t>(missed);
    }
    m_schedule.add(next, trigger);
    m_due.emplace_back(trigger, due);
}

void TriggerPath::startDue(const std::function<std::shared_ptr<const ProcessImage>()> &image, SteadyTime now,
                           WallTime wall, SteadyTime idleSince)
{
    while (const auto item = m_schedule.take(now)) {
        const auto &[at, key] = *item;
        if (key >= 0) {
            periodicDue(key, at, now);
            continue;
        }
        const int trigger = ~key;
        const auto &when = std::get<Trigger::OnChange>(m_design.triggerList[trigger]->when);
        auto &watches = m_states[static_cast<std::size_t>(trigger)].watches;
        for (std::size_t i = 0; i < watches.size(); ++i) {
            if (!watches[i].changedAt || *watches[i].changedAt + when.forDuration > now)
                continue;
            const ImageSlot &slot = image()->at(when.points[static_cast<qsizetype>(i)]);
            watches[i] = {slot.value, slot.quality, std::nullopt};
            due(trigger, at);
        }
    }
    for (const auto &[trigger, at] : m_resumed)
        begin(trigger, at, image(), now, wall, at, true); // it waited for an earlier run, not for the engine
    m_resumed.clear();
    for (const auto &[trigger, at] : m_due) {
        State &state = m_states[static_cast<std::size_t>(trigger)];
        TriggerStatistics &statistics = m_statistics[static_cast<std::size_t>(trigger)];
        if (statistics.isDisabled)
            continue;
        m_ledger.offer();
        if (!state.isBusy) {
            begin(trigger, at, image(), now, wall, now, at >= idleSince);
            continue;
        }
        const Trigger &definition = *m_design.triggerList[trigger];
        const std::size_t room = definition.overlap == OverlapMode::Queue
            ? static_cast<std::size_t>(definition.queueLength)
            : definition.overlap == OverlapMode::Latest ? 1U
                                                        : 0U;
        state.waiting.push_back(at);
        if (state.waiting.size() > room) {
            // Latest keeps the newest due time, the others keep those that came first.
            if (definition.overlap == OverlapMode::Latest)
                state.waiting.pop_front();
            else
                state.waiting.pop_back();
            m_ledger.finish(Outcome::Discarded);
            ++statistics.skipped;
        }
    }
    m_due.clear();
}

void TriggerPath::begin(int trigger, SteadyTime due, const std::shared_ptr<const ProcessImage> &image, SteadyTime now,
                        WallTime wall, SteadyTime begun, bool wasEngineIdle)
{
    State &state = m_states[static_cast<std::size_t>(trigger)];
    state.isBusy = true;
    const bool wantsState = now >= state.nextState;
    if (wantsState)
        state.nextState = now + m_keeping.period;
    ++m_statistics[static_cast<std::size_t>(trigger)].runs;
    const std::uint64_t run = m_numbers.take();
    m_runs.begin(run, trigger, due, wall - std::chrono::duration_cast<std::chrono::microseconds>(now - due), begun,
                 wasEngineIdle);
    m_outlets.runScript({trigger, run, image, wantsState});
}

void TriggerPath::scriptFinished(ScriptFinished &event, SteadyTime now, WallTime wall)
{
    State &state = m_states[static_cast<std::size_t>(event.trigger)];
    state.isBusy = false;
    countOverrun(event.trigger, event.result, wall);
    keepState(event.trigger, event.result);
    if (const TriggerRun *run = m_runs.scriptEnded(event.run, event.result, event.started, event.ended)) {
        const SteadyTime due = run->due;
        for (const Action &action : event.result.actions)
            carryOut(action, event.trigger, event, now, wall);
        m_effects.control.advance(now);
        m_issuedLatency.add(now - due); // here and not at the run's end, which may wait for a disk
        m_runs.issued(event.run, now);
    }
    if (m_statistics[static_cast<std::size_t>(event.trigger)].isDisabled) {
        discardWaiting(event.trigger);
    } else if (!state.waiting.empty()) {
        m_resumed.emplace_back(event.trigger, state.waiting.front()); // startDue() begins it before anything new
        state.waiting.pop_front();
    }
}

void TriggerPath::keepState(int trigger, const ScriptResult &result)
{
    State &state = m_states[static_cast<std::size_t>(trigger)];
    if (result.state) {
        m_keeping.journal.write(scriptStateKey(*m_design.triggerList[trigger]), *result.state);
        state.isStateRefused = false;
    } else if (!result.stateError.isEmpty() && !std::exchange(state.isStateRefused, true)) {
        m_statistics[static_cast<std::size_t>(trigger)].lastError = result.stateError;
        qCWarning(lcEngine).noquote() << result.stateError;
    }
}

void TriggerPath::stateSaved(const ScriptStateSaved &event)
{
    m_keeping.journal.write(scriptStateKey(*m_design.triggerList[event.trigger]), event.state);
}

void TriggerPath::discardWaiting(int trigger)
{
    auto &waiting = m_states[static_cast<std::size_t>(trigger)].waiting;
    m_ledger.finish(Outcome::Discarded, waiting.size());
    m_statistics[static_cast<std::size_t>(trigger)].skipped += waiting.size();
    waiting.clear();
}

void TriggerPath::abandonWaiting()
{
    for (std::size_t trigger = 0; trigger < m_states.size(); ++trigger)
        discardWaiting(static_cast<int>(trigger));
}

void TriggerPath::carryOut(const Action &action, int trigger, const ScriptFinished &event, SteadyTime now,
                           WallTime wall)
{
    const Trigger &definition = *m_design.triggerList[trigger];
    if (const auto *control = std::get_if<ControlAction>(&action)) {
        ControlRequest request;
        request.point = control->point;
        request.value = control->value;
        request.priority = control->priority.value_or(definition.priority);
        request.owner = definition.id;
        request.run = event.run;
        request.computedFrom = event.imageTime;
        request.claimTtl = claimTtl(definition, *control);
        m_runs.effectAsked(event.run, Effect::Control);
        m_effects.control.request(request, now, wall);
    } else if (const auto *alarm = std::get_if<AlarmAction>(&action)) {
        m_runs.effectAsked(event.run, Effect::Alarm);
        if (!m_effects.alarms.act(alarm->alarm, alarm->isRaise, alarm->text, event.run, wall))
            m_runs.effectEnded(event.run, Effect::Alarm, now); // it is in that state already, and that is durable
    } else if (const auto *message = std::get_if<PublishAction>(&action)) {
        const QString refusal = m_effects.outbound.publish(*message, event.run, m_runs, now, wall);
        if (!refusal.isEmpty()) {
            m_runs.effectAsked(event.run, Effect::Mqtt);
            m_runs.effectEnded(event.run, Effect::Mqtt, now, refusal);
        }
    } else if (const auto *row = std::get_if<AggregationAction>(&action)) {
        m_runs.effectAsked(event.run, Effect::Aggregation);
        m_effects.rowWritten(row->point, row->value);
        if (!m_effects.history.writeRow(row->point, row->value, wall, trigger, event.run))
            m_runs.effectEnded(event.run, Effect::Aggregation, now,
                               m_effects.history.hasStore() ? QStringLiteral("the store's queue is full")
                                                            : QStringLiteral("the design has no store"));
    } else if (const auto *coordination = std::get_if<CoordinationAction>(&action)) {
        m_runs.coordinationAsked(event.run);
        m_effects.coordination.startTask(coordination->task, now);
    }
}

void TriggerPath::countOverrun(int trigger, const ScriptResult &result, WallTime wall)
{
    State &state = m_states[static_cast<std::size_t>(trigger)];
    state.overruns = result.outcome == ScriptOutcome::TimedOut ? state.overruns + 1 : 0;
    if (state.overruns < kOverrunsToDisable)
        return;
    m_statistics[static_cast<std::size_t>(trigger)].isDisabled = true;
    m_effects.alarms.raiseSystem(SystemAlarm::TriggerDisabled,
                                 QStringLiteral("Trigger \"%1\" ran over its time limit %2 times in a row and is "
                                                "switched off until the next start. Last error: %3")
                                     .arg(m_design.triggerList[trigger]->name)
                                     .arg(kOverrunsToDisable)
                                     .arg(result.error),
                                 wall);
}

void TriggerPath::runEnded(const TriggerRun &run, Outcome outcome)
{
    m_ledger.finish(outcome);
    const Trigger &trigger = *m_design.triggerList[run.trigger];
    TriggerStatistics &statistics = m_statistics[static_cast<std::size_t>(run.trigger)];
    if (outcome == Outcome::Failed)
        ++statistics.failed;
    if (outcome == Outcome::TimedOut)
        ++statistics.timedOut;
    const Nanoseconds latency = run.ended - run.due;
    const QString cause = latency > m_slowAfter ? slowestStage(run) : QString();
    if (outcome != Outcome::Discarded) {
        m_latency.add(latency);
        if (run.started && ScriptWorkers::isFast(trigger))
            m_fastStart.add(*run.started - run.due);
        if (!cause.isEmpty()) {
            m_slowRuns.push_back(
                {run.run, trigger.name, cause, std::chrono::duration<double, std::milli>(latency).count()});
            if (m_slowRuns.size() > kSlowRunsKept)
                m_slowRuns.pop_front();
        }
    }
    const auto &row = run.effects[static_cast<std::size_t>(Effect::Aggregation)];
    if (row.asked > 0 && row.done && row.failure.isEmpty())
        ++m_aggregationRuns;
    if (outcome == Outcome::Done && !run.hasActed() && cause.isEmpty() && run.run % kQuietRunsPerRecord != 0) {
        ++m_runsDropped;
        return;
    }
    RunRecord record = runRecord(run, outcome, trigger.id, cause, m_details.take());
    m_details.remember(record.detail);
    if (!record.error.isEmpty())
        statistics.lastError = record.error;
    ++m_runsKept;
    m_records.append(std::move(record));
}

} // namespace gridloom
