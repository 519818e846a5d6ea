// SPDX-License-Identifier: Apache-2.0
#include "engine/cycle.h"

#include <QLoggingCategory>

namespace gridloom {

namespace {
Q_LOGGING_CATEGORY(lcEngine, "gridloom.engine")

// Half a period off every 100 ms and 1 s schedule.
constexpr std::chrono::milliseconds kStatusPhase{550};
constexpr std::chrono::seconds kSecond{1};
// How late a heartbeat row or a window after a step of the wall clock may be when nothing else wakes the engine.
constexpr std::chrono::milliseconds kHousekeeping{250};
// Real time after which an effect that was not confirmed ends its run, and above which a run is called slow.
constexpr std::chrono::seconds kRunDeadline{10};
constexpr std::chrono::milliseconds kSlowRun{200};
// Of an orderly stop (real time): what a coordination run has left for its steps, so that it can still be taken back.
constexpr std::chrono::seconds kRunsLeft{2};
// Between two slices of a checkpoint.
constexpr std::chrono::milliseconds kCheckpointSlice{5};

Outcome outcomeOf(Quality quality)
{
    switch (quality) {
    case Quality::UncertainLastUsable: return Outcome::Discarded; // the previous poll is not answered yet
    case Quality::BadCommunicationError: return Outcome::TimedOut;
    case Quality::BadNotConnected:
    case Quality::BadConfigurationError:
    case Quality::BadDeviceFailure: return Outcome::Failed;
    default: return Outcome::Done; // the device answered, be it that it has no value
    }
}
} // namespace

Cycle::Cycle(Parts parts)
    : m_parts(std::move(parts)), m_design(m_parts.design), m_points(static_cast<std::size_t>(m_design.points.size())),
      m_statesLeft(m_parts.records.states()), m_checkpointPeriod(m_parts.clock.clockDuration(m_parts.checkpointPeriod)),
      m_journal(m_parts.records),
      m_runs(m_parts.clock.clockDuration(kRunDeadline),
             [this](const TriggerRun &run, Outcome outcome) { m_triggers.runEnded(run, outcome); }),
      m_runNumbers(m_parts.records.nextRun()),
      m_control(m_design, m_parts.outlets, m_parts.records, m_runs, m_parts.clock),
      m_history(m_design, m_parts.outlets), m_outbound(m_design, m_parts.outlets, m_parts.records),
      m_alarms(m_design, m_parts.records, m_journal,
               [this](const AlarmBoard::Entry &entry, const AlarmTransition &transition) {
                   m_outbound.publishAlarm(entry, transition, m_now);
               }),
      m_coordination(m_design, {m_control, m_alarms, m_parts.records, m_runNumbers, m_parts.clock}),
      m_commands(m_design, m_parts.records,
                 {[this](const ControlRequest &request, SteadyTime now, WallTime wall) {
                      m_control.request(request, now, wall);
                  },
                  [this](int alarm, WallTime wall) { return m_alarms.acknowledge(alarm, wall); },
                  [this](const QString &sink, const QByteArray &reply, SteadyTime now, WallTime wall) {
                      m_outbound.reply(sink, reply, now, wall);
                  }}),
      m_triggers(m_design, m_parts.outlets, m_parts.records, m_runs, m_runNumbers,
                 {m_control, m_alarms, m_outbound, m_history, m_coordination,
                  [this](PointHandle point, const Value &value) {
                      takeResult({point, Quality::Good, value, m_wall, m_now});
                  }},
                 m_parts.clock.clockDuration(kSlowRun), {m_journal, m_checkpointPeriod}),
      m_windows(m_design, m_journal, std::chrono::ceil<Milliseconds>(m_checkpointPeriod),
                [this](PointHandle point, const WindowResult &result) {
                    m_history.offerResult(point, result.value, result.quality, result.start);
                    takeResult({point, result.quality, result.value, result.start, m_now});
                }),
      m_checkpoint(m_windows, m_alarms), m_isDirty(m_points.size(), 0)
{
    m_control.onTicketEnded(
        [this](const ControlCommand &command, SteadyTime at) { m_commands.finished(command, at, m_wall); });
    m_windows.restore(m_statesLeft, m_parts.clock.wallNow());
    std::vector<std::pair<PointHandle, PointHandle>> expressionsOf;
    for (const PointHandle computed : m_parts.expressions.order())
        for (const PointHandle input : m_parts.expressions.inputs(computed))
            expressionsOf.emplace_back(input, computed);
    m_expressionsOf = {m_points.size(), std::move(expressionsOf)};
}

void Cycle::start()
{
    m_now = m_parts.clock.steadyNow();
    m_wall = m_parts.clock.wallNow();
    m_windows.start(m_now, m_wall);
    m_alarms.start(m_wall);
    scheduleStatus();
    m_schedule.add(nextOnGrid(m_now, m_checkpointPeriod, Nanoseconds(0)), {Due::Checkpoint, 0});
    m_schedule.add(nextOnGrid(m_now, kHousekeeping, Nanoseconds(0)), {Due::Housekeeping, 0});
    m_outbound.startPublications(m_now);
    m_triggers.start(m_now);
    m_coordination.start(m_statesLeft, m_now, m_wall);
    m_statesLeft.clear();
}

SteadyTime Cycle::step()
{
    ++m_cycles;
    takeEvents();
    evaluateExpressions();
    m_windows.closeDue(m_now, m_wall);
    runDues();
    evaluateExpressions(); // of windows that have just closed
    m_triggers.startDue([this] { return image(); }, m_now, m_wall, m_idleSince);
    m_outbound.publishDue(m_points, m_now, m_wall);
    m_runs.expire(m_now);
    m_coordination.startDue(m_points, m_now, m_wall);
    m_coordination.advance(m_now, m_wall);
    m_control.advance(m_now);
    if (!m_isDraining)
        m_history.heartbeats(m_points, m_now, m_wall);
    m_history.flush(m_now, m_isDraining);
    reportLostRows();
    for (const auto &[due, alarm] : m_alarms.takeDues())
        m_schedule.add(due, {Due::Alarm, alarm});
    m_idleSince = m_parts.clock.steadyNow();
    return nextDue();
}

void Cycle::takeEvents()
{
    m_isImageStale = true;
    m_parts.inbox.drain(m_events);
    m_now = m_parts.clock.steadyNow();
    m_wall = m_parts.clock.wallNow();
    for (EngineEvent &event : m_events)
        handle(event);
    m_events.clear();
}

SteadyTime Cycle::nextDue() const
{
    SteadyTime next = m_now + kSecond;
    for (const auto due : {m_schedule.next(), m_windows.nextDue(), m_triggers.nextDue(), m_outbound.nextPublication(),
                           m_control.nextDue(), m_coordination.nextDue(), m_runs.nextDeadline(), m_history.nextFlush()})
        if (due && *due < next)
            next = *due;
    return next;
}

void Cycle::handle(EngineEvent &event)
{
    if (auto *samples = std::get_if<SamplesArrived>(&event)) {
        countPolls();
        for (const Sample &sample : samples->samples) {
            m_pointLedger.finish(outcomeOf(sample.quality));
            takeSample(sample);
        }
    } else if (auto *script = std::get_if<ScriptFinished>(&event)) {
        m_triggers.scriptFinished(*script, m_now, m_wall);
    } else if (auto *saved = std::get_if<ScriptStateSaved>(&event)) {
        m_triggers.stateSaved(*saved);
    } else if (auto *asked = std::get_if<RecordAsked>(&event)) {
        m_parts.records.append(std::move(asked->record));
    } else if (auto *write = std::get_if<WriteFinished>(&event)) {
        m_control.writeFinished(*write);
    } else if (auto *committed = std::get_if<RecordsCommitted>(&event)) {
        recordsCommitted(*committed);
    } else if (auto *message = std::get_if<MessageEnded>(&event)) {
        m_outbound.ended(*message, m_runs);
    } else if (auto *connected = std::get_if<SinkConnected>(&event)) {
        m_outbound.sinkConnected(connected->sink, m_points, m_now);
    } else if (auto *level = std::get_if<OutboxLevelChanged>(&event)) {
        outboxLevelChanged(*level);
    } else if (auto *command = std::get_if<CommandArrived>(&event)) {
        m_commands.arrived(*command, m_now, m_wall);
    } else if (auto *refused = std::get_if<CommandsBeyondRate>(&event)) {
        m_commands.beyondRate(*refused, m_wall);
    } else if (auto *stored = std::get_if<RowsStored>(&event)) {
        m_history.stored(*stored);
        for (const std::uint64_t run : stored->runs)
            m_runs.effectEnded(run, Effect::Aggregation, stored->at, stored->error);
        if (stored->isStored && stored->isSynced)
            m_alarms.clearSystem(SystemAlarm::HistoryLost, m_wall);
        else if (!stored->isStored)
            m_storeError = stored->error;
    } else if (auto *unsynced = std::get_if<RowsUnsynced>(&event)) {
        m_history.unsynced(*unsynced);
        m_storeError = unsynced->error;
    } else if (auto *health = std::get_if<HealthChanged>(&event)) {
        healthChanged(*health);
    } else if (auto *fault = std::get_if<StateFault>(&event)) {
        qCWarning(lcEngine).noquote() << fault->text;
        m_alarms.raiseSystem(SystemAlarm::StateDamaged, fault->text, m_wall);
    } else if (std::holds_alternative<DrainRequested>(event)) {
        beginDraining();
    }
}

void Cycle::healthChanged(const HealthChanged &event)
{
    EngineSnapshot::Link &link = m_links[event.deviceId];
    if (event.health == LinkHealth::Online && link.health != LinkHealth::Online)
        m_control.deviceReturned(m_design.devices.at(event.deviceId));
    link = {event.deviceId, event.health, event.why};
}

void Cycle::outboxLevelChanged(const OutboxLevelChanged &event)
{
    if (const QString text = m_outbound.levelChanged(event); !text.isEmpty())
        m_alarms.raiseSystem(SystemAlarm::OutboxFilling, text, m_wall);
    else
        m_alarms.clearSystem(SystemAlarm::OutboxFilling, m_wall);
}

void Cycle::recordsCommitted(const RecordsCommitted &event)
{
    m_outbound.committed(event.report);
    m_alarms.committed(event.report, event.at, m_runs);
    m_coordination.committed(event.report, m_now);
    if (event.report.result) {
        if (!event.report.isFromReserve) // else other kinds are refused still
            m_alarms.clearSystem(SystemAlarm::RecordsLost, m_wall);
        return;
    }
    m_journal.commitFailed();
    m_alarms.raiseSystem(SystemAlarm::RecordsLost, event.report.result.error().message, m_wall);
}

void Cycle::reportLostRows()
{
    const std::uint64_t lost = m_history.account().lost;
    if (lost == m_lostRows)
        return;
    m_lostRows = lost;
    m_alarms.raiseSystem(
        SystemAlarm::HistoryLost,
        m_storeError.isEmpty() ? QStringLiteral("The store is too slow: its queue is full.") : m_storeError, m_wall);
    m_storeError.clear();
}

// What fell due is counted by the drivers' threads before they ask, so it is never less than what was answered.
void Cycle::countPolls()
{
    const Outlets::PollCounts now = m_parts.outlets.pollCounts();
    m_pointLedger.offer(now.offered - m_counted.offered);
    m_pointLedger.finish(Outcome::Discarded, now.missed - m_counted.missed + now.dropped - m_counted.dropped);
    m_counted = now;
}

void Cycle::takeSample(const Sample &sample)
{
    m_history.offer(sample);
    takeResult(sample);
}

void Cycle::takeResult(const Sample &sample)
{
    const bool isChanged = m_points.update(sample);
    m_isImageStale = true;
    const ImageSlot &slot = m_points.at(sample.point);
    m_windows.add(sample, m_now, m_wall);
    m_alarms.pointSampled(sample.point, slot, m_now, m_wall);
    m_outbound.pointSampled(sample.point, slot, m_now);
    if (isChanged && !m_isDraining)
        m_triggers.pointChanged(sample.point, slot, m_now);
    for (const PointHandle computed : m_expressionsOf[sample.point]) {
        m_isDirty[computed] = 1;
        m_hasDirty = true;
    }
}

void Cycle::evaluateExpressions()
{
    // A computed value may close a window whose result is the input of another one.
    while (std::exchange(m_hasDirty, false))
        evaluateDirty();
}

void Cycle::evaluateDirty()
{
    for (const PointHandle computed : m_parts.expressions.order()) {
        if (!m_isDirty[computed])
            continue;
        m_isDirty[computed] = 0;
        QString error;
        auto [value, quality] = m_parts.expressions.evaluate(computed, m_points, m_now, error);
        if (!error.isEmpty() && m_points.at(computed).quality != quality)
            qCWarning(lcEngine).noquote() << "Computed point" << m_design.points[computed].name << "failed:" << error;
        // It is as old as the newest of the samples it was computed from.
        SteadyTime newest{};
        WallTime newestWall{};
        for (const PointHandle input : m_parts.expressions.inputs(computed)) {
            newest = std::max(newest, m_points.at(input).gatewayTime);
            newestWall = std::max(newestWall, m_points.at(input).sourceTime);
        }
        takeSample({computed, quality, std::move(value), newestWall, newest});
    }
}

// Once in a real second, also when the clock runs faster.
void Cycle::scheduleStatus()
{
    m_schedule.add(nextOnGrid(m_now, m_parts.clock.clockDuration(kSecond), m_parts.clock.clockDuration(kStatusPhase)),
                   {Due::Status, 0});
}

// A slice at a time.
void Cycle::checkpoint()
{
    const bool isOver = m_checkpoint.slice(m_now);
    m_schedule.add(isOver ? nextOnGrid(m_now, m_checkpointPeriod, Nanoseconds(0)) : m_now + kCheckpointSlice,
                   {Due::Checkpoint, 0});
}

void Cycle::runDues()
{
    while (const auto item = m_schedule.take(m_now)) {
        const auto &[due, key] = *item;
        switch (key.kind) {
        case Due::Alarm: m_alarms.lookAgain(key.index, m_points, m_now, m_wall); break;
        case Due::Status:
            scheduleStatus();
            m_parts.publish(snapshot());
            break;
        case Due::Housekeeping:
            m_schedule.add(nextOnGrid(m_now, kHousekeeping, Nanoseconds(0)), key);
            m_windows.closeEnded(m_now, m_wall);
            break;
        case Due::Checkpoint: checkpoint(); break;
        }
    }
}

std::shared_ptr<const ProcessImage> Cycle::image()
{
    if (m_isImageStale || !m_image)
        m_image = m_points.freeze(m_now, m_wall);
    m_isImageStale = false;
    return m_image;
}

void Cycle::beginDraining()
{
    m_isDraining = true;
    m_triggers.stop();
    m_coordination.drain(m_now + m_parts.clock.clockDuration(kRunsLeft));
    m_outbound.stopPublications();
    m_commands.stop();
    m_parts.outlets.stopPolling();
}

void Cycle::finish()
{
    step();
    m_coordination.abandon(m_now, m_wall);
    m_control.rejectWaiting(m_now);
    m_triggers.abandonWaiting();
    m_history.lastRows(m_points);
    m_history.flush(m_now, true);
}

// Answers only: a window that ended now would find its store closed.
void Cycle::abandonRuns()
{
    takeEvents();
    reportLostRows();
    m_runs.abandon(m_now);
    m_checkpoint.last(m_now);
    m_parts.records.append(NumbersUsed{m_outbound.nextId(), m_runNumbers.next(), m_control.nextCommand()});
}

void Cycle::takeLastCommits()
{
    takeEvents();
    m_alarms.abandonWaiting();
}

EngineSnapshot Cycle::snapshot()
{
    countPolls();
    EngineSnapshot s;
    s.at = m_now;
    s.wall = m_wall;
    s.isDraining = m_isDraining;
    s.points = m_pointLedger;
    s.triggers = m_triggers.ledger();
    s.control = m_control.ledger();
    s.mqtt = m_outbound.messages();
    s.alarms = m_alarms.ledger();
    s.publications = m_outbound.publications();
    s.outsideCommands = m_commands.ledger();
    s.coordination = m_coordination.ledger();
    s.coordinationLatency = m_coordination.latency();
    s.coordinationStatistics = m_coordination.statistics();
    s.coordinationWrites = m_coordination.writes();
    s.trigger = m_triggers.latency();
    s.triggerIssued = m_triggers.issuedLatency();
    s.fastStart = m_triggers.fastStart();
    s.publication = m_outbound.publicationLatency();
    s.commands = m_control.counts();
    s.store = m_history.account();
    s.aggregationRuns = m_triggers.aggregationRuns();
    s.runsKept = m_triggers.runsKept();
    s.runsDropped = m_triggers.runsDropped();
    s.cycles = m_cycles;
    s.slowRuns.assign(m_triggers.slowRuns().begin(), m_triggers.slowRuns().end());
    s.triggerStatistics = m_triggers.statistics();
    for (const AlarmBoard::Entry &entry : m_alarms.entries())
        if (entry.alarm.state() != AlarmState::Normal)
            s.activeAlarms.push_back({entry.id, entry.name, alarmStateName(entry.alarm.state()),
                                      severityText(entry.alarm.definition().severity), entry.text, entry.alarm.since(),
                                      entry.alarm.occurrences()});
    for (const auto &[id, link] : m_links)
        s.links.push_back(link);
    for (const PointHandle point : m_parts.watched)
        s.values.push_back({m_design.points[point].name, m_points.at(point)});
    return s;
}

} // namespace gridloom
