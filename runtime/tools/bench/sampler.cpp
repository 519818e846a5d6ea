// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/sampler.h"

#include <unistd.h>

namespace gridloom {

void Sampler::start(qint64 pid)
{
    stop();
    m_processStat = "/proc/" + QByteArray::number(pid) + "/stat";
    m_isStopping = false;
    m_readings.clear();
    m_timeouts = 0;
    m_thread = std::thread([this] { run(); });
}

void Sampler::stop()
{
    if (!m_thread.joinable())
        return;
    {
        const std::lock_guard lock(m_mutex);
        m_isStopping = true;
    }
    m_stopRequested.notify_one();
    m_thread.join();
}

Sampler::Reading Sampler::take() const
{
    Reading r;
    r.cpu = parseDeviceCpu(readWhole("/proc/stat")).value_or(DeviceCpu());
    r.memoryUsedKb = parseMemoryUsedKb(readWhole("/proc/meminfo")).value_or(0);
    r.runtime = parseProcessUse(readWhole(m_processStat.constData())).value_or(ProcessUse());
    r.time = std::chrono::steady_clock::now();
    return r;
}

void Sampler::run()
{
    constexpr std::chrono::seconds kPeriod{1};
    SteadyTime due = std::chrono::steady_clock::now();
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_stopRequested.wait_until(lock, due, [this] { return m_isStopping; });
        if (m_isStopping)
            return;
        m_readings.push_back(take());
        // Stays on its grid: a due time that has passed meanwhile is a reading that is missing.
        for (due += kPeriod; due <= m_readings.back().time; due += kPeriod)
            ++m_timeouts;
    }
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
    }
    return use;
}

} // namespace gridloom
