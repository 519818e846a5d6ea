// SPDX-License-Identifier: Apache-2.0
// Wrong frames, silence and lost connections.
#include "channelfixture.h"
#include "scripteddevice.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace gridloom::test;
using namespace std::chrono_literals;
using Request = ScriptedDevice::Request;

namespace {

QString holding(int address)
{
    return QStringLiteral("holding:%1").arg(address);
}

constexpr auto kTimeout = 60ms; // of tests that wait for it

QByteArray silent(const Request &)
{
    return {};
}

} // namespace

class ModbusFaultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void wrongTransactionId();
    void ignoredTransactionId();
    void wrongUnitThenRight();
    void wrongFramesBeforeRightOnes();
    void answersAfterTheTimeout();
    void garbageReconnects_data();
    void garbageReconnects();
    void truncatedFrameReconnects();
    void halfOpenConnection();
    void silentUnitAmongOthers();
    void refusedConnection();
    void shortInterruptionShowsStaleValues();
};

// PC-07, the exact bytes
void ModbusFaultsTest::wrongTransactionId()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.setScript([](const Request &) { return QByteArray::fromHex("010000000007010304 00000000"); });
    ChannelFixture channel;
    const auto a = channel.point(holding(2999), RegisterType::UInt32);
    QVERIFY(channel.open(device.port(), kTimeout));
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(device.requests.front().frame, QByteArray::fromHex("000100000006 01030bb70002"));
    QCOMPARE(channel.last(a).quality, Quality::BadCommunicationError);
    QVERIFY(channel.last(a).value.isNull());
    const auto statistics = channel.driver().statistics();
    QCOMPARE(statistics.droppedFrames, std::uint64_t{3});
    QCOMPARE(statistics.timeouts, std::uint64_t{3});
    QCOMPARE(channel.failure(), QString());
}

void ModbusFaultsTest::ignoredTransactionId()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    channel.device(QStringLiteral("d"), {{QStringLiteral("ignoreTransactionId"), true}});
    const auto a = channel.point(holding(0));
    const auto b = channel.point(holding(100));
    QVERIFY(channel.open(device.port(), {{QStringLiteral("maxInFlight"), 8}, {QStringLiteral("timeoutMs"), 300}}));
    device.registers = {{0, 1111}, {100, 2222}};
    bool isLate = false;
    Request held;
    device.setScript([&](const Request &r) {
        if (std::exchange(isLate, false)) {
            held = r;
            return QByteArray();
        }
        auto answer = device.answer(r);
        answer[0] = answer[1] = 0;
        return answer;
    });
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(1111)));
    QVERIFY(channel.isGood(b, Value(2222)));
    // The answer to A comes late: it must not become B. A new connection makes sure.
    isLate = true;
    QVERIFY(channel.pollAllAndWait());
    QTRY_COMPARE(device.connections, 2);
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(1111)));
    QVERIFY(channel.isGood(b, Value(2222)));
    QCOMPARE(device.mostConnections, 1);
}

// T19: the wrong unit is ignored while the time runs on.
void ModbusFaultsTest::wrongUnitThenRight()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.setScript([](const Request &r) {
        return frame(r.transaction(), 2, QByteArray::fromHex("030443668000"))
            + frame(r.transaction(), 1, QByteArray::fromHex("030443668000"));
    });
    ChannelFixture channel;
    const auto a = channel.point(holding(0), RegisterType::Float32);
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(230.5)));
    QCOMPARE(channel.driver().statistics().droppedFrames, std::uint64_t{1});
    QCOMPARE(channel.driver().statistics().timeouts, std::uint64_t{0});
}

