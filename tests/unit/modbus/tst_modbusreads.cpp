// SPDX-License-Identifier: Apache-2.0
// The driver's reads against a scripted device: plans, exceptions, learnt holes, exactly one sample for each poll.
#include "channelfixture.h"
#include "scripteddevice.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using namespace std::chrono_literals;
using Request = ScriptedDevice::Request;

namespace {

QString holding(int address) { return QStringLiteral("holding:%1").arg(address); }

QJsonObject params(const char *key, int value) { return {{QLatin1String(key), value}}; }

} // namespace

class ModbusReadsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void oneBatchOneStamp();
    void aMissingRegisterInAGap();
    void aMissingRegisterOfAPoint();
    void learntHolesAreTestedAgain();
    void declaredHolesAreNeverTouched();
    void illegalFunctionIsNotSplit();
    void failuresOfTheDevice_data();
    void failuresOfTheDevice();
    void busyDeviceIsAskedAgain_data();
    void busyDeviceIsAskedAgain();
    void absentUnitBehindAGateway();
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

// PC-08, first run
void ModbusReadsTest::aMissingRegisterInAGap()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.holes = {5};
    ChannelFixture channel;
    for (const int address : {0, 1, 2, 3, 4, 6, 7, 8, 9}) {
        channel.point(holding(address));
        device.registers[address] = 100 + address;
    }
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"3:0+10", "3:0+5", "3:6+4"}));
    for (const auto &sample : channel.samples)
        QCOMPARE(sample.quality, Quality::Good);
    for (int poll = 2; poll <= 5; ++poll) {
        device.requests.clear();
        QVERIFY(channel.pollAllAndWait());
        QCOMPARE(device.requestTexts(), (QList<QByteArray>{"3:0+5", "3:6+4"}));
    }
    QCOMPARE(channel.health.back().first, LinkHealth::Online);
    QCOMPARE(channel.failure(), QString());
}

// PC-08, second run
void ModbusReadsTest::aMissingRegisterOfAPoint()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.holes = {5};
    ChannelFixture channel;
    std::vector<PointHandle> points;
    for (int address = 0; address < 10; ++address) {
        points.push_back(channel.point(holding(address)));
        device.registers[address] = 100 + address;
    }
    QVERIFY(channel.open(device.port()));
    for (int poll = 1; poll <= 3; ++poll) {
        device.requests.clear();
        QVERIFY(channel.pollAllAndWait());
        for (int address = 0; address < 10; ++address) {
            const auto handle = points[static_cast<std::size_t>(address)];
            if (address == 5)
                QCOMPARE(channel.last(handle).quality, Quality::BadConfigurationError);
            else
                QVERIFY(channel.isGood(handle, Value(100 + address)));
        }
    }
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"3:0+5", "3:6+4"}));
    const auto &[health, why] = channel.health.back();
    QCOMPARE(health, LinkHealth::Degraded);
    QCOMPARE(why.code, QStringLiteral("modbus.exception2"));
    QVERIFY2(why.message.contains(QStringLiteral("holding:5")), qPrintable(why.message));
    QVERIFY2(why.message.contains(QStringLiteral("illegal data address (2)")), qPrintable(why.message));
}

void ModbusReadsTest::learntHolesAreTestedAgain()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.holes = {1};
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    const auto b = channel.point(holding(1));
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(channel.last(b).quality, Quality::BadConfigurationError);
    device.holes.clear();
    channel.clock.advance(10min - 1s);
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requests.back().text(), QByteArray("3:0+1"));
    QCOMPARE(channel.last(b).quality, Quality::BadConfigurationError);
    channel.clock.advance(1s);
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requests.back().text(), QByteArray("3:0+2"));
    QCOMPARE(channel.last(a).quality, Quality::Good);
    QCOMPARE(channel.last(b).quality, Quality::Good);
}

void ModbusReadsTest::declaredHolesAreNeverTouched()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    channel.device(QStringLiteral("d"), {{QStringLiteral("holes"), QJsonArray{QStringLiteral("holding:1-2")}}});
    channel.point(holding(0));
    channel.point(holding(3));
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"3:0+1", "3:3+1"}));
}

void ModbusReadsTest::illegalFunctionIsNotSplit()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto a = channel.point(QStringLiteral("discrete:0"), RegisterType::Bool);
    const auto b = channel.point(QStringLiteral("discrete:9"), RegisterType::Bool);
    const auto c = channel.point(holding(0));
    QVERIFY(channel.open(device.port()));
    for (int poll = 0; poll < 3; ++poll)
        QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requestTexts().count("2:0+10"), 1);
    QCOMPARE(device.requests.size(), 4);
    QCOMPARE(channel.last(a).quality, Quality::BadConfigurationError);
    QCOMPARE(channel.last(b).quality, Quality::BadConfigurationError);
    QCOMPARE(channel.last(c).quality, Quality::Good);
    channel.clock.advance(10min);
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requestTexts().count("2:0+10"), 2);
}

