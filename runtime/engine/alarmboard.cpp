// SPDX-License-Identifier: Apache-2.0
#include "engine/alarmboard.h"

#include "engine/triggerruns.h"

namespace gridloom {

namespace {
std::vector<AlarmDefinition> systemDefinitions(int firstIndex)
{
    const auto define = [&](const char *id, const char *name, Severity severity, SystemAlarm alarm) {
        AlarmDefinition d;
        d.id = QLatin1String(id);
        d.name = QLatin1String(name);
        d.severity = severity;
        d.index = firstIndex + static_cast<int>(alarm);
        return d;
    };
    return {define("trigger-disabled", "triggerDisabled", Severity::High, SystemAlarm::TriggerDisabled),
            define("state-damaged", "stateDamaged", Severity::High, SystemAlarm::StateDamaged),
            define("history-lost", "historyLost", Severity::Medium, SystemAlarm::HistoryLost),
            define("records-lost", "recordsLost", Severity::High, SystemAlarm::RecordsLost),
            define("not-compensated", "notCompensated", Severity::High, SystemAlarm::NotCompensated),
            define("outbox-filling", "outboxFilling", Severity::Medium, SystemAlarm::OutboxFilling)};
}
} // namespace

AlarmBoard::AlarmBoard(const Design &design, Records &records, StateJournal &journal, Changed changed)
    : m_records(records), m_journal(journal), m_changed(std::move(changed)),
      m_systemDefinitions(systemDefinitions(static_cast<int>(design.alarmList.size())))
{
    std::vector<std::pair<PointHandle, int>> alarmsOf;
    for (const auto &[setId, set] : design.alarms)
        for (const AlarmDefinition &definition : set.alarms) {
            if (m_entries.size() <= static_cast<std::size_t>(definition.index))
                m_entries.resize(static_cast<std::size_t>(definition.index) + 1,
                                 Entry{Alarm(definition), {}, {}, {}, 0});
            m_entries[static_cast<std::size_t>(definition.index)] =
                Entry{Alarm(definition), setId + QLatin1Char('.') + definition.id,
                      set.name + QLatin1Char('.') + definition.name, definition.text, 0};
            if (definition.condition)
                alarmsOf.emplace_back(definition.condition->point, definition.index);
        }
    m_alarmsOf = {static_cast<std::size_t>(design.points.size()), std::move(alarmsOf)};
    for (const AlarmDefinition &definition : m_systemDefinitions)
        m_entries.push_back(Entry{Alarm(definition),
                                  QStringLiteral("system.") + definition.id,
                                  QStringLiteral("system.") + definition.name,
                                  {},
                                  0});
    for (Entry &entry : m_entries)
        entry.stateKey = alarmStateKey(entry.id);
    restore();
}

// Its transitions are durable and say what an alarm is in; the journal adds what they do not say.
void AlarmBoard::restore()
{
    const std::map<QString, QByteArray> states = m_records.states();
    std::map<QString, AlarmTransition> open;
    for (AlarmTransition &transition : m_records.openAlarms())
        open[transition.alarmId] = std::move(transition);
    for (Entry &entry : m_entries) {
        const auto state = states.find(entry.stateKey);
        const QByteArray saved = state == states.end() ? QByteArray() : state->second;
        const auto last = open.find(entry.id);
        if (last == open.end()) {
            entry.alarm.restore(AlarmState::Normal, std::nullopt, saved);
            continue;
        }
        entry.alarm.restore(alarmStateNamed(last->second.to).value_or(AlarmState::Normal), last->second.time, saved);
        entry.text = last->second.text;
        open.erase(last);
    }
    for (auto &[id, transition] : open)
        m_gone.push_back(std::move(transition));
}

void AlarmBoard::start(WallTime wall)
{
    for (AlarmTransition &transition : m_gone) {
        transition.from = std::exchange(transition.to, alarmStateName(AlarmState::Normal));
        transition.time = wall;
        transition.text = QStringLiteral("The alarm is no longer in the design.");
        m_ledger.offer();
        m_waiting.push_back({m_records.append(transition), 0, true});
    }
    m_gone.clear();
    clearSystem(SystemAlarm::TriggerDisabled, wall);
    clearSystem(SystemAlarm::StateDamaged, wall);
    std::vector<QString> keys;
    for (const Entry &entry : m_entries)
        keys.push_back(entry.stateKey);
    m_journal.removeOthers(QStringLiteral("alarm/"), std::move(keys));
}

void AlarmBoard::save(std::size_t alarm, SteadyTime now)
{
    m_buffer.resize(0); // keeps its memory
    m_entries[alarm].alarm.save(m_buffer, now);
    m_journal.write(m_entries[alarm].stateKey, m_buffer);
}

void AlarmBoard::pointSampled(PointHandle point, const ImageSlot &slot, SteadyTime now, WallTime wall)
{
    for (const int alarm : m_alarmsOf[point])
        evaluate(alarm, slot, now, wall);
}

void AlarmBoard::lookAgain(int alarm, const PointStore &points, SteadyTime now, WallTime wall)
{
    const auto &condition = m_entries[static_cast<std::size_t>(alarm)].alarm.definition().condition;
    if (condition)
        evaluate(alarm, points.at(condition->point), now, wall);
}

void AlarmBoard::evaluate(int alarm, const ImageSlot &slot, SteadyTime now, WallTime wall)
{
    Entry &entry = m_entries[static_cast<std::size_t>(alarm)];
    const auto before = entry.alarm.nextDue();
    if (const auto change = entry.alarm.evaluate(slot, now, wall))
        journal(entry, *change, slot.value.toText(), 0, wall);
    const auto due = entry.alarm.nextDue();
    if (due && due != before)
        m_dues.emplace_back(*due, alarm);
}

bool AlarmBoard::act(int alarm, bool isRaise, const QByteArray &text, std::uint64_t run, WallTime wall)
{
    Entry &entry = m_entries[static_cast<std::size_t>(alarm)];
    if (!text.isEmpty())
        entry.text = QString::fromUtf8(text);
    const auto change = isRaise ? entry.alarm.raise(wall) : entry.alarm.clear(wall);
    if (change) {
        journal(entry, *change, {}, run, wall);
        return true;
    }
    if (entry.lastRecord <= m_committed)
        return false;
    const auto later =
        std::find_if(m_waiting.begin(), m_waiting.end(), [&](const Waiting &w) { return w.number > entry.lastRecord; });
    m_waiting.insert(later, {entry.lastRecord, run, false});
    return true;
}

bool AlarmBoard::acknowledge(int alarm, WallTime wall)
{
    Entry &entry = m_entries[static_cast<std::size_t>(alarm)];
    const auto change = entry.alarm.acknowledge(wall);
    if (change)
        journal(entry, *change, {}, 0, wall);
    return change.has_value();
}

void AlarmBoard::raiseSystem(SystemAlarm alarm, const QString &text, WallTime wall)
{
    Entry &entry = systemEntry(alarm);
    entry.text = text;
    if (const auto change = entry.alarm.raise(wall))
        journal(entry, *change, {}, 0, wall);
}

void AlarmBoard::clearSystem(SystemAlarm alarm, WallTime wall)
{
    Entry &entry = systemEntry(alarm);
    if (!entry.alarm.isActive())
        return;
    if (const auto change = entry.alarm.clear(wall))
        journal(entry, *change, {}, 0, wall);
}

AlarmBoard::Entry &AlarmBoard::systemEntry(SystemAlarm alarm)
{
    return m_entries[m_entries.size() - kSystemAlarms + static_cast<std::size_t>(alarm)];
}

void AlarmBoard::journal(Entry &entry, const AlarmChange &change, const QByteArray &value, std::uint64_t run,
                         WallTime wall)
{
    AlarmTransition transition;
    transition.alarmId = entry.id;
    transition.from = alarmStateName(change.from);
    transition.to = alarmStateName(change.to);
    transition.severity = entry.alarm.definition().severity;
    transition.time = wall;
    transition.text = entry.text;
    transition.value = value;
    transition.run = run;
    m_ledger.offer();
    const RecordNumber number = m_records.append(transition);
    entry.lastRecord = number;
    m_waiting.push_back({number, run, true});
    m_changed(entry, transition);
}

void AlarmBoard::committed(const Records::CommitReport &report, SteadyTime at, TriggerRuns &runs)
{
    m_committed = std::max(m_committed, report.last);
    while (!m_waiting.empty() && m_waiting.front().number <= report.last) {
        const Waiting waiting = m_waiting.front();
        m_waiting.pop_front();
        if (waiting.isTransition)
            m_ledger.finish(report.result ? Outcome::Done : Outcome::Failed);
        if (waiting.run != 0)
            runs.effectEnded(waiting.run, Effect::Alarm, at, report.result ? QString() : report.result.error().message);
    }
}

void AlarmBoard::abandonWaiting()
{
    for (const Waiting &waiting : std::exchange(m_waiting, {}))
        if (waiting.isTransition)
            m_ledger.finish(Outcome::Failed);
}

} // namespace gridloom
