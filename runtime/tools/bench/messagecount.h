// SPDX-License-Identifier: Apache-2.0
// MessageCount: counts what a subscriber to gridloom/v1/# received. Pure.
#pragma once

#include <QByteArray>

#include <cstdint>
#include <unordered_set>

namespace gridloom {

class MessageCount {
public:
    /// Counts messages of QoS >= 1, each payload "id" once. Messages to .../status are the sink's own (last will) and
    /// in no account.
    void add(const QByteArray &topic, const QByteArray &payload, int qos);

    std::uint64_t messages() const { return m_ids.size() + m_withoutId; }
    std::uint64_t duplicates() const { return m_duplicates; }

private:
    std::unordered_set<std::string> m_ids;
    std::uint64_t m_withoutId = 0; ///< breaks the rule that each payload has one; still a message
    std::uint64_t m_duplicates = 0;
};

} // namespace gridloom
