// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/canary.h"

#include <QFile>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace gridloom {

namespace {
constexpr std::chrono::milliseconds kPeriod{100};
constexpr std::size_t kBlock = 4096;

bool writeBlock(int file, char fill)
{
    std::array<char, kBlock> block;
    block.fill(fill);
    return ::pwrite(file, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size())
        && ::fdatasync(file) == 0;
}
} // namespace

Result<void> Canary::start(const QString &folder)
{
    stop();
    const QByteArray path = QFile::encodeName(folder + QLatin1String("/canary"));
    m_file = ::open(path.constData(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (m_file < 0 || !writeBlock(m_file, 0))
        return Error{QStringLiteral("bench.canary"),
                     QStringLiteral("%1 cannot be written: %2")
                         .arg(QFile::decodeName(path), QString::fromLocal8Bit(std::strerror(errno)))};
    m_writes.clear();
    m_thread.start(kPeriod, [this](SteadyTime) { write(); });
    return {};
}

void Canary::stop()
{
    m_thread.stop();
    if (m_file >= 0)
        ::close(std::exchange(m_file, -1));
}

void Canary::write()
{
    const SteadyTime begin = std::chrono::steady_clock::now();
    // A full disk ends the writes, not the run: the summary's n then tells.
    if (writeBlock(m_file, ++m_fill))
        m_writes.emplace_back(
            begin, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
}

Summary Canary::evaluate(SteadyTime from, SteadyTime to) const
{
    std::vector<double> ms;
    for (const auto &[begin, duration] : m_writes)
        if (begin > from && begin <= to)
            ms.push_back(duration);
    return summarize(std::move(ms));
}

} // namespace gridloom
