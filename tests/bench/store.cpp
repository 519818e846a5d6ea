// SPDX-License-Identifier: Apache-2.0
// Store: the embedded store through its plugin interface: how fast batches are appended, what a sample takes on disk
// once it is compacted, and how long reads and commits take while rows come in as in S6.
#include "sdk/store.h"
#include "bench/microbench.h"
#include "engine/pluginhost.h"
#include "historyio/blockreader.h"
#include "tools/bench/session.h"

#include <QCoreApplication>
#include <QDir>
#include <QTemporaryDir>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

namespace gridloom {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr WallTime kStart{seconds(1'785'542'400)};
constexpr int kReadPoints = 100;   // the history that is read: so many points, 24 h at 1 s
constexpr int kLivePoints = 5'000; // what comes in meanwhile
constexpr int kDayS = 86'400;
constexpr int kSizePoints = 50;
constexpr int kLiveSeconds = 20;
constexpr int kCommitsPerS = 10;

double msSince(Steady::time_point since)
{
    return std::chrono::duration<double, std::milli>(Steady::now() - since).count();
}

bool isInterrupted(const Interrupt &interrupt)
{
    QCoreApplication::processEvents(); // where it is noticed
    return interrupt.wasRequested();
}

double percentile(std::vector<double> values, double percent)
{
    std::sort(values.begin(), values.end());
    return values.empty()
        ? 0
        : values[static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size()))) - 1];
}

// A value that changes seldom, by one: what most of a site looks like.
class Slow {
public:
    double next(std::mt19937_64 &random)
    {
        if (random() % 8 == 0)
            m_value += random() % 2 == 0 ? 1 : -1;
        return m_value;
    }

private:
    double m_value = 230;
};

