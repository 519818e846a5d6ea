// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/sampler.h"

#include <unistd.h>

namespace gridloom {

namespace {
constexpr double kSecondsPerDay = 86'400.0;
constexpr double kBytesPerGb = 1e9;
} // namespace

void Sampler::start(qint64 pid, const QString &folder)
{
    stop();
    m_process = "/proc/" + QByteArray::number(pid);
    m_disk = diskStatPath(folder);
    m_readings.clear();
    m_thread.start(std::chrono::seconds(1), [this](SteadyTime) { m_readings.push_back(take()); });
}

Sampler::Reading Sampler::take() const
{
    Reading r;
    r.cpu = parseDeviceCpu(readWhole("/proc/stat")).value_or(DeviceCpu());
    r.memoryUsedKb = parseMemoryUsedKb(readWhole("/proc/meminfo")).value_or(0);
    r.runtime = parseProcessUse(readWhole((m_process + "/stat").constData())).value_or(ProcessUse());
    r.runtimeWritten = parseWrittenBytes(readWhole((m_process + "/io").constData())).value_or(0);
    r.diskWritten = parseDiskWritten(readWhole(m_disk.constData()));
    r.time = std::chrono::steady_clock::now();
    return r;
}

UseOfMachine Sampler::evaluate(SteadyTime from, SteadyTime to) const
{
    UseOfMachine use;
    std::vector<double> cpu, ioWait, memory;
    const Reading *first = nullptr;
    const Reading *last = nullptr;
    for (std::size_t i = 1; i < m_readings.size(); ++i) {
        const Reading &before = m_readings[i - 1];
        const Reading &now = m_readings[i];
        if (now.time <= from || now.time > to || now.runtime.threads == 0)
            continue;
        if (!first)
            first = &before;
        last = &now;
        const auto part = [](std::uint64_t a, std::uint64_t b) { return b > a ? static_cast<double>(b - a) : 0.0; };
        const double busy = part(before.cpu.busy, now.cpu.busy);
        const double waiting = part(before.cpu.ioWait, now.cpu.ioWait);
        const double all = busy + waiting + part(before.cpu.idle, now.cpu.idle);
        cpu.push_back(all > 0 ? 100.0 * busy / all : 0.0);
        ioWait.push_back(all > 0 ? 100.0 * waiting / all : 0.0);
        memory.push_back(static_cast<double>(now.memoryUsedKb) / 1024.0);
        const double pageMb = static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
        use.runtimeRssMb = std::max(use.runtimeRssMb, static_cast<double>(now.runtime.rssPages) * pageMb);
        use.runtimeThreads = std::max(use.runtimeThreads, now.runtime.threads);
    }
    use.deviceCpuPercent = summarize(std::move(cpu));
    use.ioWaitPercent = summarize(std::move(ioWait));
    use.deviceMemoryMb = summarize(std::move(memory));
    if (first && first->runtime.threads > 0) {
        const std::chrono::duration<double> elapsed = last->time - first->time;
        const auto ticks = static_cast<double>(last->runtime.cpuTicks - first->runtime.cpuTicks);
        use.runtimeCpuPercent = 100.0 * ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)) / elapsed.count();
        const auto gbPerDay = [&](std::uint64_t bytes) {
            return static_cast<double>(bytes) / kBytesPerGb / elapsed.count() * kSecondsPerDay;
        };
        use.writtenGbPerDay = gbPerDay(last->runtimeWritten - first->runtimeWritten);
        if (first->diskWritten && last->diskWritten)
            use.diskWrittenGbPerDay = gbPerDay(*last->diskWritten - *first->diskWritten);
    }
    return use;
}

} // namespace gridloom