void ModbusReadsTest::failuresOfTheDevice_data()
{
    QTest::addColumn<int>("code");
    for (const int code : {4, 7, 8, 0, 9, 0x7F, 0xF4})
        QTest::addRow("%d", code) << code;
}

void ModbusReadsTest::failuresOfTheDevice()
{
    QFETCH(int, code);
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers[0] = 42;
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    channel.point(holding(1));
    QVERIFY(channel.open(device.port()));
    device.setScript([code](const Request &r) { return ScriptedDevice::exception(r, code); });
    for (int poll = 1; poll <= 4; ++poll) {
        QVERIFY(channel.pollAllAndWait());
        QCOMPARE(channel.last(a).quality, Quality::BadDeviceFailure);
        QCOMPARE(device.requests.size(), poll); // no split, no repetition, and the next poll asks again
    }
    QCOMPARE(channel.health.back().second.code, QStringLiteral("modbus.exception%1").arg(code));
    device.setScript({});
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(42)));
    QCOMPARE(channel.health.back().first, LinkHealth::Online);
    QCOMPARE(channel.driver().statistics().exceptions, std::uint64_t{4});
    QCOMPARE(device.connections, 1);
}

void ModbusReadsTest::busyDeviceIsAskedAgain_data()
{
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("busyAnswers");
    QTest::addColumn<bool>("isGood");
    QTest::newRow("acknowledge") << 5 << 1 << true;
    QTest::newRow("busy twice") << 6 << 2 << true;
    QTest::newRow("busy for ever") << 6 << 100 << false;
}

void ModbusReadsTest::busyDeviceIsAskedAgain()
{
    QFETCH(int, code);
    QFETCH(int, busyAnswers);
    QFETCH(bool, isGood);
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(device.port()));
    device.setScript([&](const Request &r) {
        return device.requests.size() <= busyAnswers ? ScriptedDevice::exception(r, code) : device.answer(r);
    });
    QElapsedTimer timer;
    timer.start();
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(channel.last(a).quality, isGood ? Quality::Good : Quality::BadDeviceFailure);
    QCOMPARE(device.requests.size(), isGood ? busyAnswers + 1 : 4);
    QVERIFY(timer.elapsed() >= (busyAnswers == 1 ? 100 : busyAnswers == 2 ? 400 : 1'400));
}

void ModbusReadsTest::absentUnitBehindAGateway()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    channel.device(QStringLiteral("alive"), params("unit", 1));
    const auto alive = channel.point(holding(0));
    channel.device(QStringLiteral("absent"), params("unit", 2));
    const auto absent = channel.point(holding(0));
    QVERIFY(channel.open(device.port()));
    bool isAbsent = true;
    device.setScript([&](const Request &r) {
        return isAbsent && r.unit() == 2 ? ScriptedDevice::exception(r, 11) : device.answer(r);
    });
    const auto requestsToAbsent = [&] {
        return std::count_if(device.requests.begin(), device.requests.end(),
                             [](const Request &r) { return r.unit() == 2; });
    };
    for (int poll = 0; poll < 50; ++poll) {
        QVERIFY(channel.pollAllAndWait());
        QCOMPARE(channel.last(alive).quality, Quality::Good);
        QCOMPARE(channel.last(absent).quality, Quality::BadCommunicationError);
    }
    QCOMPARE(requestsToAbsent(), 3); // the clock stands still: no probe
    QCOMPARE(channel.health.back().first, LinkHealth::BackingOff);
    for (int second = 0; second < 300; ++second) {
        channel.clock.advance(1s);
        QVERIFY(channel.pollAllAndWait());
        QCOMPARE(channel.last(alive).quality, Quality::Good);
    }
    QVERIFY2(requestsToAbsent() <= 3 + 5 + 10, qPrintable(QString::number(requestsToAbsent())));
    isAbsent = false;
    int waited = 0;
    for (; channel.last(absent).quality != Quality::Good && waited <= 31; ++waited) {
        channel.clock.advance(1s);
        QVERIFY(channel.pollAllAndWait());
    }
    QVERIFY2(waited <= 31, qPrintable(QString::number(waited)));
    QCOMPARE(channel.health.back().first, LinkHealth::Online);
    QCOMPARE(device.connections, 1); // the link was kept
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
