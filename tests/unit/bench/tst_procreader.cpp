// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/canary.h"
#include "tools/bench/sampler.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QDir>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <sys/resource.h>

using namespace gridloom;

class ProcReaderTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void recordedTextsAreRead();
    void brokenTextsGiveNothing();
    void summaryIsNearestRank();
    void samplerCountsWhatIsWritten();
    void samplerAgreesWithTheKernel();
    void canaryWritesUntilStopped();
    void canaryNamesTheFolderItCannotUse();
};

void ProcReaderTest::recordedTextsAreRead()
{
    const auto cpu =
        parseDeviceCpu("cpu  10132153 290696 3084719 46828483 16683 9 25195 7 175628 11\ncpu0 1 2 3 4 5\n");
    QVERIFY(cpu);
    QCOMPARE(cpu->busy, std::uint64_t(10132153 + 290696 + 3084719 + 9 + 25195 + 7));
    QCOMPARE(cpu->ioWait, std::uint64_t(16683));
    QCOMPARE(cpu->idle, std::uint64_t(46828483));
    QCOMPARE(parseMemoryUsedKb("MemTotal:       24689764 kB\nMemFree:        123 kB\nMemAvailable:   23689764 kB\n"),
             std::optional<std::uint64_t>(1'000'000));
    // A name with blanks and brackets shifts nothing.
    const auto use = parseProcessUse("4711 (odd ) (name) S 1 4711 4711 0 -1 4194304 900 0 0 0 150 50 7 3 20 0 9 0 "
                                     "123456 200000000 5120 18446744073709551615 1 1 0 0 0 0 0\n");
    QVERIFY(use);
    QCOMPARE(use->cpuTicks, std::uint64_t(150 + 50 + 7 + 3));
    QCOMPARE(use->threads, 9);
    QCOMPARE(use->rssPages, std::uint64_t(5120));
    QCOMPARE(parseWrittenBytes("rchar: 6976\nwchar: 9\nread_bytes: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 1\n"),
             std::optional<std::uint64_t>(4096));
    QCOMPARE(
        parseDiskWritten("  286968    49712 14744114   267195   817065   178695 60780416   396940        0    93996\n"),
        std::optional<std::uint64_t>(60'780'416ULL * 512));
}

// Against what is written here.
void ProcReaderTest::samplerCountsWhatIsWritten()
{
    const QTemporaryDir folder(QStringLiteral("/var/tmp/gridloom-XXXXXX"));
    QFile file(folder.filePath(QStringLiteral("written")));
    QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Unbuffered));
    Sampler sampler;
    const SteadyTime from = std::chrono::steady_clock::now();
    sampler.start(QCoreApplication::applicationPid(), folder.path());
    const QByteArray block(1 << 20, 'x');
    double writtenMb = 0;
    for (QDeadlineTimer end(2'200); !end.hasExpired();) {
        QCOMPARE(file.write(block), block.size());
        writtenMb += static_cast<double>(block.size()) / 1e6;
        QTest::qWait(50);
    }
    sampler.stop();
    const double perDay = sampler.evaluate(from, std::chrono::steady_clock::now()).writtenGbPerDay;
    const double expected = writtenMb / 1e3 / 2.2 * 86'400;
    QVERIFY2(perDay > 0.5 * expected && perDay < 2 * expected,
             qPrintable(QStringLiteral("%1, about %2 expected").arg(perDay).arg(expected)));
}

void ProcReaderTest::brokenTextsGiveNothing()
{
    QVERIFY(!parseDeviceCpu(""));
    QVERIFY(!parseDeviceCpu("cpu  1 2 3\n"));
    QVERIFY(!parseMemoryUsedKb("MemTotal: 5 kB\n"));
    QVERIFY(!parseWrittenBytes("rchar: 6976\n"));
    QVERIFY(!parseDiskWritten(""));
    QVERIFY(!parseProcessUse("4711 (gone"));
    QVERIFY(!parseProcessUse("4711 (short) S 1 2 3"));
}

void ProcReaderTest::summaryIsNearestRank()
{
    std::vector<double> readings;
    for (int i = 100; i >= 1; --i)
        readings.push_back(i);
    const Summary s = summarize(readings);
    QCOMPARE(s.n, std::size_t(100));
    QCOMPARE(s.avg, 50.5);
    QCOMPARE(s.p95, 95.0);
    QCOMPARE(s.p99, 99.0);
    QCOMPARE(s.peak, 100.0);
    QCOMPARE(summarize({7}).p95, 7.0);
    QCOMPARE(summarize({}).peak, 0.0);
}

// Against getrusage(2): this process burns CPU while it is sampled.
void ProcReaderTest::samplerAgreesWithTheKernel()
{
    const auto cpuMs = [] {
        rusage use{};
        ::getrusage(RUSAGE_SELF, &use);
        return 1e3 * static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec)
            + 1e-3 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    };
    Sampler sampler;
    const SteadyTime from = std::chrono::steady_clock::now();
    const double before = cpuMs();
    sampler.start(QCoreApplication::applicationPid(), QDir::tempPath());
    QElapsedTimer timer;
    timer.start();
    volatile double work = 0;
    while (timer.elapsed() < 2'200)
        work = work + 1;
    const double elapsedMs = static_cast<double>(timer.elapsed());
    const double percent = 100.0 * (cpuMs() - before) / elapsedMs;
    sampler.stop();
    const UseOfMachine use = sampler.evaluate(from, std::chrono::steady_clock::now());
    QCOMPARE(use.deviceCpuPercent.n, std::size_t(2)); // of three readings, two have one before them
    QVERIFY2(std::abs(use.runtimeCpuPercent - percent) < 25,
             qPrintable(QStringLiteral("%1 and %2 %").arg(use.runtimeCpuPercent).arg(percent)));
    QVERIFY(use.deviceCpuPercent.avg > 0 && use.deviceCpuPercent.peak <= 100);
    QVERIFY(use.runtimeRssMb > 1 && use.deviceMemoryMb.avg > use.runtimeRssMb);
    QCOMPARE(sampler.timeouts(), std::uint64_t(0));
    QVERIFY(use.runtimeThreads >= 2); // this one and the sampler's
}

void ProcReaderTest::canaryWritesUntilStopped()
{
    const QTemporaryDir folder;
    Canary canary;
    const SteadyTime from = std::chrono::steady_clock::now();
    QVERIFY(canary.start(folder.path()).ok());
    QElapsedTimer timer;
    timer.start();
    QTRY_VERIFY(timer.elapsed() > 450);
    canary.stop();
    const Summary s = canary.evaluate(from, std::chrono::steady_clock::now());
    QVERIFY2(s.n >= 1 && s.n <= 6, qPrintable(QString::number(s.n)));
    QVERIFY(s.p95 > 0 && s.p95 <= s.peak);
    QCOMPARE(canary.evaluate(from - std::chrono::hours(1), from).n, std::size_t(0));
}

void ProcReaderTest::canaryNamesTheFolderItCannotUse()
{
    Canary canary;
    const auto started = canary.start(QStringLiteral("/proc/nowhere"));
    QVERIFY(!started);
    QVERIFY(started.error().message.contains(QStringLiteral("/proc/nowhere")));
}

QTEST_GUILESS_MAIN(ProcReaderTest)
#include "tst_procreader.moc"
