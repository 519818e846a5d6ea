// SPDX-License-Identifier: Apache-2.0
// AlarmBoard: all alarms of the running design and of the system itself, and the journal of their transitions.
// Engine thread. A transition is done when its group commit is durable.
#pragma once

#include "core/alarm/alarm.h"
#include "core/ledger.h"
#include "core/processimage.h"
#include "engine/listsbypoint.h"
#include "engine/statejournal.h"
#include "sdk/records.h"

#include <deque>
#include <functional>
#include <vector>

namespace gridloom {

class TriggerRuns;

/// Alarms of the system itself, after those of the design.
enum class SystemAlarm : std::uint8_t {
    TriggerDisabled,
    StateDamaged,
    HistoryLost,
    RecordsLost,
    NotCompensated,
    OutboxFilling
};
inline constexpr int kSystemAlarms = 6;

class AlarmBoard {
public:
    struct Entry {
        Alarm alarm;
        QString id;   ///< "set-id.alarm-id"
        QString name; ///< "set.alarm"
        QString text;
        RecordNumber lastRecord = 0; ///< of its newest transition
        QString stateKey{};          ///< in the StateJournal
    };
    /// Told of each transition, after it was appended to the journal.
    using Changed = std::function<void(const Entry &, const AlarmTransition &)>;

    /// Goes on with the alarms that earlier runs left open. `design`, `records` and `journal` outlive the board.
    AlarmBoard(const Design &design, Records &records, StateJournal &journal, Changed changed);

    /// Ends what was left open and cannot hold any more: alarms that have left the design, and those of the system
    /// that each start looks at anew.
    void start(WallTime wall);

    /// A sample of the point came in.
    void pointSampled(PointHandle point, const ImageSlot &slot, SteadyTime now, WallTime wall);
    /// Delays and staleness: looks at one alarm again, with its point's slot.
    void lookAgain(int alarm, const PointStore &points, SteadyTime now, WallTime wall);
    /// What lookAgain() must be called for, and when; filled by every call above. The caller takes it.
    std::vector<std::pair<SteadyTime, int>> takeDues() { return std::exchange(m_dues, {}); }
    /// By a trigger's run. True: committed() will tell the run when the alarm's state is durable. False: it was in that
    /// state already, and that is durable.
    bool act(int alarm, bool isRaise, const QByteArray &text, std::uint64_t run, WallTime wall);
    /// By an operator. False: there is nothing to acknowledge.
    bool acknowledge(int alarm, WallTime wall);
    void raiseSystem(SystemAlarm alarm, const QString &text, WallTime wall);
    void clearSystem(SystemAlarm alarm, WallTime wall);

    /// A group commit ended; runs that waited for it are told.
    void committed(const Records::CommitReport &report, SteadyTime at, TriggerRuns &runs);
    /// The records are closed: transitions whose commit was never reported end as Failed.
    void abandonWaiting();

    /// Writes to the journal what of an alarm its transitions do not say.
    void save(std::size_t alarm, SteadyTime now);

    const Ledger &ledger() const { return m_ledger; }
    const std::vector<Entry> &entries() const { return m_entries; }

private:
    void restore();
    Entry &systemEntry(SystemAlarm alarm);
    void journal(Entry &entry, const AlarmChange &change, const QByteArray &value, std::uint64_t run, WallTime wall);
    void evaluate(int alarm, const ImageSlot &slot, SteadyTime now, WallTime wall);

    Records &m_records;
    StateJournal &m_journal;
    Changed m_changed;
    std::vector<AlarmDefinition> m_systemDefinitions;
    std::vector<Entry> m_entries; ///< by alarm index, the system's last
    ListsByPoint<int> m_alarmsOf;
    struct Waiting {
        RecordNumber number;
        std::uint64_t run;
        bool isTransition; ///< else a run that found the state of that record
    };
    std::deque<Waiting> m_waiting; ///< for their commit, in order
    std::vector<std::pair<SteadyTime, int>> m_dues;
    RecordNumber m_committed = 0;        ///< everything up to it has been reported
    std::vector<AlarmTransition> m_gone; ///< left open by alarms that are not in the design, until start()
    QByteArray m_buffer;
    Ledger m_ledger;
};

} // namespace gridloom
