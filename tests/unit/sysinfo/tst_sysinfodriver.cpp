// SPDX-License-Identifier: Apache-2.0
#include "sysinfodriver.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QPluginLoader>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <deque>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace gridloom;

namespace {

class RecordingHost : public DriverHost {
public:
    void publish(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
    void deviceHealthChanged(DeviceHandle device, LinkHealth health, const Error &) override
    {
        healths.append({device, health});
    }
    void writeFinished(WriteId id, const WriteResult &result) override { writes.append({id, result}); }

    std::vector<Sample> samples;
    QList<std::pair<DeviceHandle, LinkHealth>> healths;
    QList<std::pair<WriteId, WriteResult>> writes;
};

/// A driver over a folder that stands for / and holds recorded files.
class Bench {
public:
    explicit Bench(const QList<QString> &addresses, const QString &root = {})
        : driver(host, clock, root.isEmpty() ? folder.path() : root)
    {
        DeviceBinding device{QStringLiteral("sys"), QStringLiteral("sys"), {}, {}};
        for (const QString &address : addresses) {
            Point point;
            point.id = address;
            point.address = address;
            point.handle = static_cast<PointHandle>(10 + points.size());
            points.push_back(point);
        }
        for (const Point &point : points)
            device.points.append(&point);
        configured = driver.configure(params, {device});
    }
    void write(const QString &path, const QByteArray &text)
    {
        QDir(folder.path()).mkpath(QFileInfo(path).path());
        QFile file(folder.filePath(path));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    }
    Sample poll(PointHandle handle)
    {
        host.samples.clear();
        driver.poll({&handle, 1});
        return host.samples.size() == 1 ? host.samples.front() : Sample();
    }

    QTemporaryDir folder;
    QJsonObject params{{QStringLiteral("path"), folder.path()}, {QStringLiteral("enduranceTb"), 20}};
    RecordingHost host;
    FakeClock clock;
    std::deque<Point> points;
    SysInfoDriver driver;
    Result<void> configured;
};

QList<QString> allAddresses()
{
    return {QStringLiteral("cpuPercent"),
            QStringLiteral("memoryPercent"),
            QStringLiteral("memoryMb"),
            QStringLiteral("diskFreePercent"),
            QStringLiteral("processCpuPercent"),
            QStringLiteral("processRssMb"),
            QStringLiteral("load1"),
            QStringLiteral("uptimeS"),
            QStringLiteral("temperature"),
            QStringLiteral("writtenGbPerDay"),
            QStringLiteral("diskWrittenGbPerDay"),
            QStringLiteral("flashYears")};
}

} // namespace

class SysInfoDriverTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sharesAreOfTheTimeBetweenPolls();
    void writtenBytesAndYearsOfLife();
    void yearsOfLifeNeedTheEndurance();
    void eachDuePointIsAnsweredOnce();
    void missingFilesAreBadNotZero();
    void temperatureIsTheHottest();
    void scaleAndOffset();
    void agreesWithTheKernel();
    void writesAreRejected();
    void unknownAddressIsAnError();
    void manifestKnowsTheSameAddresses();
};

