// SPDX-License-Identifier: Apache-2.0
// The driver against an independent implementation: QModbusTcpServer of Qt SerialBus.
#include "channelfixture.h"

#include <QModbusTcpServer>
#include <QTcpServer>
#include <QTest>

#include <bit>

using namespace gridloom;
using namespace gridloom::test;

class ModbusPeerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void readsAllTables();
    void readsEveryTypeAndOrder();
    void writesEveryTypeAndOrder();
    void writesCoils();
    void longReads();

private:
    void set(QModbusDataUnit::RegisterType table, int address, quint16 value)
    {
        QVERIFY(m_server->setData(table, static_cast<quint16>(address), value));
    }
    quint16 port() const { return static_cast<quint16>(m_port); }

    std::unique_ptr<QModbusTcpServer> m_server;
    int m_port = 0;
};

void ModbusPeerTest::init()
{
    { // QModbusTcpServer cannot tell which port it got
        QTcpServer probe;
        QVERIFY(probe.listen(QHostAddress::LocalHost));
        m_port = probe.serverPort();
    }
    m_server = std::make_unique<QModbusTcpServer>();
    QModbusDataUnitMap map;
    for (const auto table : {QModbusDataUnit::Coils, QModbusDataUnit::DiscreteInputs, QModbusDataUnit::InputRegisters,
                             QModbusDataUnit::HoldingRegisters})
        map.insert(table, {table, 0, 4'000});
    QVERIFY(m_server->setMap(map));
    m_server->setServerAddress(1);
    m_server->setConnectionParameter(QModbusDevice::NetworkAddressParameter, QStringLiteral("127.0.0.1"));
    m_server->setConnectionParameter(QModbusDevice::NetworkPortParameter, m_port);
    QVERIFY(m_server->connectDevice());
}

// The server frees what belongs to a connection only when it sees it close.
void ModbusPeerTest::cleanup()
{
    bool isClosed = false;
    connect(m_server.get(), &QModbusTcpServer::modbusClientDisconnected, this, [&] { isClosed = true; });
    QTRY_VERIFY(isClosed);
    m_server.reset();
}

void ModbusPeerTest::readsAllTables()
{
    set(QModbusDataUnit::Coils, 9, 1);
    set(QModbusDataUnit::DiscreteInputs, 1, 1);
    set(QModbusDataUnit::InputRegisters, 2, 0xFFFE);
    set(QModbusDataUnit::HoldingRegisters, 3, 0x0004);
    ChannelFixture channel;
    const auto coil8 = channel.point(QStringLiteral("coil:8"), RegisterType::Bool);
    const auto coil9 = channel.point(QStringLiteral("coil:9"), RegisterType::Bool);
    const auto discrete = channel.point(QStringLiteral("discrete:1"), RegisterType::Bool);
    const auto input = channel.point(QStringLiteral("input:2"), RegisterType::Int16);
    const auto bit2 = channel.point(QStringLiteral("holding:3"), RegisterType::Bool);
    channel.lastPoint().format.bit = 2;
    const auto bit3 = channel.point(QStringLiteral("holding:3"), RegisterType::Bool);
    channel.lastPoint().format.bit = 3;
    QVERIFY(channel.open(port()));
    QVERIFY(channel.pollAllAndWait());
    QVERIFY(channel.isGood(coil8, Value(false)));
    QVERIFY(channel.isGood(coil9, Value(true)));
    QVERIFY(channel.isGood(discrete, Value(true)));
    QVERIFY(channel.isGood(input, Value(-2)));
    QVERIFY(channel.isGood(bit2, Value(true)));
    QVERIFY(channel.isGood(bit3, Value(false)));
    QCOMPARE(channel.driver().statistics().reads, std::uint64_t{4});
}

namespace {

struct Case {
    RegisterType type;
    Value value;
    std::vector<quint16> words; ///< most significant word first
};

std::vector<Case> cases()
{
    const auto real = std::bit_cast<std::uint64_t>(-0.1);
    return {{RegisterType::Int16, Value(-2), {0xFFFE}},
            {RegisterType::UInt16, Value(0xFFFE), {0xFFFE}},
            {RegisterType::Int32, Value(-70000), {0xFFFE, 0xEE90}},
            {RegisterType::UInt32, Value(std::int64_t{3'000'000'000}), {0xB2D0, 0x5E00}},
            {RegisterType::Int64, Value(std::int64_t{-9007199254740993}), {0xFFDF, 0xFFFF, 0xFFFF, 0xFFFF}},
            {RegisterType::UInt64, Value(std::uint64_t{0xFEDCBA9876543210}), {0xFEDC, 0xBA98, 0x7654, 0x3210}},
            {RegisterType::Float32, Value(230.5), {0x4366, 0x8000}},
            {RegisterType::Float64,
             Value(-0.1),
             {static_cast<quint16>(real >> 48), static_cast<quint16>(real >> 32), static_cast<quint16>(real >> 16),
              static_cast<quint16>(real)}}};
}

// The registers in the order of the wire, by the definition of the letters.
std::vector<quint16> ordered(std::vector<quint16> words, ByteOrder order)
{
    if (order == ByteOrder::WordSwapped || order == ByteOrder::LittleEndian)
        std::reverse(words.begin(), words.end());
    if (order == ByteOrder::ByteSwapped || order == ByteOrder::LittleEndian)
        for (auto &word : words)
            word = static_cast<quint16>(word << 8 | word >> 8);
    return words;
}

constexpr ByteOrder kOrders[] = {ByteOrder::BigEndian, ByteOrder::WordSwapped, ByteOrder::ByteSwapped,
                                 ByteOrder::LittleEndian};

} // namespace

void ModbusPeerTest::readsEveryTypeAndOrder()
{
    ChannelFixture channel;
    std::vector<std::pair<PointHandle, Value>> expected;
    int address = 0;
    for (const auto &c : cases())
        for (const auto order : kOrders) {
            const auto handle = channel.point(QStringLiteral("holding:%1").arg(address), c.type);
            channel.lastPoint().format.order = order;
            expected.emplace_back(handle, c.value);
            for (const auto word : ordered(c.words, order))
                set(QModbusDataUnit::HoldingRegisters, address++, word);
        }
    QVERIFY(channel.open(port()));
    QVERIFY(channel.pollAllAndWait());
    for (const auto &[handle, value] : expected)
        QVERIFY2(channel.isGood(handle, value), channel.last(handle).value.toText().constData());
}

void ModbusPeerTest::writesEveryTypeAndOrder()
{
    ChannelFixture channel;
    std::vector<std::pair<PointHandle, Value>> writes;
    std::vector<quint16> expected;
    for (const auto &c : cases())
        for (const auto order : kOrders) {
            const auto handle = channel.point(QStringLiteral("holding:%1").arg(expected.size()), c.type, true);
            channel.lastPoint().format.order = order;
            writes.emplace_back(handle, c.value);
            for (const auto word : ordered(c.words, order))
                expected.push_back(word);
        }
    QVERIFY(channel.open(port()));
    for (const auto &[handle, value] : writes)
        channel.write(handle, value, std::chrono::seconds(10));
    QTRY_COMPARE(channel.results.size(), writes.size());
    for (const auto &[id, result] : channel.results) {
        QCOMPARE(result.state, WriteResult::State::Confirmed);
        QCOMPARE(result.readBack, writes[id - 1].second);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        quint16 word = 0;
        QVERIFY(m_server->data(QModbusDataUnit::HoldingRegisters, static_cast<quint16>(i), &word));
        QCOMPARE(word, expected[i]);
    }
}

void ModbusPeerTest::writesCoils()
{
    ChannelFixture channel;
    const auto coil = channel.point(QStringLiteral("coil:77"), RegisterType::Bool, true);
    QVERIFY(channel.open(port()));
    for (const bool isOn : {true, false}) {
        const auto id = channel.write(coil, Value(isOn));
        QTRY_VERIFY(channel.results.contains(id));
        QCOMPARE(channel.results.at(id).state, WriteResult::State::Confirmed);
        QCOMPARE(channel.results.at(id).readBack, Value(isOn));
        quint16 value = 2;
        QVERIFY(m_server->data(QModbusDataUnit::Coils, 77, &value));
        QCOMPARE(value != 0, isOn);
    }
}

// PC-09: the limits of one request, on a peer that keeps them.
void ModbusPeerTest::longReads()
{
    ChannelFixture channel;
    std::vector<PointHandle> registers;
    for (int address = 0; address < 126; ++address) {
        set(QModbusDataUnit::HoldingRegisters, address, static_cast<quint16>(1000 + address));
        registers.push_back(channel.point(QStringLiteral("holding:%1").arg(address)));
    }
    std::vector<PointHandle> coils;
    for (int address = 0; address <= 2000; ++address) {
        set(QModbusDataUnit::Coils, address, address % 3 == 0);
        coils.push_back(channel.point(QStringLiteral("coil:%1").arg(address), RegisterType::Bool));
    }
    QVERIFY(channel.open(port()));
    QVERIFY(channel.pollAllAndWait());
    for (std::size_t i = 0; i < registers.size(); ++i)
        QVERIFY(channel.isGood(registers[i], Value(1000 + static_cast<int>(i))));
    for (std::size_t i = 0; i < coils.size(); ++i)
        QVERIFY(channel.isGood(coils[i], Value(i % 3 == 0)));
    QCOMPARE(channel.driver().statistics().reads, std::uint64_t{4});
    QCOMPARE(channel.driver().statistics().exceptions, std::uint64_t{0});
}

QTEST_GUILESS_MAIN(ModbusPeerTest)
#include "tst_modbuspeer.moc"