// T19: wrong frames of every kind in random order and pieces; each wrong value would show.
void ModbusFaultsTest::wrongFramesBeforeRightOnes()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers = {{0, 1111}, {1, 1112}};
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    const auto b = channel.point(holding(1));
    QVERIFY(channel.open(device.port()));
    std::mt19937 random(19);
    std::uint64_t wrong = 0;
    const auto wrongFrame = [&](const Request &r) {
        const int id = r.transaction();
        const QByteArray values = QByteArray::fromHex("0304dead dead");
        switch (random() % 8) {
        case 0: return frame(id ^ (1 << (random() % 16)), 1, values);
        case 1: return frame(id, 2 + static_cast<int>(random() % 250), values);
        case 2: return frame(id, 1, QByteArray::fromHex("0404deaddead"));
        case 3: return frame(id, 1, QByteArray::fromHex("0303deadde"));
        case 4: return frame(id, 1, QByteArray::fromHex("0302dead"));
        case 5: return frame(id, 1, QByteArray::fromHex("0306deaddeaddead"));
        case 6: return frame(id, 1, QByteArray::fromHex("0304deadde"));
        default: return frame(id, 1, QByteArray::fromHex("03"));
        }
    };
    device.setScript([&](const Request &r) {
        QByteArray stream;
        for (auto n = random() % 4; n > 0; --n, ++wrong)
            stream += wrongFrame(r);
        stream += device.answer(r);
        if (random() % 3 == 0) { // a duplicate belongs to nothing any more
            stream += device.answer(r);
            ++wrong;
        }
        const auto cut = static_cast<qsizetype>(random() % static_cast<unsigned>(stream.size()));
        device.send(stream.left(cut));
        return stream.mid(cut);
    });
    for (int poll = 0; poll < 1'000; ++poll) {
        QVERIFY(channel.pollAllAndWait());
        QVERIFY(channel.isGood(a, Value(1111)));
        QVERIFY(channel.isGood(b, Value(1112)));
    }
    QTRY_COMPARE(channel.driver().statistics().droppedFrames, wrong);
    QCOMPARE(channel.driver().statistics().timeouts, std::uint64_t{0});
    QCOMPARE(device.connections, 1);
}

// PC-07: every answer comes 50 ms after the time-out, then in time again.
void ModbusFaultsTest::answersAfterTheTimeout()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers = {{0, 1111}, {100, 2222}};
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    const auto b = channel.point(holding(100));
    constexpr auto kShortTimeout = 100ms; // 50 ms late is well before three time-outs of silence
    QVERIFY(channel.open(device.port(), kShortTimeout));
    QVERIFY(channel.pollAllAndWait());
    QTimer later;
    QList<std::pair<QDeadlineTimer, QByteArray>> delayed;
    connect(&later, &QTimer::timeout, this, [&] {
        while (!delayed.isEmpty() && delayed.front().first.hasExpired())
            device.send(delayed.takeFirst().second);
    });
    later.start(1ms);
    device.setScript([&](const Request &r) {
        delayed.push_back({QDeadlineTimer(kShortTimeout + 50ms), device.answer(r)});
        return QByteArray();
    });
    for (int poll = 0; poll < 20; ++poll) {
        QVERIFY(channel.pollAllAndWait());
        channel.clock.advance(1s);
    }
    for (const auto &sample : channel.samples) {
        const bool isRight = sample.value.isNull() || sample.value == Value(sample.point == a ? 1111 : 2222);
        QVERIFY(isRight);
    }
    QCOMPARE(channel.last(a).quality, Quality::BadCommunicationError);
    QCOMPARE(channel.last(b).quality, Quality::BadCommunicationError);
    device.setScript({});
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(1111)));
    QVERIFY(channel.isGood(b, Value(2222)));
    QCOMPARE(device.connections, 1);
    QVERIFY(channel.driver().statistics().droppedFrames > 20);
}

void ModbusFaultsTest::garbageReconnects_data()
{
    QTest::addColumn<QByteArray>("garbage");
    QTest::newRow("all ones") << QByteArray(64, '\xff');
    QTest::newRow("length 0") << QByteArray::fromHex("000100000000");
    QTest::newRow("length 65535") << QByteArray::fromHex("00010000ffff");
    QTest::newRow("protocol id") << QByteArray::fromHex("00010001000701030443668000");
    QTest::newRow("http") << QByteArray("HTTP/1.1 400 Bad Request\r\n\r\n");
}

void ModbusFaultsTest::garbageReconnects()
{
    QFETCH(QByteArray, garbage);
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers[0] = 7;
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    device.setScript([&](const Request &) { return garbage; });
    QVERIFY(channel.pollAllAndWait()); // does not wait for the time-out
    QCOMPARE(channel.last(a).quality, Quality::UncertainLastUsable);
    QCOMPARE(channel.health.back().first, LinkHealth::Offline);
    QCOMPARE(channel.health.back().second.code, QStringLiteral("modbus.brokenStream"));
    device.setScript({});
    QTRY_COMPARE(device.connections, 2);
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(7)));
    QCOMPARE(device.mostConnections, 1);
    QCOMPARE(channel.driver().statistics().reconnects, std::uint64_t{1});
    QCOMPARE(channel.driver().statistics().droppedFrames, std::uint64_t{1});
}

void ModbusFaultsTest::truncatedFrameReconnects()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers[0] = 7;
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(device.port(), kTimeout));
    bool isTruncated = true;
    device.setScript(
        [&](const Request &r) { return device.answer(r).chopped(std::exchange(isTruncated, false) ? 1 : 0); });
    QVERIFY(channel.pollAllAndWait());
    QTRY_COMPARE(device.connections, 2);
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(7)));
}

