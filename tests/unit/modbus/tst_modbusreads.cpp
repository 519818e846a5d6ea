// SPDX-License-Identifier: Apache-2.0
// The driver's reads against a scripted device: batches, stamps, exactly one sample for each poll.
#include "channelfixture.h"
#include "scripteddevice.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using namespace std::chrono_literals;
using Request = ScriptedDevice::Request;

namespace {

QString holding(int address)
{
    return QStringLiteral("holding:%1").arg(address);
}

QJsonObject params(const char *key, int value)
{
    return {{QLatin1String(key), value}};
}

} // namespace

class ModbusReadsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void oneBatchOneStamp();
    void overlappingPollsAreAnsweredAtOnce();
    void nonFiniteNumbersAreNull();
    void severalRequestsOnTheirWay();
    void pauseBetweenRequests();
    void stopAnswersEverything();
    void refusesBadDesigns_data();
    void refusesBadDesigns();
};

void ModbusReadsTest::oneBatchOneStamp()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers = {{0, 0x4366}, {1, 0x8000}, {10, 0xFFF3}};
    ChannelFixture channel;
    const auto a = channel.point(holding(0), RegisterType::Float32);
    const auto b = channel.point(holding(10), RegisterType::Int16);
    channel.lastPoint().format.scale = 0.1;
    QVERIFY(channel.open(device.port()));
    channel.clock.advance(5s);
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(230.5)));
    QVERIFY(channel.isGood(b, Value(-1.3)));
    QCOMPARE(channel.batches, std::vector<std::size_t>{2});
    for (const auto handle : {a, b}) {
        QCOMPARE(channel.last(handle).gatewayTime, channel.clock.steadyNow());
        QCOMPARE(channel.last(handle).sourceTime, channel.clock.wallNow());
    }
    QCOMPARE(device.requestTexts(), QList<QByteArray>{"3:0+11"});
    QCOMPARE(channel.driver().statistics().reads, std::uint64_t{1});
    QCOMPARE(channel.health.size(), std::size_t{1});
    QCOMPARE(channel.health.back().first, LinkHealth::Online);
    QCOMPARE(channel.failure(), QString());
}

void ModbusReadsTest::overlappingPollsAreAnsweredAtOnce()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers[0] = 5;
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    Request held;
    device.setScript([&](const Request &r) {
        held = r;
        return QByteArray();
    });
    channel.pollAll();
    QTRY_VERIFY(!held.frame.isEmpty());
    QCOMPARE(channel.samples.size(), channel.polled - 1);
    for (int i = 0; i < 3; ++i) {
        channel.pollAll();
        QCOMPARE(channel.samples.size(), channel.polled - 1);
        QCOMPARE(channel.last(a).quality, Quality::UncertainLastUsable);
        QCOMPARE(channel.last(a).value, Value(5));
    }
    device.registers[0] = 6;
    device.send(device.answer(held));
    QTRY_COMPARE(channel.samples.size(), channel.polled);
    QVERIFY(channel.isGood(a, Value(6)));
    QCOMPARE(device.requests.size(), 2);
    device.setScript({});
    // The same handle twice in one poll, and a handle of another channel.
    channel.poll({a, a, 4711});
    QTRY_COMPARE(channel.samples.size(), channel.polled);
    QCOMPARE(channel.last(4711).quality, Quality::BadConfigurationError);
    QCOMPARE(channel.failure(), QString());
}

void ModbusReadsTest::nonFiniteNumbersAreNull()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers = {{0, 0x7FC0}, {2, 0x7F80}, {4, 0xFF80}};
    ChannelFixture channel;
    for (const int address : {0, 2, 4})
        channel.point(holding(address), RegisterType::Float32);
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    for (const auto &sample : channel.samples) {
        QCOMPARE(sample.quality, Quality::BadOutOfRange);
        QVERIFY(sample.value.isNull());
    }
}