void SysInfoDriverTest::sharesAreOfTheTimeBetweenPolls()
{
    Bench bench({QStringLiteral("cpuPercent"), QStringLiteral("processCpuPercent")});
    QVERIFY(bench.configured.ok());
    bench.write(QStringLiteral("proc/stat"), "cpu  1000 0 0 9000 0 0 0 0 0 0\n");
    bench.write(QStringLiteral("proc/self/stat"), "1 (x) R 1 1 1 0 -1 0 0 0 0 0 100 50 0 0");
    bench.write(QStringLiteral("proc/uptime"), "100.00 190.00\n");
    bench.driver.start();
    // Not a clock tick later: no share yet.
    QCOMPARE(bench.poll(10).quality, Quality::BadWaitingForInitialData);
    QCOMPARE(bench.poll(11).quality, Quality::BadWaitingForInitialData);
    QVERIFY(bench.poll(10).value.isNull());

    // 50 of 200 ticks; 1.5 s of CPU (at the 100 ticks a second of Linux) in 2 s.
    bench.write(QStringLiteral("proc/stat"), "cpu  1030 0 20 9150 0 0 0 0 0 0\n");
    const QByteArray ticks = QByteArray::number(100 + static_cast<int>(::sysconf(_SC_CLK_TCK)));
    bench.write(QStringLiteral("proc/self/stat"),
                "1 (x) R 1 1 1 0 -1 0 0 0 0 0 " + ticks + ' '
                    + QByteArray::number(50 + static_cast<int>(::sysconf(_SC_CLK_TCK) / 2)) + " 0 0");
    bench.write(QStringLiteral("proc/uptime"), "102.00 190.00\n");
    QCOMPARE(bench.poll(10).value, Value(25.0));
    QCOMPARE(bench.poll(11).value, Value(75.0));
    QCOMPARE(bench.poll(11).quality, Quality::Good);
    // Asked again within the same tick: the last share, not 0.
    QCOMPARE(bench.poll(10).value, Value(25.0));

    bench.write(QStringLiteral("proc/stat"), "cpu  1030 0 20 9250 0 0 0 0 0 0\n");
    QCOMPARE(bench.poll(10).value, Value(0.0));
}

void SysInfoDriverTest::writtenBytesAndYearsOfLife()
{
    Bench bench(
        {QStringLiteral("writtenGbPerDay"), QStringLiteral("diskWrittenGbPerDay"), QStringLiteral("flashYears")});
    struct stat disk {};
    QCOMPARE(::stat(QFile::encodeName(bench.folder.path()).constData(), &disk), 0);
    const QString diskStat = QStringLiteral("sys/dev/block/%1:%2/stat").arg(major(disk.st_dev)).arg(minor(disk.st_dev));
    const auto write = [&](const char *uptime, const char *bytes, const char *sectors) {
        bench.write(QStringLiteral("proc/uptime"), uptime);
        bench.write(QStringLiteral("proc/self/io"), QByteArray("rchar: 5\nwrite_bytes: ") + bytes + "\n");
        bench.write(diskStat, QByteArray(" 1 2 3 4 5 6 ") + sectors + " 8 9\n");
    };
    write("1000.00 190.00\n", "4096", "1000");
    bench.driver.start();
    write("1009.00 190.00\n", "4096", "1000");
    QCOMPARE(bench.poll(10).quality, Quality::BadWaitingForInitialData); // too short a time to speak of a day
    QCOMPARE(bench.poll(12).quality, Quality::BadWaitingForInitialData);
    // 100 s: 10 MB by the process are 8.64 GB a day; 40,000 sectors = 20.48 MB are 17.69 GB a day, 6.46 TB a year.
    write("1100.00 190.00\n", "10004096", "41000");
    QCOMPARE(bench.poll(10).value, Value(8.64));
    QCOMPARE(bench.poll(11).value, Value(17.69));
    QCOMPARE(bench.poll(12).value, Value(3.09)); // 20 / 6.463
    // Twelve hours on without a byte: the mean falls.
    write("44200.00 190.00\n", "10004096", "41000");
    QCOMPARE(bench.poll(10).value, Value(0.02));
}

