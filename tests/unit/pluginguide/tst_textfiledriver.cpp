// SPDX-License-Identifier: Apache-2.0
#include "textfiledriver.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace gridloom;
using namespace gridloom::textfile;

namespace {

class RecordingHost final : public DriverHost {
public:
    void publish(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
    void deviceHealthChanged(DeviceHandle, LinkHealth health, const Error &) override { healths.push_back(health); }
    void writeFinished(WriteId id, const WriteResult &result) override { writes.emplace_back(id, result); }

    std::vector<Sample> samples;
    std::vector<LinkHealth> healths;
    std::vector<std::pair<WriteId, WriteResult>> writes;
};

} // namespace

class TextFileDriverTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void everyDuePointIsAnsweredOnce();
    void writesAreReadBack();
    void relativeFolderIsRefused();

private:
    void put(const char *file, const QByteArray &text)
    {
        QFile f(m_folder.filePath(QLatin1String(file)));
        QVERIFY(f.open(QIODevice::WriteOnly));
        f.write(text);
    }
    QTemporaryDir m_folder;
    FakeClock m_clock;
    RecordingHost m_host;
    std::vector<Point> m_points;
    std::unique_ptr<TextFileDriver> m_driver;
};

void TextFileDriverTest::init()
{
    m_host = {};
    m_points.assign(3, {});
    const char *addresses[] = {"temp", "count", "missing"};
    DeviceBinding device{QStringLiteral("board"), QStringLiteral("board"), {}, {}};
    for (PointHandle i = 0; i < 3; ++i) {
        m_points[i].handle = i;
        m_points[i].address = QLatin1String(addresses[i]);
        device.points.append(&m_points[i]);
    }
    m_points[0].format.scale = 0.001;
    put("temp", "48500\n");
    put("count", "9007199254740993\n");
    m_driver = std::make_unique<TextFileDriver>(m_host, m_clock);
    QVERIFY(m_driver->configure({{QStringLiteral("folder"), m_folder.path()}}, {device}));
    m_driver->start();
}

void TextFileDriverTest::everyDuePointIsAnsweredOnce()
{
    QCOMPARE(m_host.healths, std::vector{LinkHealth::Online});
    const PointHandle due[] = {0, 1, 2};
    m_driver->poll(due);
    QCOMPARE(m_host.samples.size(), 3U);
    QCOMPARE(m_host.samples[0].value.real(), 48.5);
    QCOMPARE(m_host.samples[0].sourceTime, m_clock.wallNow());
    QCOMPARE(m_host.samples[1].value.int64(), 9007199254740993);
    QCOMPARE(m_host.samples[2].quality, Quality::BadConfigurationError);
    QVERIFY(m_host.samples[2].value.isNull());
    put("temp", "nan");
    m_driver->poll({due, 1});
    QVERIFY(isBad(m_host.samples[3].quality) && m_host.samples[3].value.isNull());
}

void TextFileDriverTest::writesAreReadBack()
{
    WriteRequest request;
    request.id = 7;
    request.point = 1;
    request.value = Value(12);
    m_driver->write(request);
    request.id = 8;
    request.point = 2; // the file does not exist
    m_driver->write(request);
    QCOMPARE(m_host.writes.size(), 2U);
    QCOMPARE(m_host.writes[0].first, 7U);
    QCOMPARE(m_host.writes[0].second.state, WriteResult::State::Confirmed);
    QCOMPARE(m_host.writes[0].second.readBack.int64(), 12);
    QCOMPARE(m_host.writes[1].second.state, WriteResult::State::Rejected);
    QVERIFY(!QFile::exists(m_folder.filePath(QStringLiteral("missing"))));
}

void TextFileDriverTest::relativeFolderIsRefused()
{
    const auto result =
        TextFileDriver(m_host, m_clock).configure({{QStringLiteral("folder"), QStringLiteral("sys")}}, {});
    QVERIFY(!result);
    QCOMPARE(result.error().code, QStringLiteral("textfile.folder"));
}

QTEST_APPLESS_MAIN(TextFileDriverTest)
#include "tst_textfiledriver.moc"
