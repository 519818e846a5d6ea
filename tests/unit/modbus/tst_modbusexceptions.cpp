// SPDX-License-Identifier: Apache-2.0
// Exceptions on reads: learnt holes, refused functions, failing, busy and absent devices.
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

class ModbusExceptionsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
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
};

// PC-08, first run
void ModbusExceptionsTest::aMissingRegisterInAGap()
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
void ModbusExceptionsTest::aMissingRegisterOfAPoint()
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

void ModbusExceptionsTest::learntHolesAreTestedAgain()
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

void ModbusExceptionsTest::declaredHolesAreNeverTouched()
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

void ModbusExceptionsTest::illegalFunctionIsNotSplit()
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

void ModbusExceptionsTest::failuresOfTheDevice_data()
{
    QTest::addColumn<int>("code");
    for (const int code : {4, 7, 8, 0, 9, 0x7F, 0xF4})
        QTest::addRow("%d", code) << code;
}

void ModbusExceptionsTest::failuresOfTheDevice()
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

void ModbusExceptionsTest::busyDeviceIsAskedAgain_data()
{
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("busyAnswers");
    QTest::addColumn<bool>("isGood");
    QTest::newRow("acknowledge") << 5 << 1 << true;
    QTest::newRow("busy twice") << 6 << 2 << true;
    QTest::newRow("busy for ever") << 6 << 100 << false;
}

void ModbusExceptionsTest::busyDeviceIsAskedAgain()
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

void ModbusExceptionsTest::absentUnitBehindAGateway()
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

QTEST_GUILESS_MAIN(ModbusExceptionsTest)
#include "tst_modbusexceptions.moc"