void SysInfoDriverTest::yearsOfLifeNeedTheEndurance()
{
    Bench bench({QStringLiteral("load1")});
    Point point;
    point.address = QStringLiteral("flashYears");
    const auto refused = bench.driver.configure({}, {DeviceBinding{QStringLiteral("sys"), {}, {}, {&point}}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, QStringLiteral("sysinfo.endurance"));
}

void SysInfoDriverTest::eachDuePointIsAnsweredOnce()
{
    Bench bench(allAddresses(), QStringLiteral("/"));
    bench.driver.start();
    QCOMPARE(bench.host.healths.size(), 1);
    QCOMPARE(bench.host.healths.at(0).second, LinkHealth::Online);
    const std::vector<PointHandle> due{18, 10, 13, 11, 12, 14, 15, 16, 17, 21, 20, 19};
    bench.driver.poll(due);
    QCOMPARE(bench.host.samples.size(), due.size());
    for (std::size_t i = 0; i < due.size(); ++i) {
        QCOMPARE(bench.host.samples[i].point, due[i]);
        QCOMPARE(bench.host.samples[i].sourceTime, bench.clock.wallNow());
        QCOMPARE(bench.host.samples[i].gatewayTime, bench.clock.steadyNow());
    }
    QCOMPARE(bench.driver.statistics().reads, 0u); // no request on a wire
    bench.driver.stop();
    bench.driver.stop();
}

void SysInfoDriverTest::missingFilesAreBadNotZero()
{
    Bench bench(allAddresses());
    bench.driver.start();
    for (const Point &point : bench.points) {
        if (point.address == QLatin1String("diskFreePercent"))
            continue; // of the folder itself, which exists
        const Sample sample = bench.poll(point.handle);
        QVERIFY2(sample.value.isNull(), qPrintable(point.address));
        const bool isOptional = point.address == QLatin1String("temperature")
            || point.address == QLatin1String("diskWrittenGbPerDay") || point.address == QLatin1String("flashYears");
        QCOMPARE(sample.quality, isOptional ? Quality::BadNotSupported : Quality::BadDeviceFailure);
    }
}

void SysInfoDriverTest::temperatureIsTheHottest()
{
    Bench bench({QStringLiteral("temperature")});
    bench.write(QStringLiteral("sys/class/thermal/thermal_zone0/temp"), "41500\n");
    bench.write(QStringLiteral("sys/class/thermal/thermal_zone1/temp"), "48312\n");
    bench.write(QStringLiteral("sys/class/thermal/thermal_zone2/temp"), "");
    bench.write(QStringLiteral("sys/class/thermal/cooling_device0/temp"), "99000\n");
    bench.driver.start();
    QCOMPARE(bench.poll(10).value, Value(48.31));
    bench.write(QStringLiteral("sys/class/thermal/thermal_zone0/temp"), "");
    bench.write(QStringLiteral("sys/class/thermal/thermal_zone1/temp"), "");
    QCOMPARE(bench.poll(10).quality, Quality::BadDeviceFailure); // a sensor that is there and fails
}

void SysInfoDriverTest::scaleAndOffset()
{
    Bench bench({QStringLiteral("load1")});
    bench.points.front().format.scale = 10.0;
    bench.points.front().format.offset = -1.0;
    DeviceBinding device{QStringLiteral("sys"), QStringLiteral("sys"), {}, {&bench.points.front()}};
    QVERIFY(bench.driver.configure(bench.params, {device}));
    bench.write(QStringLiteral("proc/loadavg"), "2.62 0.97 0.36 3/212 31525\n");
    bench.driver.start();
    QCOMPARE(bench.poll(10).value, Value(25.2));
}

/// The running machine against other ways of asking it.
void SysInfoDriverTest::agreesWithTheKernel()
{
    Bench bench(allAddresses(), QStringLiteral("/"));
    bench.driver.start();
    const QByteArray ballast(64 << 20, 'x'); // resident: every page is written
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const double rssMb = bench.poll(15).value.real();
    QVERIFY2(rssMb > 64 && rssMb <= static_cast<double>(usage.ru_maxrss) / 1024.0 + 1.0,
             qPrintable(QString::number(rssMb)));
    QVERIFY(ballast.endsWith('x'));

    const double memoryMb = bench.poll(12).value.real();
    const double totalMb =
        static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
    QVERIFY(memoryMb > rssMb && memoryMb < totalMb);
    QVERIFY(std::abs(bench.poll(11).value.real() - 100.0 * memoryMb / totalMb) < 5.0);

    struct statvfs disk {};
    QCOMPARE(::statvfs(QFile::encodeName(bench.folder.path()).constData(), &disk), 0);
    QVERIFY(std::abs(bench.poll(13).value.real()
                     - 100.0 * static_cast<double>(disk.f_bavail) / static_cast<double>(disk.f_blocks))
            < 1.0);

    timespec uptime{};
    ::clock_gettime(CLOCK_BOOTTIME, &uptime);
    QVERIFY(std::abs(bench.poll(17).value.real() - static_cast<double>(uptime.tv_sec)) < 2.0);

    // 300 ms of CPU time burnt: the share is that over the time it took.
    bench.poll(14);
    timespec wallStart{};
    ::clock_gettime(CLOCK_BOOTTIME, &wallStart);
    const auto cpuSeconds = [] {
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    };
    const double cpuStart = cpuSeconds();
    while (cpuSeconds() - cpuStart < 0.3) {}
    const double share = bench.poll(14).value.real();
    timespec wallEnd{};
    ::clock_gettime(CLOCK_BOOTTIME, &wallEnd);
    const double wall = static_cast<double>(wallEnd.tv_sec - wallStart.tv_sec)
        + static_cast<double>(wallEnd.tv_nsec - wallStart.tv_nsec) * 1e-9;
    const double expected = 100.0 * (cpuSeconds() - cpuStart) / wall;
    QVERIFY2(std::abs(share - expected) < 15.0, qPrintable(QStringLiteral("%1 %2").arg(share).arg(expected)));
    const double device = bench.poll(10).value.real();
    QVERIFY(device > 0.0 && device <= 100.0);
}

void SysInfoDriverTest::writesAreRejected()
{
    Bench bench({QStringLiteral("load1")});
    bench.driver.start();
    WriteRequest request;
    request.id = 7;
    request.point = 10;
    request.value = Value(1.0);
    bench.driver.write(request);
    QCOMPARE(bench.host.writes.size(), 1);
    QCOMPARE(bench.host.writes.at(0).first, 7u);
    QCOMPARE(bench.host.writes.at(0).second.state, WriteResult::State::Rejected);
    QCOMPARE(bench.host.writes.at(0).second.error.code, QStringLiteral("sysinfo.readOnly"));
}

void SysInfoDriverTest::unknownAddressIsAnError()
{
    const Bench bench({QStringLiteral("load1"), QStringLiteral("load5")});
    QVERIFY(!bench.configured);
    QCOMPARE(bench.configured.error().code, QStringLiteral("sysinfo.address"));
    QVERIFY(bench.configured.error().message.contains(QStringLiteral("load5")));
}

void SysInfoDriverTest::manifestKnowsTheSameAddresses()
{
    QPluginLoader loader(QStringLiteral(GRIDLOOM_BINARY_DIR "/lib/gridloom/plugins/drivers/sysinfo/libsysinfo.so"));
    QVERIFY2(qobject_cast<DriverFactory *>(loader.instance()), qPrintable(loader.errorString()));
    const QJsonObject manifest = loader.metaData().value(QStringLiteral("MetaData")).toObject();
    QCOMPARE(manifest.value(QStringLiteral("id")).toString(), QStringLiteral("sysinfo"));
    const QRegularExpression pattern(manifest.value(QStringLiteral("addressPattern")).toString());
    QVERIFY(pattern.isValid());
    for (const QString &address : allAddresses()) {
        QVERIFY2(pattern.match(address).hasMatch(), qPrintable(address));
        QVERIFY2(Bench({address}).configured.ok(), qPrintable(address));
    }
    QVERIFY(!pattern.match(QStringLiteral("load5")).hasMatch());
    // Exactly these: as many alternatives as addresses.
    QCOMPARE(pattern.pattern().count(QLatin1Char('|')) + 1, allAddresses().size());
}

QTEST_APPLESS_MAIN(SysInfoDriverTest)
#include "tst_sysinfodriver.moc"
