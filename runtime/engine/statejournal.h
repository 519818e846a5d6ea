// SPDX-License-Identifier: Apache-2.0
// StateJournal: what outlives a restart, by keys of stable ids ("window/SET.AGG", "script/TRIGGER", "alarm/SET.ALARM").
// It knows what is on record and appends only what has changed. Engine thread.
#pragma once

#include "core/design/design.h"
#include "sdk/records.h"

#include <unordered_map>

namespace gridloom {

QString windowStateKey(const QString &setId, const Aggregation &aggregation);
QString scriptStateKey(const Trigger &trigger);
QString alarmStateKey(const QString &alarmId); ///< of "set-id.alarm-id"

class StateJournal {
public:
    /// Knows what earlier runs left. `records` outlive it.
    explicit StateJournal(Records &records);

    /// Appends the value, when it is not what was written last. Empty: there is nothing to keep any more.
    void write(const QString &key, QByteArrayView value);
    /// Removes what is kept below `folder` ("script/") for anything else than `keys`: it has left the design.
    void removeOthers(const QString &folder, std::vector<QString> keys);
    /// A group commit failed: everything counts as changed.
    void commitFailed();

private:
    Records &m_records;
    std::unordered_map<QString, std::size_t> m_written; ///< hash of the value, by key; 0 of an empty one
};

} // namespace gridloom
