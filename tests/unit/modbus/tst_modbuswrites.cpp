// SPDX-License-Identifier: Apache-2.0
// Writes: order, verification, deadlines, exceptions.
#include "channelfixture.h"
#include "scripteddevice.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using namespace std::chrono_literals;
using Request = ScriptedDevice::Request;
using State = WriteResult::State;

namespace {
QString holding(int address)
{
    return QStringLiteral("holding:%1").arg(address);
}
} // namespace

class ModbusWritesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void confirmedByReadBack();
    void withoutVerification();
    void goesBeforeWaitingReads();
    void writesOfOnePointKeepTheirOrder();
    void mismatch();
    void exceptions_data();
    void exceptions();
    void busyDeviceIsAskedAgain();
    void acknowledgeIsFollowedByReadBack();
    void notSentAfterItsDeadline();
    void unansweredEndsByItsDeadline();
    void repeatedAfterALostConnection();
    void refusedWithoutARequest();
};

void ModbusWritesTest::confirmedByReadBack()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto power = channel.point(holding(40), RegisterType::Int16, true);
    channel.lastPoint().format.scale = 0.1;
    const auto energy = channel.point(holding(50), RegisterType::Float32, true);
    channel.lastPoint().format.order = ByteOrder::WordSwapped;
    QVERIFY(channel.open(device.port()));
    const auto a = channel.write(power, Value(-1.3));
    const auto b = channel.write(energy, Value(230.5));
    QTRY_COMPARE(channel.results.size(), std::size_t{2});
    QCOMPARE(channel.results.at(a).state, State::Confirmed);
    QCOMPARE(channel.results.at(a).readBack, Value(-1.3));
    QCOMPARE(channel.results.at(b).readBack, Value(230.5));
    QCOMPARE(device.registers[40], 0xFFF3);
    QCOMPARE(device.registers[50], 0x8000);
    QCOMPARE(device.registers[51], 0x4366);
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"6:40=65523", "3:40+1", "16:50+2", "3:50+2"}));
    const auto statistics = channel.driver().statistics();
    QCOMPARE(statistics.writes, std::uint64_t{2});
    QCOMPARE(statistics.readBacks, std::uint64_t{2});
    QCOMPARE(statistics.reads, std::uint64_t{0});
    QCOMPARE(channel.failure(), QString());
}

void ModbusWritesTest::withoutVerification()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(40), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    const auto id = channel.write(p, Value(7), 2s, false);
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(id).state, State::Confirmed);
    QVERIFY(channel.results.at(id).readBack.isNull());
    QCOMPARE(device.requestTexts(), QList<QByteArray>{"6:40=7"});
}

// PC-12: it waits for the one read on its way and for no other.
void ModbusWritesTest::goesBeforeWaitingReads()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    for (const int address : {0, 200, 400})
        channel.point(holding(address));
    const auto p = channel.point(holding(600), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    Request held;
    device.setScript([&](const Request &r) {
        held = r;
        return QByteArray();
    });
    channel.pollAll();
    QTRY_COMPARE(device.requests.size(), 1);
    channel.write(p, Value(7));
    device.setScript({});
    device.send(device.answer(held));
    QTRY_COMPARE(channel.samples.size(), channel.polled);
    QCOMPARE(device.requestTexts(),
             (QList<QByteArray>{"3:0+1", "6:600=7", "3:600+1", "3:200+1", "3:400+1", "3:600+1"}));
    QVERIFY(channel.isGood(p, Value(7)));
}

void ModbusWritesTest::writesOfOnePointKeepTheirOrder()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    const auto q = channel.point(holding(1), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port(), {{QStringLiteral("maxInFlight"), 8}}));
    for (int i = 1; i <= 20; ++i) {
        channel.write(p, Value(i));
        channel.write(q, Value(100 + i));
    }
    QTRY_COMPARE(channel.results.size(), std::size_t{40});
    for (const auto &[id, result] : channel.results)
        QCOMPARE(result.state, State::Confirmed);
    int lastP = 0;
    int lastQ = 100;
    for (const auto &r : device.requests) {
        if (r.function() != 6)
            continue;
        auto &last = r.address() == 0 ? lastP : lastQ;
        QCOMPARE(r.count(), last + 1);
        last = r.count();
    }
    QCOMPARE(lastP, 20);
    QCOMPARE(lastQ, 120);
}

void ModbusWritesTest::mismatch()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    device.setScript([&](const Request &r) {
        auto answer = device.answer(r);
        if (r.function() == 6)
            device.registers[0] = 50; // the device limits what it is told
        return answer;
    });
    const auto id = channel.write(p, Value(80));
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(id).state, State::Mismatch);
    QCOMPARE(channel.results.at(id).readBack, Value(50));
    QCOMPARE(channel.results.at(id).error.code, QStringLiteral("modbus.mismatch"));
}

