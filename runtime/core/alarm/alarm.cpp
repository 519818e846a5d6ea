// SPDX-License-Identifier: Apache-2.0
#include "core/alarm/alarm.h"

#include "core/history/frames.h"

namespace gridloom {

using Kind = AlarmCondition::Kind;

namespace {
constexpr std::uint8_t kSavedFormat = 1;
}

QString alarmStateName(AlarmState state)
{
    switch (state) {
    case AlarmState::Normal: return QStringLiteral("Normal");
    case AlarmState::Unacknowledged: return QStringLiteral("Unacknowledged");
    case AlarmState::Acknowledged: return QStringLiteral("Acknowledged");
    case AlarmState::ReturnToNormalUnacknowledged: return QStringLiteral("ReturnToNormal-Unacknowledged");
    }
    return {};
}

std::optional<AlarmState> alarmStateNamed(const QString &name)
{
    for (const AlarmState state : {AlarmState::Normal, AlarmState::Unacknowledged, AlarmState::Acknowledged,
                                   AlarmState::ReturnToNormalUnacknowledged})
        if (name == alarmStateName(state))
            return state;
    return std::nullopt;
}

bool isActive(AlarmState state)
{
    return state == AlarmState::Unacknowledged || state == AlarmState::Acknowledged;
}

QString severityText(Severity severity)
{
    switch (severity) {
    case Severity::Diagnostic: return QStringLiteral("Diagnostic");
    case Severity::Low: return QStringLiteral("Low");
    case Severity::Medium: return QStringLiteral("Medium");
    case Severity::High: return QStringLiteral("High");
    case Severity::Critical: return QStringLiteral("Critical");
    }
    return {};
}

std::optional<AlarmChange> Alarm::evaluate(const ImageSlot &slot, SteadyTime now, WallTime wall)
{
    if (!m_definition->condition)
        return std::nullopt;
    if (!m_watchedSince)
        m_watchedSince = now;
    const auto holds = conditionHolds(slot, now);
    if (!holds) {
        if (m_pendingSince)
            m_pendingBefore += now - *m_pendingSince;
        m_pendingSince.reset();
        m_nextDue.reset();
        return std::nullopt;
    }
    if (*holds == isActive()) {
        m_pendingSince.reset();
        m_pendingBefore = {};
        watchAge(slot, now);
        return std::nullopt;
    }
    if (!m_pendingSince)
        m_pendingSince = now;
    const Milliseconds delay = *holds ? m_definition->onDelay : m_definition->offDelay;
    const SteadyTime ends = *m_pendingSince + (delay - m_pendingBefore);
    if (now < ends) {
        m_nextDue = ends;
        return std::nullopt;
    }
    const AlarmChange change = *holds ? activate(wall) : deactivate(wall);
    watchAge(slot, now);
    return change;
}

std::optional<bool> Alarm::conditionHolds(const ImageSlot &slot, SteadyTime now) const
{
    const bool isUnread = slot.quality == Quality::BadWaitingForInitialData;
    switch (m_definition->condition->kind) {
    case Kind::Bad: return isUnread ? std::nullopt : std::optional(isBad(slot.quality));
    case Kind::Stale: return (!isUnread && !isGood(slot.quality)) || now >= staleFrom(slot);
    default: return isBad(slot.quality) ? std::nullopt : compares(slot.value);
    }
}

std::optional<bool> Alarm::compares(const Value &value) const
{
    const AlarmCondition &condition = *m_definition->condition;
    const bool hasHysteresis = isActive() && condition.deadband > 0.0;
    switch (condition.kind) {
    case Kind::High:
    case Kind::Low: {
        const int beyond = condition.kind == Kind::High ? 1 : -1;
        const double limit = condition.limit - (hasHysteresis ? beyond * condition.deadband : 0.0);
        const auto order = compareNumbers(value, Value(limit));
        if (!order)
            return std::nullopt;
        return hasHysteresis ? *order != -beyond : *order == beyond;
    }
    case Kind::Equals:
    case Kind::NotEquals: {
        const auto order = compareNumbers(value, Value(condition.limit));
        if (!order)
            return std::nullopt;
        return (*order == 0) == (condition.kind == Kind::Equals);
    }
    case Kind::Bad:
    case Kind::Stale: break;
    }
    return std::nullopt;
}

/// The first moment at which the slot's value is older than maxAge; without a maxAge only the quality counts.
SteadyTime Alarm::staleFrom(const ImageSlot &slot) const
{
    const Milliseconds maxAge = m_definition->condition->maxAge;
    if (maxAge.count() <= 0)
        return SteadyTime::max();
    const bool isUnread = slot.quality == Quality::BadWaitingForInitialData;
    return (isUnread ? *m_watchedSince : slot.gatewayTime) + maxAge + std::chrono::nanoseconds(1);
}

/// Sets the next due time while state and condition agree: only a Stale condition changes by itself.
void Alarm::watchAge(const ImageSlot &slot, SteadyTime now)
{
    const SteadyTime stale = m_definition->condition->kind == Kind::Stale ? staleFrom(slot) : SteadyTime::max();
    if (isActive() || stale == SteadyTime::max())
        m_nextDue.reset();
    else if (!m_nextDue || *m_nextDue <= now || *m_nextDue > stale)
        m_nextDue = stale;
}

std::optional<AlarmChange> Alarm::raise(WallTime wall)
{
    if (!isActive())
        return activate(wall);
    ++m_occurrences;
    return std::nullopt;
}

std::optional<AlarmChange> Alarm::clear(WallTime wall)
{
    if (!isActive())
        return std::nullopt;
    return deactivate(wall);
}

std::optional<AlarmChange> Alarm::acknowledge(WallTime wall)
{
    switch (m_state) {
    case AlarmState::Unacknowledged: return transit(AlarmState::Acknowledged, wall);
    case AlarmState::ReturnToNormalUnacknowledged: return transit(AlarmState::Normal, wall);
    case AlarmState::Normal:
    case AlarmState::Acknowledged: break;
    }
    return std::nullopt;
}

AlarmChange Alarm::activate(WallTime wall)
{
    ++m_occurrences;
    m_pendingSince.reset();
    m_pendingBefore = {};
    return transit(AlarmState::Unacknowledged, wall);
}

AlarmChange Alarm::deactivate(WallTime wall)
{
    m_pendingSince.reset();
    m_pendingBefore = {};
    return transit(m_state == AlarmState::Acknowledged ? AlarmState::Normal : AlarmState::ReturnToNormalUnacknowledged,
                   wall);
}

AlarmChange Alarm::transit(AlarmState to, WallTime wall)
{
    const AlarmChange change{m_state, to};
    m_state = to;
    m_since = wall;
    return change;
}

// byte 1 (format) | byte state | svarint since (us) | varint occurrences | varint passed part of a delay (ns)
void Alarm::save(QByteArray &out, SteadyTime now) const
{
    const auto passed = m_pendingBefore + (m_pendingSince ? now - *m_pendingSince : std::chrono::nanoseconds(0));
    if (m_occurrences == 0 && passed.count() == 0)
        return;
    FrameWriter w(out);
    w.byte(kSavedFormat);
    w.byte(static_cast<std::uint8_t>(m_state));
    w.signedVarint(m_since.time_since_epoch().count());
    w.varint(m_occurrences);
    w.varint(static_cast<std::uint64_t>(passed.count()));
}

void Alarm::restore(AlarmState state, std::optional<WallTime> since, QByteArrayView saved)
{
    m_state = state;
    m_since = since.value_or(WallTime{});
    m_occurrences = isActive() ? 1 : 0;
    FieldReader r(saved);
    const bool isKnown = r.byte() == kSavedFormat;
    const auto savedState = static_cast<AlarmState>(r.byte());
    const WallTime savedSince{std::chrono::microseconds(r.signedVarint())};
    const std::uint64_t occurrences = r.varint();
    const std::chrono::nanoseconds passed{static_cast<std::int64_t>(r.varint())};
    if (!isKnown || !r.isOk() || !r.atEnd())
        return;
    // A transition that came later began or ended the delay; when it was a raise, that was one more.
    const bool isOlder = savedState != state || (since && savedSince != *since);
    m_occurrences = occurrences + (isOlder && state == AlarmState::Unacknowledged ? 1 : 0);
    if (!isOlder) {
        m_since = savedSince;
        m_pendingBefore = passed;
    }
}

} // namespace gridloom
