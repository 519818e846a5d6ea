// SPDX-License-Identifier: Apache-2.0
// Alarm: the state machine of one alarm, after ISA-18.2 (ANSI/ISA-18.2-2016, figure 3): Normal, Unacknowledged,
// Acknowledged, ReturnToNormalUnacknowledged. Engine thread. Pure: time comes in as a parameter.
#pragma once

#include "core/design/design.h"
#include "core/processimage.h"

#include <optional>

namespace gridloom {

enum class AlarmState : std::uint8_t { Normal, Unacknowledged, Acknowledged, ReturnToNormalUnacknowledged };
/// "Normal", "Unacknowledged", "Acknowledged", "ReturnToNormal-Unacknowledged".
QString alarmStateName(AlarmState state);
std::optional<AlarmState> alarmStateNamed(const QString &name);
bool isActive(AlarmState state);         ///< the condition holds
QString severityText(Severity severity); ///< "Diagnostic", "Low", "Medium", "High", "Critical"

struct AlarmChange {
    AlarmState from = AlarmState::Normal;
    AlarmState to = AlarmState::Normal;
};

class Alarm {
public:
    explicit Alarm(const AlarmDefinition &definition) : m_definition(&definition) {}

    const AlarmDefinition &definition() const { return *m_definition; }
    AlarmState state() const { return m_state; }
    bool isActive() const { return gridloom::isActive(m_state); }
    std::uint64_t occurrences() const { return m_occurrences; } ///< raises, repeated ones included
    WallTime since() const { return m_since; }                  ///< of the last transition

    /// Looks at the condition's point. High begins above the limit and ends below limit - deadband (without a deadband:
    /// at the limit); Low mirrors it. A bad value leaves High, Low, Equals and NotEquals as they are and holds their
    /// delays. A point that has not been read yet is not Bad; it is Stale once it stayed so for maxAge.
    /// onDelay and offDelay run on the monotonic clock. At most one transition.
    std::optional<AlarmChange> evaluate(const ImageSlot &slot, SteadyTime now, WallTime wall);
    /// When evaluate() must be called again although no sample came (a delay ends, a value becomes stale). For
    /// Stale it may come early: it does not move with each sample, evaluate() sets the next one.
    std::optional<SteadyTime> nextDue() const { return m_nextDue; }

    /// By a trigger. A repeated raise only updates the occurrence (and the text), a repeated clear does nothing.
    std::optional<AlarmChange> raise(WallTime wall);
    std::optional<AlarmChange> clear(WallTime wall);
    /// By an operator; does nothing when there is nothing to acknowledge.
    std::optional<AlarmChange> acknowledge(WallTime wall);

    /// Appends what its transitions do not say: occurrences, and how much of a delay has passed; nothing when it has
    /// neither.
    void save(QByteArray &out, SteadyTime now) const;
    /// Before the first evaluate(): goes on from its last transition (`since` is not known of a Normal one), and from
    /// what save() wrote at some time before or after that; other bytes count as none. The time in between is no part
    /// of a delay.
    void restore(AlarmState state, std::optional<WallTime> since, QByteArrayView saved);

private:
    AlarmChange transit(AlarmState to, WallTime wall);
    AlarmChange activate(WallTime wall);
    AlarmChange deactivate(WallTime wall);
    /// Nothing: the point does not say.
    std::optional<bool> conditionHolds(const ImageSlot &slot, SteadyTime now) const;
    std::optional<bool> compares(const Value &value) const;
    SteadyTime staleFrom(const ImageSlot &slot) const;
    void watchAge(const ImageSlot &slot, SteadyTime now);

    const AlarmDefinition *m_definition;
    AlarmState m_state = AlarmState::Normal;
    std::optional<SteadyTime> m_pendingSince;    ///< the condition differs from the state since
    std::chrono::nanoseconds m_pendingBefore{0}; ///< time of the delay that passed before a bad value held it
    std::optional<SteadyTime> m_watchedSince;    ///< first evaluate()
    std::optional<SteadyTime> m_nextDue;
    WallTime m_since{};
    std::uint64_t m_occurrences = 0;
};

} // namespace gridloom