// Answers to four requests come in reverse order, in one piece or byte by byte.
void ModbusReadsTest::severalRequestsOnTheirWay()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    std::vector<PointHandle> points;
    for (int i = 0; i < 6; ++i) {
        device.registers[100 * i] = 1000 + i;
        points.push_back(channel.point(holding(100 * i)));
    }
    QVERIFY(channel.open(device.port(), params("maxInFlight", 4)));
    QList<Request> held;
    device.setScript([&](const Request &r) {
        held << r;
        return QByteArray();
    });
    channel.pollAll();
    QTRY_COMPARE(held.size(), 4);
    QByteArray merged;
    for (qsizetype i = held.size(); i-- > 0;)
        merged += device.answer(held[i]);
    device.send(merged);
    QTRY_COMPARE(channel.samples.size(), std::size_t{4});
    QTRY_COMPARE(held.size(), 6);
    const auto rest = device.answer(held[5]) + device.answer(held[4]);
    for (const char byte : rest)
        device.send(QByteArray(1, byte));
    QTRY_COMPARE(channel.samples.size(), std::size_t{6});
    for (std::size_t i = 0; i < points.size(); ++i)
        QVERIFY(channel.isGood(points[i], Value(1000 + static_cast<int>(i))));
    QCOMPARE(channel.driver().statistics().droppedFrames, std::uint64_t{0});
}

void ModbusReadsTest::pauseBetweenRequests()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    channel.point(holding(0));
    channel.point(holding(100));
    channel.point(holding(200));
    QVERIFY(channel.open(device.port(), params("delayMs", 40)));
    QTRY_COMPARE(device.openConnections(), 1);
    QElapsedTimer timer;
    timer.start();
    QVERIFY(channel.pollAllAndWait());
    QVERIFY2(timer.elapsed() >= 80, qPrintable(QString::number(timer.elapsed())));
}

void ModbusReadsTest::stopAnswersEverything()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.setScript([](const Request &) { return QByteArray(); });
    ChannelFixture channel;
    channel.point(holding(0));
    channel.point(holding(100));
    const auto setpoint = channel.point(holding(200), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    channel.pollAll();
    const auto id = channel.write(setpoint, Value(1));
    QTRY_COMPARE(device.requests.size(), 1);
    channel.driver().stop();
    QCOMPARE(channel.samples.size(), channel.polled);
    QCOMPARE(channel.results.at(id).error.code, QStringLiteral("driver.stopped"));
    channel.driver().stop();
    channel.pollAll();
    QCOMPARE(channel.samples.size(), channel.polled);
    QCOMPARE(channel.last(setpoint).quality, Quality::BadNotConnected);
    QCOMPARE(channel.results.at(channel.write(setpoint, Value(1))).state, WriteResult::State::Rejected);
    QTRY_COMPARE(device.openConnections(), 0);
    QCOMPARE(channel.failure(), QString());
}

void ModbusReadsTest::refusesBadDesigns_data()
{
    QTest::addColumn<QString>("address");
    QTest::addColumn<int>("type");
    QTest::addColumn<bool>("isWritable");
    QTest::addColumn<QString>("code");
    const auto row = [](const char *name, const char *address, RegisterType type, bool isWritable, const char *code) {
        QTest::newRow(name) << QString::fromLatin1(address) << static_cast<int>(type) << isWritable
                            << QString::fromLatin1(code);
    };
    using enum RegisterType;
    row("no address", "", UInt16, false, "modbus.address");
    row("beyond the table", "holding:65535", Float32, false, "modbus.address");
    row("number in a coil", "coil:1", UInt16, false, "modbus.type");
    row("input is read-only", "input:1", UInt16, true, "modbus.notWritable");
    row("discrete is read-only", "discrete:1", Bool, true, "modbus.notWritable");
    row("one bit of a register", "holding:1", Bool, true, "modbus.notWritable");
    row("in a hole", "holding:90", UInt16, false, "modbus.hole");
}

void ModbusReadsTest::refusesBadDesigns()
{
    QFETCH(QString, address);
    QFETCH(int, type);
    QFETCH(bool, isWritable);
    QFETCH(QString, code);
    ChannelFixture channel;
    channel.device(QStringLiteral("boiler"), {{QStringLiteral("holes"), QJsonArray{QStringLiteral("holding:90")}}});
    channel.point(holding(3));
    channel.point(address, static_cast<RegisterType>(type), isWritable);
    const auto result = channel.configure({});
    QVERIFY(!result.ok());
    QCOMPARE(result.error().code, code);
    QVERIFY2(result.error().message.startsWith(QStringLiteral("boiler.p1: ")), qPrintable(result.error().message));
}

QTEST_GUILESS_MAIN(ModbusReadsTest)
#include "tst_modbusreads.moc"
