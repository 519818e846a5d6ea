// SPDX-License-Identifier: Apache-2.0
// Runs the load of S6 with the allocation counter preloaded into gridloomd, and says which thread allocates how often
// and where. Script states live in the threads "lua" and "lua-fast", which have no bound.
#include "bench/allocationtable.h"
#include "bench/microbench.h"
#include "bench/symbols.h"
#include "tools/bench/designgenerator.h"
#include "tools/bench/measurement.h"
#include "tools/bench/scenariofile.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <algorithm>
#include <numeric>
#include <sys/mman.h>

namespace gridloom {

namespace {

constexpr double kWarmUpS = 15;
constexpr std::uint64_t kCycles = 10'000;
constexpr std::size_t kSitesShown = 12;
constexpr int kFramesShown = 12;
constexpr const char *kBoundThreads[] = {"engine", "io", "timer"};

bool hasBound(const QByteArray &thread)
{
    return std::any_of(std::begin(kBoundThreads), std::end(kBoundThreads),
                       [&thread](const char *name) { return thread == name; });
}

/// The table as a file of its own, mapped here and by gridloomd.
class SharedTable {
public:
    explicit SharedTable(const QString &path) : m_file(path)
    {
        if (!m_file.open(QIODevice::ReadWrite) || !m_file.resize(sizeof(AllocationTable)))
            return;
        m_table = reinterpret_cast<AllocationTable *>(m_file.map(0, sizeof(AllocationTable)));
    }
    AllocationTable *operator->() const { return m_table; }
    bool isOpen() const { return m_table != nullptr; }

private:
    QFile m_file;
    AllocationTable *m_table = nullptr;
};

struct ThreadCount {
    QByteArray name;
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;
    std::vector<const AllocationTable::Stack *> sites; ///< most allocations first
};

/// Those with a bound first, then by number.
std::vector<ThreadCount> readThreads(const SharedTable &table, qint64 pid)
{
    std::vector<ThreadCount> threads;
    const std::uint32_t count = std::min<std::uint32_t>(table->threadCount, AllocationTable::kThreads);
    for (std::uint32_t i = 0; i < count; ++i) {
        const AllocationTable::Thread &entry = table->threads[i];
        const QByteArray path = "/proc/" + QByteArray::number(pid) + "/task/" + QByteArray::number(entry.id) + "/comm";
        ThreadCount thread{readWhole(path.constData()).trimmed(), entry.allocations, entry.bytes, {}};
        for (const AllocationTable::Stack &stack : table->stacks)
            if (stack.isComplete && stack.thread == entry.id)
                thread.sites.push_back(&stack);
        std::sort(thread.sites.begin(), thread.sites.end(),
                  [](const auto *a, const auto *b) { return a->allocations > b->allocations; });
        threads.push_back(std::move(thread));
    }
    std::sort(threads.begin(), threads.end(), [](const ThreadCount &a, const ThreadCount &b) {
        return std::pair(hasBound(a.name), a.allocations) > std::pair(hasBound(b.name), b.allocations);
    });
    return threads;
}

QByteArray siteText(const AllocationTable::Stack &site, const Symbols &symbols)
{
    QByteArray text = "  " + QByteArray::number(static_cast<qulonglong>(site.allocations)) + " by\n";
    for (int i = 0; i < std::min(site.depth, kFramesShown); ++i)
        text += "      " + symbols.text(site.frames[i]) + '\n';
    return text;
}

MicroBenchResult evaluate(const std::vector<ThreadCount> &threads, Symbols &symbols, std::uint64_t cycles,
                          std::uint64_t lost)
{
    std::vector<std::uint64_t> addresses;
    for (const ThreadCount &thread : threads)
        for (std::size_t i = 0; i < std::min(kSitesShown, thread.sites.size()); ++i)
            addresses.insert(addresses.end(), thread.sites[i]->frames,
                             thread.sites[i]->frames + thread.sites[i]->depth);
    symbols.resolve(addresses);

    MicroBenchResult result;
    QJsonArray json;
    result.text = "Allocations in " + QByteArray::number(static_cast<qulonglong>(cycles)) + " cycles\n";
    for (const ThreadCount &thread : threads) {
        const auto count = static_cast<qint64>(thread.allocations);
        result.text += thread.name + ": " + QByteArray::number(count) + " allocations, "
            + QByteArray::number(static_cast<qulonglong>(thread.bytes)) + " bytes\n";
        for (std::size_t i = 0; i < std::min(kSitesShown, thread.sites.size()); ++i)
            result.text += siteText(*thread.sites[i], symbols);
        json.append(QJsonObject{{QStringLiteral("thread"), QString::fromUtf8(thread.name)},
                                {QStringLiteral("allocations"), count},
                                {QStringLiteral("bytes"), static_cast<qint64>(thread.bytes)}});
    }
    if (lost > 0)
        result.text += "not counted for want of room: " + QByteArray::number(static_cast<qulonglong>(lost)) + '\n';
    for (const char *name : kBoundThreads) {
        const std::uint64_t sum =
            std::accumulate(threads.begin(), threads.end(), std::uint64_t(0), [name](std::uint64_t n, const auto &t) {
                return n + (t.name == name ? t.allocations : 0);
            });
        result.bounds.push_back({QStringLiteral("allocations of thread \"%1\"").arg(QLatin1String(name)),
                                 static_cast<double>(sum), Bound::Kind::Equal, 0});
    }
    result.bounds.push_back(
        {QStringLiteral("allocations that were not counted"), static_cast<double>(lost), Bound::Kind::Equal, 0});
    result.json = {{QStringLiteral("cycles"), static_cast<qint64>(cycles)}, {QStringLiteral("threads"), json}};
    return result;
}

std::uint64_t cyclesOf(const RuntimeStatus &status)
{
    return static_cast<std::uint64_t>(status.json.value(QLatin1String("cycles")).toInteger());
}

} // namespace

Result<MicroBenchResult> benchAllocations(const MicroBenchOptions &options)
{
    const auto scenario = loadScenario(QStringLiteral("S6"));
    if (!scenario)
        return scenario.error();
    const QTemporaryDir folder(workFolder() + QLatin1String("/gridloom-alloc-XXXXXX"));
    const QString tableFile = folder.filePath(QStringLiteral("table"));
    const SharedTable table(tableFile);
    if (!table.isOpen())
        return Error{QStringLiteral("bench.folder"), QStringLiteral("%1 cannot be written").arg(tableFile)};

    Measurement measurement(options.interrupt);
    Session::Setup setup;
    setup.simulation = generateSimulation(scenario.value());
    setup.design = [&scenario](const QHash<QString, int> &ports, int brokerPort) -> Result<DesignDocument> {
        return generateDesign(scenario.value(), ports, brokerPort);
    };
    const QString counter =
        QDir::cleanPath(QCoreApplication::applicationDirPath() + QLatin1String("/../lib/allocationcounter.so"));
    setup.runtimeEnvironment = {QLatin1String("LD_PRELOAD=") + counter,
                                QLatin1String(AllocationTable::kFileVariable) + QLatin1Char('=') + tableFile};
    if (const auto started = measurement.start(setup); !started)
        return started.error();

    std::optional<std::uint64_t> opening;
    std::uint64_t cycles = 0;
    const auto observed = measurement.observe(
        [&](const RuntimeStatus &status) {
            if (!opening && status.uptimeS >= kWarmUpS) {
                opening = cyclesOf(status);
                table->isCounting = true;
            } else if (opening) {
                cycles = cyclesOf(status) - *opening;
            }
            return cycles < kCycles;
        },
        std::chrono::milliseconds(0));
    table->isCounting = false;
    if (!observed)
        return observed.error();
    if (cycles < kCycles)
        return Error{QStringLiteral("bench.interrupted"), QStringLiteral("interrupted before its end")};
    const qint64 pid = measurement.session().runtimePid();
    Symbols symbols;
    symbols.readMaps(pid);
    return evaluate(readThreads(table, pid), symbols, cycles, table->lost);
}

} // namespace gridloom