// PC-11, mode a: the peer keeps the connection open and says nothing.
void ModbusFaultsTest::halfOpenConnection()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers[0] = 7;
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(device.port(), kTimeout));
    QVERIFY(channel.pollAllAndWait());
    device.setScript(silent);
    QElapsedTimer timer;
    timer.start();
    QVERIFY(channel.pollAllAndWait());
    const auto took = timer.elapsed();
    QCOMPARE(channel.last(a).quality, Quality::BadCommunicationError);
    QVERIFY2(took >= 3 * kTimeout.count() && took < 3'000, qPrintable(QString::number(took)));
    QTRY_COMPARE(device.openConnections(), 0);
    QTRY_COMPARE(device.connections, 2);
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(isBad(channel.last(a).quality));
    device.setScript({});
    const auto isBack = [&] { // asked every 50 ms of both clocks
        channel.clock.advance(50ms);
        return channel.pollAllAndWait() && channel.isGood(a, Value(7));
    };
    QTRY_VERIFY_WITH_TIMEOUT(isBack(), 5'000);
    QCOMPARE(device.mostConnections, 1);
}

// PC-10 on TCP: one silent unit behind a gateway costs its neighbours little.
void ModbusFaultsTest::silentUnitAmongOthers()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    ChannelFixture channel;
    std::vector<PointHandle> points;
    for (int unit = 1; unit <= 5; ++unit) {
        channel.device(QStringLiteral("u%1").arg(unit), {{QStringLiteral("unit"), unit}});
        points.push_back(channel.point(holding(0)));
    }
    QVERIFY(channel.open(device.port(), kTimeout));
    QVERIFY(channel.pollAllAndWait());
    bool isSilent = true;
    device.setScript([&](const Request &r) { return isSilent && r.unit() == 3 ? QByteArray() : device.answer(r); });
    const auto others = {points[0], points[1], points[3], points[4]};
    for (int second = 0; second < 60; ++second) {
        channel.clock.advance(1s);
        QVERIFY(channel.pollAllAndWait());
        for (const auto handle : others)
            QCOMPARE(channel.last(handle).quality, Quality::Good);
        QVERIFY(isBad(channel.last(points[2]).quality));
    }
    // 3 failures, then probes after 1, 2, 4, 8, 16 and 29 s
    const auto toSilent =
        std::count_if(device.requests.begin(), device.requests.end(), [](const Request &r) { return r.unit() == 3; });
    QVERIFY2(toSilent <= 1 + 3 + 6, qPrintable(QString::number(toSilent)));
    isSilent = false;
    int waited = 0;
    for (; channel.last(points[2]).quality != Quality::Good && waited <= 31; ++waited) {
        channel.clock.advance(1s);
        QVERIFY(channel.pollAllAndWait());
    }
    QVERIFY2(waited <= 31, qPrintable(QString::number(waited)));
    QCOMPARE(device.connections, 1);
}

void ModbusFaultsTest::refusedConnection()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    const auto port = device.port();
    device.shutDown();
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(port));
    for (int poll = 0; poll < 3; ++poll) {
        QVERIFY(channel.pollAllAndWait());
        QCOMPARE(channel.last(a).quality, Quality::BadNotConnected);
    }
    QCOMPARE(channel.health.back().first, LinkHealth::Offline);
    QCOMPARE(channel.health.back().second.code, QStringLiteral("modbus.notConnected"));
    QVERIFY(device.listen(port));
    QTRY_COMPARE(device.connections, 1);
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(channel.last(a).quality, Quality::Good);
    QCOMPARE(channel.driver().statistics().reconnects, std::uint64_t{0});
}

void ModbusFaultsTest::shortInterruptionShowsStaleValues()
{
    ScriptedDevice device;
    QVERIFY(device.listen());
    device.registers[0] = 9;
    ChannelFixture channel;
    const auto a = channel.point(holding(0));
    QVERIFY(channel.open(device.port()));
    QVERIFY(channel.pollAllAndWait());
    device.closeConnections();
    QTRY_COMPARE(channel.health.back().first, LinkHealth::Offline);
    QVERIFY(channel.pollAllAndWait());
    QCOMPARE(channel.last(a).quality, Quality::UncertainLastUsable);
    QCOMPARE(channel.last(a).value, Value(9));
    device.shutDown();
    const auto isDown = [&] {
        channel.pollAll();
        return channel.last(a).quality == Quality::BadNotConnected;
    };
    QTRY_VERIFY(isDown());
    QVERIFY(device.listen(device.port()));
    QTRY_COMPARE(device.connections, 2);
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(a, Value(9)));
    QCOMPARE(channel.failure(), QString());
}

QTEST_GUILESS_MAIN(ModbusFaultsTest)
#include "tst_modbusfaults.moc"
