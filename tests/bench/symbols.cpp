// SPDX-License-Identifier: Apache-2.0
#include "bench/symbols.h"

#include "tools/bench/procreader.h"

#include <QFileInfo>
#include <QProcess>
#include <QSet>

namespace gridloom {

void Symbols::readMaps(qint64 pid)
{
    // START-END PERMISSIONS OFFSET DEVICE INODE PATH, proc(5)
    for (const QByteArray &line : readWhole(("/proc/" + QByteArray::number(pid) + "/maps").constData()).split('\n')) {
        const QList<QByteArray> fields = line.simplified().split(' ');
        if (fields.size() < 6 || !fields[5].startsWith('/'))
            continue;
        const qsizetype dash = fields[0].indexOf('-');
        const std::uint64_t start = fields[0].first(dash).toULongLong(nullptr, 16);
        m_mappings[start] = {fields[0].sliced(dash + 1).toULongLong(nullptr, 16),
                             start - fields[2].toULongLong(nullptr, 16), QString::fromUtf8(fields[5])};
    }
}

void Symbols::resolve(const std::vector<std::uint64_t> &addresses)
{
    std::map<QString, std::map<std::uint64_t, std::uint64_t>> byFile; // address in the file: address in memory
    for (const std::uint64_t address : addresses) {
        auto it = m_mappings.upper_bound(address);
        if (it == m_mappings.begin() || address >= (--it)->second.end)
            continue;
        byFile[it->second.file][address - it->second.fileStart - 1] = address; // into the call, not behind it
    }
    for (const auto &[file, places] : byFile) {
        QByteArray input;
        for (const auto &[place, address] : places)
            input += QByteArray::number(static_cast<qulonglong>(place), 16) + '\n';
        QProcess process;
        process.start(QStringLiteral("addr2line"), {QStringLiteral("-afCie"), file});
        process.write(input);
        process.closeWriteChannel();
        if (!process.waitForFinished(60'000))
            continue;
        std::uint64_t address = 0;
        QByteArray function;
        for (const QByteArray &line : process.readAllStandardOutput().split('\n')) {
            if (line.startsWith("0x")) {
                const auto place = places.find(line.toULongLong(nullptr, 16));
                address = place == places.end() ? 0 : place->second;
                function.clear();
            } else if (function.isEmpty()) {
                function = line;
            } else {
                QByteArray &text = m_texts[address];
                if (!text.isEmpty())
                    text += " < ";
                const qsizetype slash = line.lastIndexOf('/');
                text += function.first(std::min<qsizetype>(function.size(), 160));
                text += line.startsWith('?') ? " in " + QFileInfo(file).fileName().toUtf8()
                                             : " at " + line.sliced(slash + 1);
                function.clear();
            }
        }
    }
}

QByteArray Symbols::text(std::uint64_t address) const
{
    const auto it = m_texts.find(address);
    return it == m_texts.end() ? "0x" + QByteArray::number(static_cast<qulonglong>(address), 16) : *it;
}

} // namespace gridloom
