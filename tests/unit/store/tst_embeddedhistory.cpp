// SPDX-License-Identifier: Apache-2.0
// What becomes of rows in the long run: blocks, roll-ups, decimation, retention, older folders, readers in other
// threads and other languages.
#include "storefolder.h"

#include "core/history/rollup.h"
#include "historyio/historyfolder.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTest>

#include <bit>
#include <cmath>
#include <random>
#include <thread>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

class EmbeddedHistoryTest : public QObject, private StoreFolder {
    Q_OBJECT
private Q_SLOTS:
    void init() { renew(); }
    void anOutsiderReadsTheBlocks();
    void exportsAreExact();
    void storedTwiceOverBlocksIsOne();
    void rollupsAreThoseOfAllRows();
    void bucketsAreThoseOfAllRows();
    void lastRows();
    void oldHistoryGoes();
    void folderOfVersion1IsTakenOver();
    void damagedBlockIsSetAside();
    void damagedDatabaseIsSetAside();
    void emptiedDatabaseIsSetAside_data();
    void emptiedDatabaseIsSetAside();
    void readersSeeEachRowOnceWhileItMoves();

private:
    QByteArray run(const QString &program, const QStringList &arguments);
    std::vector<HistoryRow> mixture(int count);
};

QByteArray EmbeddedHistoryTest::run(const QString &program, const QStringList &arguments)
{
    QProcess process;
    process.start(program, arguments);
    if (!process.waitForFinished() || process.exitCode() != 0)
        qWarning("%s: %s", qPrintable(program), process.readAllStandardError().constData());
    return process.readAllStandardOutput();
}

// All types, in runs and mixed, of both series; ordered by time.
std::vector<HistoryRow> EmbeddedHistoryTest::mixture(int count)
{
    std::mt19937_64 random(8);
    std::vector<HistoryRow> rows;
    for (int i = 0; i < count; ++i) {
        HistoryRow r = row(static_cast<PointHandle>(i % 2), i * 700, Value());
        switch (i / 500 % 6) {
        case 0: r.value = Value(static_cast<double>(random() % 3000) / 10.0); break;
        case 1: r.value = Value(random()); break;
        case 2: r.value = Value(static_cast<std::int64_t>(9007199254740993 - i)); break;
        case 3: r.value = Value(std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 90))); break;
        case 4:
            r.value = i % 3 == 0 ? Value(i % 2 == 0) : i % 3 == 1 ? Value(QByteArray("\xCE\xA9=1+1,\"x\"\n")) : Value();
            break;
        default: r.value = Value(static_cast<double>(static_cast<float>(random() % 1'000'000) / 7.0F)); break;
        }
        if (i % 17 == 0)
            r.quality = Quality::BadCommunicationError;
        if (i % 23 == 0) {
            r.trigger = i % 2;
            r.run = random();
        }
        rows.push_back(r);
    }
    return rows;
}