class StoreUnderTest {
public:
    static Result<std::unique_ptr<StoreUnderTest>> create(int points, int memoryMb)
    {
        const PluginHost plugins(
            QDir::cleanPath(QCoreApplication::applicationDirPath() + QLatin1String("/../lib/gridloom/plugins")));
        const auto factory = plugins.store(QStringLiteral("embedded"));
        if (!factory)
            return factory.error();
        auto made = std::make_unique<StoreUnderTest>();
        made->m_store = factory.value()->createStore(made->m_clock);
        QList<Series> series;
        for (int i = 0; i < points; ++i)
            series.append({QStringLiteral("device.p%1").arg(i), {}, QStringLiteral("kW")});
        made->m_opening = {{{QStringLiteral("memoryMb"), memoryMb}, {QStringLiteral("quotaMb"), 16'384}},
                           made->m_folder.filePath(QStringLiteral("history")),
                           series,
                           {},
                           "Europe/Vienna"};
        if (const auto opened = made->store().open(made->m_opening); !opened)
            return opened.error();
        return made;
    }
    Store &store() { return *m_store; }

    /// Until nothing waits to be compacted: what is in memory goes by way of a restart.
    Result<void> settle(const Interrupt &interrupt)
    {
        m_store->close();
        if (const auto opened = m_store->open(m_opening); !opened)
            return opened;
        while (m_store->statistics().waitingRows > 0) {
            if (isInterrupted(interrupt))
                return Error{QStringLiteral("bench.interrupted"), QStringLiteral("interrupted before its end")};
            std::this_thread::sleep_for(milliseconds(20));
        }
        m_store->close(); // what lies in the folder now is what it keeps
        return {};
    }
    Result<void> reopen() { return m_store->open(m_opening); }
    struct Size {
        double rows = 0, rollups = 0; ///< bytes of a sample
    };
    /// All of the file but its free pages; of that, roll-ups apart.
    Result<Size> size(double samples) const
    {
        auto blocks = BlockReader::open(m_opening.folder + QLatin1String("/history.db"));
        if (!blocks)
            return blocks.error();
        const auto pages = blocks.value().database().integer(
            "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count");
        if (!pages)
            return pages.error();
        double rollups = 0;
        for (const BlockKind kind : {BlockKind::Minutes, BlockKind::QuarterHours, BlockKind::Hours, BlockKind::Days}) {
            const auto groups = blocks.value().groups(kind);
            if (!groups)
                return groups.error();
            for (const BlockGroup &group : groups.value())
                rollups += static_cast<double>(group.bytes);
        }
        constexpr double kPageBytes = 16'384;
        return Size{(static_cast<double>(pages.value()) * kPageBytes - rollups) / samples, rollups / samples};
    }

private:
    SystemClock m_clock;
    QTemporaryDir m_folder{workFolder() + QLatin1String("/gridloom-store-XXXXXX")};
    StoreOpening m_opening;
    std::unique_ptr<Store> m_store;
};

/// Appends `seconds` of all points at 1 s, a batch a second, with a sync after every tenth. Rows a second of real time.
template<typename Value0>
Result<double> fill(Store &store, int points, int length, Value0 valueOf)
{
    std::vector<HistoryRow> rows(static_cast<std::size_t>(points));
    double elapsedMs = 0;
    for (int second = 0; second < length; ++second) {
        for (int p = 0; p < points; ++p)
            rows[static_cast<std::size_t>(p)] = {
                static_cast<PointHandle>(p), Quality::Good, Value(valueOf(p)), kStart + seconds(second), -1, 0};
        const auto begin = Steady::now();
        if (const auto appended = store.append(rows); !appended)
            return appended.error();
        if (second % 10 == 9) {
            if (const auto synced = store.sync(); !synced)
                return synced.error();
        }
        elapsedMs += msSince(begin);
    }
    return static_cast<double>(points) * length / elapsedMs * 1e3;
}

Result<double> samplesPerS()
{
    constexpr int kPoints = 1'000, kLength = 4'000;
    auto made = StoreUnderTest::create(kPoints, 8);
    if (!made)
        return made.error();
    std::mt19937_64 random(1);
    std::vector<Slow> slow(kPoints);
    return fill(made.value()->store(), kPoints, kLength,
                [&](int p) { return slow[static_cast<std::size_t>(p)].next(random); });
}

template<typename Value0>
Result<StoreUnderTest::Size> bytesPerSample(const Interrupt &interrupt, Value0 valueOf)
{
    auto made = StoreUnderTest::create(kSizePoints, 8);
    if (!made)
        return made.error();
    if (const auto filled = fill(made.value()->store(), kSizePoints, kDayS, valueOf); !filled)
        return filled.error();
    if (const auto settled = made.value()->settle(interrupt); !settled)
        return settled.error();
    return made.value()->size(double(kSizePoints) * kDayS);
}

struct LiveFigures {
    std::vector<double> read24hMs, read100x1hMs, commitMs;
    std::uint64_t rows = 0;
    Result<void> failed;
};

// Appends 5,000 rows a second, a tenth of them at a time, each followed by a sync, until told to end.
void appendLive(Store &store, const std::atomic<bool> &isEnding, LiveFigures &figures)
{
    std::mt19937_64 random(3);
    std::vector<HistoryRow> rows(kLivePoints / kCommitsPerS);
    auto due = Steady::now();
    for (std::uint64_t turn = 0; !isEnding; ++turn) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto point = kReadPoints + turn % kCommitsPerS * rows.size() + i;
            rows[i] = {static_cast<PointHandle>(point),
                       Quality::Good,
                       Value(static_cast<std::int64_t>(random() % 65'536)),
                       kStart + seconds(kDayS) + milliseconds(turn * 1'000 / kCommitsPerS),
                       -1,
                       0};
        }
        const auto begin = Steady::now();
        auto done = store.append(rows);
        if (done)
            done = store.sync();
        if (!done) {
            figures.failed = done;
            return;
        }
        figures.commitMs.push_back(msSince(begin));
        figures.rows += rows.size();
        due += milliseconds(1'000 / kCommitsPerS);
        std::this_thread::sleep_until(due);
    }
}

Result<std::size_t> readRows(HistoryReader &reader, int point, WallTime from, WallTime to)
{
    std::size_t rows = 0;
    double sum = 0;
    const auto read = reader.query(QStringLiteral("device.p%1").arg(point), from, to, [&](const HistoryRow &row) {
        sum += row.value.real();
        ++rows;
        return true;
    });
    if (!read)
        return read.error();
    return std::isfinite(sum) ? rows : 0;
}

Result<void> readLive(Store &store, int lengthS, const Interrupt &interrupt, LiveFigures &figures)
{
    const auto reader = store.reader();
    const auto end = Steady::now() + seconds(lengthS);
    for (int turn = 0; Steady::now() < end && !isInterrupted(interrupt); ++turn) {
        auto begin = Steady::now();
        const auto day = readRows(*reader, turn % kReadPoints, kStart, kStart + seconds(kDayS));
        figures.read24hMs.push_back(msSince(begin));
        const WallTime hour = kStart + std::chrono::hours(turn % 24);
        begin = Steady::now();
        std::size_t rows = 0;
        for (int point = 0; point < kReadPoints; ++point) {
            const auto read = readRows(*reader, point, hour, hour + std::chrono::hours(1));
            if (!read)
                return read.error();
            rows += read.value();
        }
        figures.read100x1hMs.push_back(msSince(begin));
        if (!day)
            return day.error();
        if (day.value() != kDayS || rows != std::size_t{kReadPoints} * 3'600)
            return Error{QStringLiteral("bench.store"),
                         QStringLiteral("%1 and %2 rows were read instead of %3 and %4")
                             .arg(day.value())
                             .arg(rows)
                             .arg(kDayS)
                             .arg(kReadPoints * 3'600)};
        std::this_thread::sleep_for(milliseconds(50));
    }
    return {};
}

Result<LiveFigures> live(const MicroBenchOptions &options)
{
    auto made = StoreUnderTest::create(kReadPoints + kLivePoints, 8);
    if (!made)
        return made.error();
    Store &store = made.value()->store();
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> noise(0, 100);
    std::vector<Slow> slow(kReadPoints);
    const auto filled = fill(store, kReadPoints, kDayS, [&](int p) {
        return p % 2 == 0 ? slow[static_cast<std::size_t>(p)].next(random) : noise(random);
    });
    if (!filled)
        return filled.error();
    // The newest part comes from segments of the run before, and is compacted while reads and appends go on.
    store.close();
    if (const auto opened = made.value()->reopen(); !opened)
        return opened.error();
    while (store.statistics().waitingRows > 0 && !isInterrupted(options.interrupt))
        std::this_thread::sleep_for(milliseconds(20));
    LiveFigures figures;
    std::atomic<bool> isEnding{false};
    std::thread appender([&] { appendLive(store, isEnding, figures); });
    const auto read = readLive(store, options.seconds > 0 ? options.seconds : kLiveSeconds, options.interrupt, figures);
    isEnding = true;
    appender.join();
    if (!read)
        return read.error();
    return figures.failed ? Result<LiveFigures>(std::move(figures)) : figures.failed.error();
}
} // namespace

Result<MicroBenchResult> benchStore(const MicroBenchOptions &options)
{
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> noise(0, 100);
    std::vector<Slow> slow(kSizePoints);
    const auto rate = samplesPerS();
    if (!rate)
        return rate.error();
    const auto slowBytes =
        bytesPerSample(options.interrupt, [&](int p) { return slow[static_cast<std::size_t>(p)].next(random); });
    const auto noiseBytes = bytesPerSample(options.interrupt, [&](int) { return noise(random); });
    if (!slowBytes || !noiseBytes)
        return slowBytes ? noiseBytes.error() : slowBytes.error();
    const auto figures = live(options);
    if (!figures)
        return figures.error();
    if (isInterrupted(options.interrupt))
        return Error{QStringLiteral("bench.interrupted"), QStringLiteral("interrupted before its end")};

    const LiveFigures &f = figures.value();
    struct Figure {
        const char *key;
        const char *text;
        double value;
        Bound::Kind kind;
        double limit;
        int decimals;
    };
    const Figure all[] = {
        {"samplesPerS", "samples appended a second, in batches", rate.value(), Bound::Kind::AtLeast, 1e6, 0},
        {"bytesPerSampleSlow", "bytes of a slowly changing sample on disk", slowBytes.value().rows, Bound::Kind::AtMost,
         2, 2},
        {"bytesPerSampleNoise", "bytes of a sample of noise on disk", noiseBytes.value().rows, Bound::Kind::AtMost, 8,
         2},
        {"read24hMs", "one point, 24 h at 1 s, while 5,000 rows/s come in, P95, ms", percentile(f.read24hMs, 95),
         Bound::Kind::AtMost, 5, 2},
        {"read100x1hMs", "100 points, 1 h at 1 s, meanwhile, P95, ms", percentile(f.read100x1hMs, 95),
         Bound::Kind::AtMost, 20, 2},
        {"commitP99Ms", "append and sync of 500 rows, meanwhile, P99, ms", percentile(f.commitMs, 99),
         Bound::Kind::AtMost, 20, 2},
    };
    MicroBenchResult result;
    for (const Figure &figure : all) {
        result.text += QByteArray(figure.text) + ": " + QByteArray::number(figure.value, 'f', figure.decimals) + '\n';
        result.json.insert(QLatin1String(figure.key), figure.value);
        result.bounds.push_back({QString::fromLatin1(figure.text), figure.value, figure.kind, figure.limit});
    }
    result.text += "roll-ups beside it, bytes a sample at 1 s: slow "
        + QByteArray::number(slowBytes.value().rollups, 'f', 2) + ", noise "
        + QByteArray::number(noiseBytes.value().rollups, 'f', 2) + '\n';
    result.json.insert(QStringLiteral("rollupBytesPerSampleSlow"), slowBytes.value().rollups);
    result.json.insert(QStringLiteral("rollupBytesPerSampleNoise"), noiseBytes.value().rollups);
    result.json.insert(QStringLiteral("read24hMedianMs"), percentile(f.read24hMs, 50));
    result.json.insert(QStringLiteral("read100x1hMedianMs"), percentile(f.read100x1hMs, 50));
    result.json.insert(QStringLiteral("rowsAppendedMeanwhile"), static_cast<qint64>(f.rows));
    return result;
}

} // namespace gridloom
