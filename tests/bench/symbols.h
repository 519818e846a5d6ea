// SPDX-License-Identifier: Apache-2.0
// Symbols: names for code addresses of another process, by addr2line(1). One thread; blocking.
#pragma once

#include <QByteArray>
#include <QHash>
#include <QString>

#include <cstdint>
#include <map>
#include <vector>

namespace gridloom {

class Symbols {
public:
    /// Remembers where the process has its files mapped; call it while it lives.
    void readMaps(qint64 pid);
    /// Looks the addresses up, all of one file at a time.
    void resolve(const std::vector<std::uint64_t> &addresses);
    /// "function at file:line", inlined functions first, separated by " < "; the address in hex when unknown.
    QByteArray text(std::uint64_t address) const;

private:
    struct Mapping {
        std::uint64_t end = 0;
        std::uint64_t fileStart = 0; ///< where the file's first byte is mapped
        QString file;
    };
    std::map<std::uint64_t, Mapping> m_mappings; ///< by start
    QHash<std::uint64_t, QByteArray> m_texts;
};

} // namespace gridloom
