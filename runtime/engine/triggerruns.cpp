// SPDX-License-Identifier: Apache-2.0
#include "engine/triggerruns.h"

#include "core/json.h"

namespace gridloom {

namespace {
std::int64_t usSince(SteadyTime from, const std::optional<SteadyTime> &to)
{
    return to ? std::chrono::duration_cast<std::chrono::microseconds>(*to - from).count() : -1;
}

QString outcomeName(const TriggerRun &run, Outcome outcome)
{
    switch (outcome) {
    case Outcome::Done: return QStringLiteral("Ok");
    case Outcome::Failed: return QStringLiteral("Failed");
    case Outcome::TimedOut: return QStringLiteral("TimedOut");
    case Outcome::Discarded: break;
    }
    return run.started ? QStringLiteral("Discarded") : QStringLiteral("Skipped");
}

QByteArray runDetail(const TriggerRun &run, const QString &cause, QByteArray buffer)
{
    static constexpr std::array<std::string_view, kEffects> kNames = {"control", "alarm", "mqtt", "aggregation"};
    JsonWriter w(std::move(buffer));
    w.beginObject();
    if (!cause.isEmpty())
        w.key("cause").string(QStringView(cause));
    for (std::size_t i = 0; i < kEffects; ++i) {
        const auto &state = run.effects[i];
        // One that was confirmed once: its stage says it all.
        if (state.asked == 0 || (state.asked == 1 && state.open == 0 && state.failure.isEmpty()))
            continue;
        w.key(kNames[i]).beginObject().key("asked").integer(state.asked);
        if (state.open > 0)
            w.key("open").integer(state.open);
        if (!state.failure.isEmpty())
            w.key("failure").string(QStringView(state.failure));
        w.endObject();
    }
    if (run.coordinationAsked > 0)
        w.key("coordination").beginObject().key("asked").integer(run.coordinationAsked).endObject();
    if (!run.log.empty()) {
        w.key("log").beginArray();
        for (const QByteArray &line : run.log)
            w.string(std::string_view(line.constData(), static_cast<std::size_t>(line.size())));
        w.endArray();
    }
    if (run.logCut > 0)
        w.key("logCut").unsignedInteger(run.logCut);
    w.endObject();
    return w.take();
}
} // namespace

QString effectName(Effect effect)
{
    switch (effect) {
    case Effect::Control: return QStringLiteral("control");
    case Effect::Alarm: return QStringLiteral("alarm");
    case Effect::Mqtt: return QStringLiteral("mqtt");
    case Effect::Aggregation: break;
    }
    return QStringLiteral("aggregation");
}

bool TriggerRun::hasActed() const
{
    return coordinationAsked > 0
        || std::any_of(effects.begin(), effects.end(), [](const EffectState &e) { return e.asked > 0; });
}

int TriggerRun::openEffects() const
{
    int open = 0;
    for (const EffectState &e : effects)
        open += e.open;
    return open;
}

void TriggerRuns::begin(std::uint64_t run, int trigger, SteadyTime due, WallTime dueWall, SteadyTime begun,
                        bool wasEngineIdle)
{
    TriggerRun &r = m_runs[run];
    r.run = run;
    r.trigger = trigger;
    r.due = due;
    r.dueWall = dueWall;
    r.begun = begun;
    r.wasEngineIdle = wasEngineIdle;
    m_deadlines.add(due + m_deadline, run);
}

TriggerRun *TriggerRuns::scriptEnded(std::uint64_t run, const ScriptResult &result, SteadyTime started,
                                     SteadyTime ended)
{
    const auto it = m_runs.find(run);
    if (it == m_runs.end())
        return nullptr;
    TriggerRun &r = it->second;
    r.started = started;
    r.evaluated = ended;
    r.script = result.outcome;
    r.error = result.error;
    r.log = result.log;
    r.logCut = result.logCut;
    return &r;
}

void TriggerRuns::effectAsked(std::uint64_t run, Effect effect)
{
    const auto it = m_runs.find(run);
    if (it == m_runs.end())
        return;
    auto &state = it->second.effects[static_cast<std::size_t>(effect)];
    ++state.asked;
    ++state.open;
}

void TriggerRuns::coordinationAsked(std::uint64_t run)
{
    if (const auto it = m_runs.find(run); it != m_runs.end())
        ++it->second.coordinationAsked;
}

void TriggerRuns::issued(std::uint64_t run, SteadyTime now)
{
    const auto it = m_runs.find(run);
    if (it == m_runs.end())
        return;
    it->second.isIssued = true;
    endIfComplete(run, now);
}

void TriggerRuns::effectEnded(std::uint64_t run, Effect effect, SteadyTime at, const QString &failure)
{
    const auto it = m_runs.find(run);
    if (it == m_runs.end())
        return;
    auto &state = it->second.effects[static_cast<std::size_t>(effect)];
    if (state.open == 0)
        return;
    --state.open;
    if (!failure.isEmpty()) {
        if (state.failure.isEmpty())
            state.failure = failure;
    } else if (!state.done || *state.done < at) {
        state.done = at;
    }
    endIfComplete(run, at);
}

void TriggerRuns::endIfComplete(std::uint64_t run, SteadyTime at)
{
    const TriggerRun &r = m_runs.at(run);
    if (!r.isIssued || r.openEffects() > 0)
        return;
    Outcome outcome = Outcome::Done;
    if (r.script == ScriptOutcome::TimedOut) {
        outcome = Outcome::TimedOut;
    } else if (r.script == ScriptOutcome::Failed
               || std::any_of(r.effects.begin(), r.effects.end(), [](const auto &e) { return !e.failure.isEmpty(); })) {
        outcome = Outcome::Failed;
    }
    end(run, outcome, at);
}

void TriggerRuns::end(std::uint64_t run, Outcome outcome, SteadyTime at)
{
    auto node = m_runs.extract(run);
    TriggerRun &r = node.mapped();
    // The last confirmation may carry an earlier stamp than the event that ended the run.
    r.ended = at;
    for (const auto &effect : r.effects)
        if (effect.done && *effect.done > r.ended)
            r.ended = *effect.done;
    m_ended(r, outcome);
}

void TriggerRuns::expire(SteadyTime now)
{
    while (const auto item = m_deadlines.take(now)) {
        const std::uint64_t run = item->second;
        const auto it = m_runs.find(run);
        if (it == m_runs.end())
            continue;
        if (it->second.error.isEmpty()) {
            for (std::size_t i = 0; i < kEffects; ++i)
                if (it->second.effects[i].open > 0)
                    it->second.error = QStringLiteral("stage \"%1\" was not confirmed in time")
                                           .arg(effectName(static_cast<Effect>(i)));
            if (it->second.error.isEmpty())
                it->second.error = QStringLiteral("the script did not get a worker in time");
        }
        end(run, Outcome::TimedOut, now);
    }
}

std::optional<SteadyTime> TriggerRuns::nextDeadline() const
{
    return m_runs.empty() ? std::nullopt : m_deadlines.next();
}

void TriggerRuns::abandon(SteadyTime now)
{
    while (!m_runs.empty())
        end(m_runs.begin()->first, Outcome::Discarded, now);
    m_deadlines.clear();
}

RunRecord runRecord(const TriggerRun &run, Outcome outcome, const QString &triggerId, const QString &cause,
                    QByteArray buffer)
{
    RunRecord record;
    record.run = run.run;
    record.triggerId = triggerId;
    record.outcome = outcomeName(run, outcome);
    record.error = run.error;
    for (std::size_t i = 0; i < kEffects && record.error.isEmpty(); ++i)
        if (!run.effects[i].failure.isEmpty())
            record.error = effectName(static_cast<Effect>(i)) + QStringLiteral(": ") + run.effects[i].failure;
    record.due = run.dueWall;
    record.startUs = usSince(run.due, run.started);
    record.evalUs = usSince(run.due, run.evaluated);
    const auto effectUs = [&](Effect e) { return usSince(run.due, run.effects[static_cast<std::size_t>(e)].done); };
    record.controlUs = effectUs(Effect::Control);
    record.alarmUs = effectUs(Effect::Alarm);
    record.mqttUs = effectUs(Effect::Mqtt);
    record.aggregationUs = effectUs(Effect::Aggregation);
    record.doneUs = usSince(run.due, run.ended);
    record.detail = runDetail(run, cause, std::move(buffer));
    return record;
}

QString slowestStage(const TriggerRun &run)
{
    static const std::array<QString, kEffects> kCauses = {QStringLiteral("device"), QStringLiteral("fsync"),
                                                          QStringLiteral("broker"), QStringLiteral("store")};
    Nanoseconds longest = run.begun - run.due;
    QString cause = run.wasEngineIdle ? QStringLiteral("scheduler") : QStringLiteral("engine");
    const auto consider = [&](Nanoseconds stage, const QString &name) {
        if (stage > longest) {
            longest = stage;
            cause = name;
        }
    };
    consider(run.started.value_or(run.ended) - run.begun, QStringLiteral("queue"));
    if (!run.started || !run.evaluated)
        return cause;
    consider(*run.evaluated - *run.started, QStringLiteral("lua"));
    for (std::size_t i = 0; i < kEffects; ++i) {
        const auto &effect = run.effects[i];
        if (effect.asked > 0)
            consider((effect.open > 0 || !effect.done ? run.ended : *effect.done) - *run.evaluated, kCauses[i]);
    }
    return cause;
}

} // namespace gridloom
