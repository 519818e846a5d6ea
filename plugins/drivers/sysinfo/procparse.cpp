// SPDX-License-Identifier: Apache-2.0
#include "procparse.h"

#include <charconv>
#include <cmath>

namespace gridloom::proc {

namespace {

constexpr std::string_view kBlanks = " \t\n";

/// Takes the next word off `text`; "" at its end.
std::string_view nextWord(std::string_view &text)
{
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos)
        return text = {};
    const std::size_t end = std::min(text.find_first_of(kBlanks, start), text.size());
    const std::string_view word = text.substr(start, end - start);
    text.remove_prefix(end);
    return word;
}

template<typename Number>
std::optional<Number> number(std::string_view word)
{
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size())
        return std::nullopt;
    return value;
}

/// The figure in kB of a line such as "MemTotal:   24683656 kB".
std::optional<std::uint64_t> kilobytes(std::string_view text, std::string_view label)
{
    std::size_t at = text.find(label);
    while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n')
        at = text.find(label, at + 1);
    if (at == std::string_view::npos)
        return std::nullopt;
    text.remove_prefix(at + label.size());
    const auto value = number<std::uint64_t>(nextWord(text));
    return nextWord(text) == "kB" ? value : std::nullopt;
}

} // namespace

std::optional<CpuTicks> cpuTicks(std::string_view stat)
{
    stat = stat.substr(0, stat.find('\n'));
    if (nextWord(stat) != "cpu")
        return std::nullopt;
    // user nice system idle iowait irq softirq steal (guest and guest_nice follow and are counted in user and nice)
    constexpr int kIdle = 3;
    constexpr int kIoWait = 4;
    constexpr int kFields = 8;
    CpuTicks ticks;
    for (int field = 0; field < kFields; ++field) {
        const auto value = number<std::uint64_t>(nextWord(stat));
        if (!value)
            return std::nullopt;
        ticks.total += *value;
        if (field != kIdle && field != kIoWait)
            ticks.busy += *value;
    }
    return ticks;
}

std::optional<double> cpuPercent(const CpuTicks &before, const CpuTicks &now)
{
    // iowait may go back (proc(5)), and with it the total.
    if (now.total <= before.total || now.busy < before.busy)
        return std::nullopt;
    const double share = static_cast<double>(now.busy - before.busy) / static_cast<double>(now.total - before.total);
    return std::min(100.0, 100.0 * share);
}

std::optional<Memory> memory(std::string_view meminfo)
{
    const auto total = kilobytes(meminfo, "MemTotal:");
    const auto available = kilobytes(meminfo, "MemAvailable:");
    if (!total || !available || *total == 0 || *available > *total)
        return std::nullopt;
    return Memory{*total, *available};
}

double memoryPercent(const Memory &memory)
{
    return 100.0 * static_cast<double>(memory.totalKb - memory.availableKb) / static_cast<double>(memory.totalKb);
}

std::optional<std::uint64_t> processTicks(std::string_view stat)
{
    const std::size_t nameEnd = stat.rfind(')');
    if (nameEnd == std::string_view::npos)
        return std::nullopt;
    stat.remove_prefix(nameEnd + 1);
    constexpr int kBefore = 11; // state (field 3) to cmajflt (field 13)
    for (int field = 0; field < kBefore; ++field)
        nextWord(stat);
    const auto user = number<std::uint64_t>(nextWord(stat));
    const auto system = number<std::uint64_t>(nextWord(stat));
    if (!user || !system)
        return std::nullopt;
    return *user + *system;
}

std::optional<std::uint64_t> residentKb(std::string_view status)
{
    return kilobytes(status, "VmRSS:");
}

std::optional<std::uint64_t> writtenBytes(std::string_view io)
{
    while (!io.empty()) {
        const std::string_view label = nextWord(io);
        const auto value = number<std::uint64_t>(nextWord(io));
        if (label == "write_bytes:")
            return value;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> diskWrittenBytes(std::string_view stat)
{
    constexpr int kBefore = 6;
    constexpr std::uint64_t kSector = 512;
    for (int field = 0; field < kBefore; ++field)
        nextWord(stat);
    const auto sectors = number<std::uint64_t>(nextWord(stat));
    return sectors ? std::optional(*sectors * kSector) : std::nullopt;
}

std::optional<double> firstNumber(std::string_view text)
{
    const auto value = number<double>(nextWord(text));
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

std::optional<double> temperature(std::string_view text)
{
    const auto thousandths = number<std::int64_t>(nextWord(text));
    if (!thousandths)
        return std::nullopt;
    return static_cast<double>(*thousandths) / 1000.0;
}

} // namespace gridloom::proc