void EmbeddedHistoryTest::anOutsiderReadsTheBlocks()
{
    const auto rows = mixture(6'000);
    {
        EmbeddedStore store(m_clock);
        QVERIFY(open(store));
        QVERIFY(store.append(std::span(rows).first(4'000)));
        store.settle();
        QVERIFY(store.append(std::span(rows).subspan(4'000)));
        store.settle();
    }
    QByteArray expected;
    for (const PointHandle point : {1U, 0U}) { // meter1.e, meter1.p
        for (const HistoryRow &r : rows) {
            if (r.point != point)
                continue;
            const QByteArray value = r.value.isNull() ? QByteArray()
                : r.value.type() == ValueType::Double
                ? QByteArray::number(static_cast<qulonglong>(r.value.bits()), 16).rightJustified(16, '0')
                : r.value.type() == ValueType::Bool ? QByteArray(r.value.boolean() ? "1" : "0")
                                                    : r.value.toText();
            const auto time = std::chrono::duration_cast<milliseconds>(r.time.time_since_epoch()).count();
            expected += kSeries[point].id.toUtf8() + '\t' + QByteArray::number(static_cast<qlonglong>(time)) + '\t'
                + QByteArray::number(static_cast<int>(r.value.type())) + '\t' + value + '\t'
                + QByteArray::number(static_cast<int>(r.quality)) + '\t'
                + (r.trigger < 0 ? QByteArray() : kTriggers[r.trigger].toUtf8()) + '\t'
                + QByteArray::number(static_cast<qulonglong>(r.run)) + '\n';
        }
    }
    const QByteArray read = run(QStringLiteral("python3"),
                                {QStringLiteral(GRIDLOOM_SOURCE_DIR "/tests/unit/store/read_blocks.py"),
                                 m_folder + QStringLiteral("/history.db")});
    QVERIFY(read == expected);
}

void EmbeddedHistoryTest::exportsAreExact()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(std::vector{row(0, 0, Value(std::uint64_t{18446744073709551615ULL}), 1, 12),
                                     row(0, 250, Value(-1.3)), row(0, 1000, Value(QByteArray("=1+1,\"x\"")))}));
    store.settle();
    // In blocks, and in a segment that is being written.
    QVERIFY(store.append(
        std::vector{row(0, 2000, Value(std::int64_t{-9007199254740993})), row(1, 5, Value(std::nan("")))}));
    const QString tool = QStringLiteral(GRIDLOOM_BINARY_DIR "/bin/gridloom-store");
    QCOMPARE(run(tool, {QStringLiteral("export"), m_folder, QStringLiteral("--csv"), QStringLiteral("-")}),
             QByteArray("series,name,unit,time,type,value,quality,trigger,run\n"
                        "meter1.e,x'); DROP TABLE samples;--,,2026-08-01T00:00:00.005Z,null,,Bad_OutOfRange,,\n"
                        "meter1.p,Leistung,kW,2026-08-01T00:00:00Z,uint64,18446744073709551615,Good,count,12\n"
                        "meter1.p,Leistung,kW,2026-08-01T00:00:00.25Z,double,-1.3,Good,,\n"
                        "meter1.p,Leistung,kW,2026-08-01T00:00:01Z,text,\"=1+1,\"\"x\"\"\",Good,,\n"
                        "meter1.p,Leistung,kW,2026-08-01T00:00:02Z,int64,-9007199254740993,Good,,\n"));
    const QString file = m_dir->filePath(QStringLiteral("out.db"));
    run(tool,
        {QStringLiteral("export"), m_folder, QStringLiteral("--sqlite"), file, QStringLiteral("--series"),
         kSeries[0].id, QStringLiteral("--from"), QStringLiteral("2026-08-01T02:00:00+02:00"), QStringLiteral("--to"),
         QStringLiteral("2026-08-01T00:00:01Z")});
    QCOMPARE(run(QStringLiteral("sqlite3"),
                 {file, QStringLiteral("SELECT time, type, value, quality, trigger, run FROM history ORDER BY time")}),
             QByteArray("2026-08-01T00:00:00.25Z|double|-1.3|Good||0\n"
                        "2026-08-01T00:00:00Z|uint64|18446744073709551615|Good|count|12\n"));
    QCOMPARE(run(tool, {QStringLiteral("count"), m_folder, QStringLiteral("--json")}),
             QByteArray("{\"rows\":5,\"triggerRows\":1,\"triggerRuns\":1}\n"));
    QCOMPARE(run(tool, {QStringLiteral("check"), m_folder}), QByteArray("No damage found.\n"));
    QVERIFY(run(tool, {QStringLiteral("list"), m_folder})
                .startsWith("meter1.e\t1\t2026-08-01T00:00:00.005Z\t2026-08-01T00:00:00.005Z\t\tx'); DROP TABLE "
                            "samples;--\nmeter1.p\t4\t"));
    QProcess wrong;
    wrong.start(tool, {QStringLiteral("export"), m_folder});
    QVERIFY(wrong.waitForFinished());
    QCOMPARE(wrong.exitCode(), 2);
    wrong.start(tool, {QStringLiteral("count"), m_folder + QStringLiteral("x")});
    QVERIFY(wrong.waitForFinished());
    QCOMPARE(wrong.exitCode(), 1);
}

void EmbeddedHistoryTest::storedTwiceOverBlocksIsOne()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    for (int round = 0; round < 3; ++round) {
        QVERIFY(store.append(numbers(0, 1000)));
        store.settle();
    }
    QVERIFY(areNumbers(all(store), 0, 1000));
    const auto minutes = store.reader()->rollups(kSeries[0].id, kStart, kEver, RollupStep::Minute);
    QCOMPARE(minutes.value().size(), std::size_t{1});
    QCOMPARE(minutes.value()[0].count, std::uint64_t{1000});
    // Another value at the same time: the newest stands, from memory and from blocks.
    QVERIFY(store.append(std::vector{row(0, 500, Value(-1))}));
    for (int round = 0; round < 2; ++round) {
        const auto rows = all(store);
        QCOMPARE(rows.size(), std::size_t{1000});
        QVERIFY(rows[500].value == Value(-1));
        store.settle();
    }
}

// Against one pass over all rows, whatever the group in which each was rolled up, in memory included.
void EmbeddedHistoryTest::rollupsAreThoseOfAllRows()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    std::mt19937_64 random(3);
    std::vector<SegmentRow> truth;
    // Three days of Vienna around the end of summer time.
    const std::int64_t begin = 1'792'800'000'000;
    for (int part = 0; part < 5; ++part) {
        std::vector<HistoryRow> rows;
        for (int i = 0; i < 2'000; ++i) {
            const std::int64_t ms = begin + part * 50'000'000LL + static_cast<std::int64_t>(random() % 60'000'000);
            rows.push_back({0, random() % 9 == 0 ? Quality::BadNotConnected : Quality::Good,
                            Value(static_cast<double>(random() % 4096) / 16), WallTime(milliseconds(ms)), -1,
                            i + 10'000ULL * static_cast<unsigned>(part)});
            rows.back().trigger = 0; // rows of different runs are different rows
            truth.push_back({0, rows.back().quality, rows.back().value, ms, 0, rows.back().run});
        }
        QVERIFY(store.append(rows));
        if (part < 4)
            store.settle();
    }
    for (const RollupStep step : {RollupStep::Minute, RollupStep::QuarterHour, RollupStep::Hour, RollupStep::Day}) {
        std::vector<HistoryBucket> expected;
        RollupBorders borders(step, QTimeZone("Europe/Vienna"));
        addRows(truth, borders, expected);
        for (const bool isReopened : {false, true}) {
            if (isReopened) {
                store.close();
                QVERIFY(open(store));
                store.settle();
            }
            const auto read = store.reader()->rollups(kSeries[0].id, WallTime(), kEver, step);
            QVERIFY(read);
            QCOMPARE(read.value().size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const HistoryBucket &a = read.value()[i], &b = expected[i];
                QVERIFY(a.startMs == b.startMs && a.endMs == b.endMs && a.count == b.count && a.good == b.good
                        && a.numbers == b.numbers && a.sum == b.sum);
                QVERIFY(a.numbers == 0
                        || (a.min == b.min && a.max == b.max && a.firstMs == b.firstMs && a.lastMs == b.lastMs));
            }
        }
    }
    const auto days = store.reader()->rollups(kSeries[0].id, WallTime(), kEver, RollupStep::Day);
    QVERIFY(std::any_of(days.value().begin(), days.value().end(),
                        [](const auto &d) { return d.endMs - d.startMs == 25 * 3'600'000; }));
}

void EmbeddedHistoryTest::bucketsAreThoseOfAllRows()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    std::vector<HistoryRow> rows;
    for (int i = 0; i < 40'000; ++i) // at 10 s
        rows.push_back(row(0, i * 10'000LL, Value(static_cast<double>(i % 977))));
    QVERIFY(store.append(rows));
    store.settle();
    const auto reader = store.reader();
    const WallTime end = kStart + seconds(400'000);
    // 20 buckets of 20,000 s come from roll-ups, 4,000 of 100 s from rows; the whole is the same.
    for (const std::size_t count : {std::size_t{20}, std::size_t{4'000}}) {
        const auto read = reader->buckets(kSeries[0].id, kStart, end, count);
        QVERIFY(read);
        QVERIFY(read.value().size() <= count && read.value().size() >= count - 1);
        std::uint64_t all = 0;
        for (const HistoryBucket &bucket : read.value()) {
            all += bucket.count;
            QVERIFY(bucket.min >= 0 && bucket.max <= 976 && bucket.startMs < bucket.endMs);
        }
        QCOMPARE(all, std::uint64_t{40'000});
    }
    const auto one = reader->buckets(kSeries[0].id, kStart, end, 4'000);
    QCOMPARE(one.value()[1].count, std::uint64_t{10}); // rows 10 to 19
    QCOMPARE(one.value()[1].min, 10.0);
    QCOMPARE(one.value()[1].max, 19.0);
    QVERIFY(!reader->buckets(kSeries[0].id, end, kStart, 10));
    QVERIFY(!reader->buckets(kSeries[0].id, kStart, end, 0));
}

void EmbeddedHistoryTest::lastRows()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    std::vector<HistoryRow> rows;
    for (int i = 0; i < 1'000; ++i)
        rows.push_back(row(0, i * 3'600'000LL, Value(i))); // an hour apart
    QVERIFY(store.append(rows));
    store.settle();
    QVERIFY(store.append(std::vector{row(0, 3'600'000'000, Value(1'000))}));
    const auto read = store.reader()->last(kSeries[0].id, 300, kEver);
    QCOMPARE(read.value().size(), std::size_t{300});
    for (int i = 0; i < 300; ++i)
        QVERIFY(read.value()[static_cast<std::size_t>(i)].value == Value(701 + i));
    QCOMPARE(store.reader()->last(kSeries[0].id, 5'000, kEver).value().size(), std::size_t{1'001});
    QCOMPARE(store.reader()->last(kSeries[0].id, 2, kStart + milliseconds(1)).value().size(), std::size_t{1});
}

void EmbeddedHistoryTest::oldHistoryGoes()
{
    const StoreOpening opening{
        {{QStringLiteral("retentionDays"), 2}, {QStringLiteral("minuteDays"), 5}}, m_folder, kSeries, kTriggers, {}};
    EmbeddedStore store(m_clock);
    const auto hasRows = [&store] { return !all(store).empty(); };
    const auto hasMinutes = [&store] {
        return !store.reader()->rollups(kSeries[0].id, WallTime(), kEver, RollupStep::Minute).value().empty();
    };
    QVERIFY(store.open(opening));
    QVERIFY(store.append(numbers(0, 100)));
    store.settle();
    struct Stage {
        int days;
        bool rows, minutes;
    };
    for (const Stage &stage : {Stage{1, true, true}, Stage{3, false, true}, Stage{6, false, false}}) {
        m_clock.setWall(kStart + std::chrono::hours(24 * stage.days));
        store.close(); // a start looks for what is too old
        QVERIFY(store.open(opening));
        store.settle();
        QCOMPARE(hasRows(), stage.rows);
        QCOMPARE(hasMinutes(), stage.minutes);
        QVERIFY(!store.reader()->rollups(kSeries[0].id, WallTime(), kEver, RollupStep::Day).value().empty());
    }
}

// Written down by a Python script from the format's description: a full segment with its summary, and one torn by a
// power cut.
void EmbeddedHistoryTest::folderOfVersion1IsTakenOver()
{
    QVERIFY(QDir().mkpath(m_folder));
    for (const char *name : {"00000007.gls", "00000008.gls"})
        QVERIFY(QFile::copy(QStringLiteral(GRIDLOOM_SOURCE_DIR "/tests/unit/store/version1/") + QLatin1String(name),
                            m_folder + QLatin1Char('/') + QLatin1String(name)));
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    for (int round = 0; round < 2; ++round) {
        const auto power = all(store);
        QCOMPARE(power.size(), std::size_t{1'000});
        for (int i = 0; i < 1'000; ++i)
            QVERIFY(power[static_cast<std::size_t>(i)].value == Value(i)
                    && power[static_cast<std::size_t>(i)].time == kStart + seconds(i));
        const auto energy = all(store, kSeries[1].id);
        QCOMPARE(energy.size(), std::size_t{100});
        QVERIFY(energy[99].value == Value(std::uint64_t{18446744073709551615ULL} - 990) && energy[99].run == 990
                && energy[99].trigger == 0);
        store.settle();
    }
    QCOMPARE(store.takeFaults().size(), 1); // the torn end
    QVERIFY(store.append(numbers(2'000'000, 1)));
    QVERIFY(QFile::exists(path(9)));
}

void EmbeddedHistoryTest::damagedBlockIsSetAside()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(numbers(0, 100)));
    QVERIFY(store.append(numbers(0, 100, 1)));
    store.settle();
    store.close();
    run(QStringLiteral("sqlite3"),
        {m_folder + QStringLiteral("/history.db"),
         QStringLiteral("UPDATE row_blocks SET data = substr(data, 1, length(data) - 1) || x'55' WHERE key ="
                        " (SELECT min(key) FROM row_blocks)")});
    QVERIFY(open(store));
    store.settle();
    QVERIFY(all(store).empty() != all(store, kSeries[1].id).empty());
    QCOMPARE(store.takeFaults().size(), 1);
    store.settle();
    QVERIFY(all(store).empty() != all(store, kSeries[1].id).empty());
    QVERIFY(store.takeFaults().isEmpty());
    QCOMPARE(run(QStringLiteral("sqlite3"),
                 {QStringLiteral("-readonly"), m_folder + QStringLiteral("/history.db"),
                  QStringLiteral("SELECT count(*) FROM damaged_blocks")}),
             QByteArray("1\n"));
}

void EmbeddedHistoryTest::damagedDatabaseIsSetAside()
{
    {
        EmbeddedStore store(m_clock);
        QVERIFY(open(store));
        QVERIFY(store.append(numbers(0, 100)));
        store.settle();
    }
    const QString file = m_folder + QStringLiteral("/history.db");
    const QByteArray zeros(readFile(file).size(), '\0');
    writeFile(file, zeros);
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(numbers(1'000, 100)));
    store.settle();
    QTRY_VERIFY(store.statistics().waitingRows == 0);
    QVERIFY(!files("history.db.corrupt-*").isEmpty());
    QCOMPARE(readFile(m_folder + QLatin1Char('/') + files("history.db.corrupt-*")[0]), zeros);
    QVERIFY(!store.takeFaults().isEmpty());
    QVERIFY(areNumbers(all(store, kSeries[0].id, kStart + milliseconds(1'000)), 1'000, 100));
}

// PC-18: SQLite would take an empty file for a new database, and nobody would hear that history is gone.
void EmbeddedHistoryTest::emptiedDatabaseIsSetAside_data()
{
    QTest::addColumn<int>("lives");
    QTest::newRow("before the first block") << 1;
    QTest::newRow("with blocks") << 2;
}

void EmbeddedHistoryTest::emptiedDatabaseIsSetAside()
{
    QFETCH(int, lives);
    for (int life = 0; life < lives; ++life) { // each one compacts what the one before left
        EmbeddedStore store(m_clock);
        QVERIFY(open(store));
        QVERIFY(store.takeFaults().isEmpty());
        QVERIFY(store.append(numbers(100 * life, 100)));
        store.settle();
    }
    writeFile(m_folder + QStringLiteral("/history.db"), {});
    QFile::remove(m_folder + QStringLiteral("/history.db-wal"));
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    store.settle();
    QTRY_VERIFY(store.statistics().waitingRows == 0);
    QCOMPARE(files("history.db.corrupt-*").size(), 1);
    const QStringList faults = store.takeFaults();
    QVERIFY(!faults.isEmpty());
    QVERIFY2(faults[0].contains(QLatin1String("history.db.corrupt-")), qPrintable(faults[0]));
    QVERIFY(areNumbers(all(store), 100 * (lives - 1), 100));
}

// A reader in this thread while another appends and the compactor moves rows from memory to blocks: what has been
// appended before the question is in the answer, each row once and in order.
void EmbeddedHistoryTest::readersSeeEachRowOnceWhileItMoves()
{
    EmbeddedStore store(m_clock);
    QVERIFY(store.open(
        {{{QStringLiteral("memoryMb"), 1}, {QStringLiteral("segmentMb"), 1}}, m_folder, kSeries, kTriggers, {}}));
    std::atomic<int> appended{0};
    std::atomic<bool> hasFailed{false};
    constexpr int kRows = 600'000;
    std::thread appender([&] {
        while (appended < kRows && !hasFailed) {
            std::vector<HistoryRow> rows;
            for (int i = appended; i < appended + 500; ++i)
                rows.push_back(row(0, i, Value(std::ldexp(1.0 + i, i % 60))));
            hasFailed = !store.append(rows);
            appended += 500;
        }
    });
    const auto reader = store.reader();
    bool isRight = true;
    for (int turn = 0; appended < kRows && isRight && !hasFailed; ++turn) {
        const int before = appended;
        const int from = turn % 2 == 0 ? 0 : before * 9 / 10;
        int expected = from;
        const auto read = reader->query(kSeries[0].id, kStart + milliseconds(from), kEver, [&](const HistoryRow &r) {
            isRight = isRight && r.value == Value(std::ldexp(1.0 + expected, expected % 60))
                && r.time == kStart + milliseconds(expected);
            ++expected;
            return isRight;
        });
        isRight = isRight && read && expected >= before;
        const auto minutes = reader->rollups(kSeries[0].id, kStart, kStart + seconds(1), RollupStep::Minute);
        isRight = isRight && minutes && (minutes.value().empty() || minutes.value()[0].count <= 60'000);
    }
    hasFailed = hasFailed || !isRight;
    appender.join();
    QVERIFY(isRight);
    QVERIFY(!hasFailed);
    QVERIFY(files("*.gls").size() < 12);
    QVERIFY(store.takeFaults().isEmpty());
}

QTEST_GUILESS_MAIN(EmbeddedHistoryTest)
#include "tst_embeddedhistory.moc"
