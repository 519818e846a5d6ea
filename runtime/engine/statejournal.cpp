// SPDX-License-Identifier: Apache-2.0
#include "engine/statejournal.h"

namespace gridloom {

namespace {
constexpr std::size_t kUnknown = 1;

std::size_t hashOf(QByteArrayView value)
{
    return value.isEmpty() ? 0 : qHashBits(value.data(), static_cast<std::size_t>(value.size())) | 2U;
}
} // namespace

QString windowStateKey(const QString &setId, const Aggregation &aggregation)
{
    return QStringLiteral("window/") + setId + QLatin1Char('.') + aggregation.id;
}

QString scriptStateKey(const Trigger &trigger)
{
    return QStringLiteral("script/") + trigger.id;
}

QString alarmStateKey(const QString &alarmId)
{
    return QStringLiteral("alarm/") + alarmId;
}

StateJournal::StateJournal(Records &records) : m_records(records)
{
    for (const auto &[key, value] : records.states())
        m_written[key] = hashOf(value);
}

void StateJournal::write(const QString &key, QByteArrayView value)
{
    const std::size_t hash = hashOf(value);
    std::size_t &written = m_written[key]; // 0 when it was never heard of: nothing is kept
    if (written == hash)
        return;
    written = hash;
    m_records.append(StateRecord{key, value.toByteArray()});
}

void StateJournal::removeOthers(const QString &folder, std::vector<QString> keys)
{
    std::sort(keys.begin(), keys.end());
    std::erase_if(m_written, [&](const auto &item) {
        const auto &[key, hash] = item;
        if (!key.startsWith(folder) || std::binary_search(keys.begin(), keys.end(), key))
            return false;
        if (hash != 0)
            m_records.append(StateRecord{key, {}});
        return true;
    });
}

void StateJournal::commitFailed()
{
    for (auto &[key, hash] : m_written)
        hash = kUnknown;
}

} // namespace gridloom