void ModbusWritesTest::exceptions_data()
{
    QTest::addColumn<int>("function");
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("state");
    for (const int code : {1, 2, 3, 4, 7, 8, 10, 11, 0x7F})
        QTest::addRow("write %d", code) << 6 << code << static_cast<int>(State::Rejected);
    QTest::newRow("cannot be read back") << 3 << 2 << static_cast<int>(State::Mismatch);
}

void ModbusWritesTest::exceptions()
{
    QFETCH(int, function);
    QFETCH(int, code);
    QFETCH(int, state);
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    device.setScript([&](const Request &r) {
        return r.function() == function ? ScriptedDevice::exception(r, code) : device.answer(r);
    });
    const auto id = channel.write(p, Value(80));
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    const auto &result = channel.results.at(id);
    QCOMPARE(static_cast<int>(result.state), state);
    QCOMPARE(result.error.code, QStringLiteral("modbus.exception%1").arg(code));
    QCOMPARE(result.error.isRetryable, code > 3);
    QCOMPARE(device.requests.size(), function == 6 ? 1 : 2); // not repeated
}

void ModbusWritesTest::busyDeviceIsAskedAgain()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    device.setScript([&](const Request &r) {
        return device.requests.size() == 1 ? ScriptedDevice::exception(r, 6) : device.answer(r);
    });
    const auto id = channel.write(p, Value(80));
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(id).state, State::Confirmed);
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"6:0=80", "6:0=80", "3:0+1"}));
}

void ModbusWritesTest::acknowledgeIsFollowedByReadBack()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    device.setScript([&](const Request &r) {
        if (r.function() == 6)
            return ScriptedDevice::exception(r, 5);
        if (device.requests.size() == 3) // at the second read-back the device is done
            device.registers[0] = 80;
        return device.answer(r);
    });
    const auto id = channel.write(p, Value(80));
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(id).state, State::Confirmed);
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"6:0=80", "3:0+1", "3:0+1"}));
}

void ModbusWritesTest::notSentAfterItsDeadline()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    const auto port = device.port();
    device.shutDown();
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(port));
    const auto late = channel.write(p, Value(1), 100ms);
    const auto inTime = channel.write(p, Value(2), 5s);
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(late).state, State::TimedOut);
    QCOMPARE(channel.results.at(late).error.code, QStringLiteral("driver.timeout"));
    QVERIFY(device.listen(port));
    QTRY_COMPARE(channel.results.size(), std::size_t{2});
    QCOMPARE(channel.results.at(inTime).state, State::Confirmed);
    QCOMPARE(device.requestTexts(), (QList<QByteArray>{"6:0=2", "3:0+1"}));
}

void ModbusWritesTest::unansweredEndsByItsDeadline()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.setScript([](const Request &) { return QByteArray(); });
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    QElapsedTimer timer;
    timer.start();
    const auto id = channel.write(p, Value(1), 80ms);
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(id).state, State::TimedOut);
    QVERIFY(timer.elapsed() >= 80 && timer.elapsed() < 2'000);
    QCOMPARE(device.requests.size(), 1);
}

void ModbusWritesTest::repeatedAfterALostConnection()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    QVERIFY(channel.open(device.port()));
    device.setScript([&](const Request &r) {
        if (device.requests.size() > 1)
            return device.answer(r);
        device.closeConnections();
        return QByteArray();
    });
    const auto id = channel.write(p, Value(5), 3s);
    QTRY_COMPARE(channel.results.size(), std::size_t{1});
    QCOMPARE(channel.results.at(id).state, State::Confirmed);
    QCOMPARE(device.registers[0], 5);
    QCOMPARE(device.connections, 2);
}

void ModbusWritesTest::refusedWithoutARequest()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    const auto p = channel.point(holding(0), RegisterType::UInt16, true);
    const auto readOnly = channel.point(holding(1));
    QVERIFY(channel.open(device.port()));
    const std::pair<WriteId, const char *> expected[] = {
        {channel.write(p, Value(65536)), "codec.outOfRange"},
        {channel.write(p, Value()), "codec.notANumber"},
        {channel.write(p, Value(std::nan(""))), "codec.notFinite"},
        {channel.write(readOnly, Value(1)), "modbus.notWritable"},
        {channel.write(4711, Value(1)), "modbus.notWritable"},
    };
    for (const auto &[id, code] : expected) {
        QCOMPARE(channel.results.at(id).state, State::Rejected);
        QCOMPARE(channel.results.at(id).error.code, QLatin1String(code));
    }
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requestTexts(), QList<QByteArray>{"3:0+2"});
}

QTEST_GUILESS_MAIN(ModbusWritesTest)
#include "tst_modbuswrites.moc"
