// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/formats.h"
#include "tools/sim/modbusresponder.h"

#include <QTest>

using namespace gridloom;

namespace {

/// 3,000 coils (writable), discrete inputs, holding registers (writable, at most 1000) and input registers, from 0.
class Fixture final : public SimDevice {
public:
    Fixture()
    {
        constexpr int kCount = 3000;
        for (const auto table :
             {RegisterTable::Coils, RegisterTable::DiscreteInputs, RegisterTable::Holding, RegisterTable::Inputs}) {
            const bool isBits = table == RegisterTable::Coils || table == RegisterTable::DiscreteInputs;
            const bool isWritable = table == RegisterTable::Coils || table == RegisterTable::Holding;
            registers().addBlock(table, 0, kCount);
            for (int i = 0; i < kCount; ++i) {
                const auto id = registers().addValue(table, i, isBits ? kBit : kUInt16, isWritable);
                registers().set(id, isBits ? Value(i % 3 == 0) : Value(i));
            }
        }
    }
    void refresh(RegisterTable, int, SteadyTime) override { ++refreshes; }
    bool accepts(const RegisterMap::Write &write) const override { return *write.value.toDouble() <= 1000; }
    void written(const RegisterMap::Write &, SteadyTime) override { ++writes; }

    int refreshes = 0;
    int writes = 0;
};

} // namespace

class ModbusResponderTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { m_device = std::make_unique<Fixture>(); }
    void answers_data();
    void answers();
    void limitsOfEachFunction_data();
    void limitsOfEachFunction();
    void writesAsAWholeOrNotAtAll();
    void writtenBitsReadBack();

private:
    QByteArray ask(const QByteArray &request)
    {
        const auto answer = m_responder.answer(
            *m_device,
            {reinterpret_cast<const std::uint8_t *>(request.data()), static_cast<std::size_t>(request.size())},
            SteadyTime());
        return {reinterpret_cast<const char *>(answer.data()), static_cast<qsizetype>(answer.size())};
    }

    std::unique_ptr<Fixture> m_device;
    ModbusResponder m_responder;
};

void ModbusResponderTest::answers_data()
{
    QTest::addColumn<QByteArray>("request");
    QTest::addColumn<QByteArray>("answer");
    const auto row = [](const char *name, const char *request, const char *answer) {
        QTest::newRow(name) << QByteArray::fromHex(request) << QByteArray::fromHex(answer);
    };
    row("coils 0-9: 0, 3, 6, 9 are on", "01 0000 000A", "01 02 49 02");
    row("discrete 1-8: 3 and 6", "02 0001 0008", "02 01 24");
    row("holding 257, 258", "03 0101 0002", "03 04 0101 0102");
    row("input 5", "04 0005 0001", "04 02 0005");
    row("coil on", "05 0001 FF00", "05 0001 FF00");
    row("register", "06 0007 0123", "06 0007 0123");
    row("coils", "0F 000A 000A 02 CD01", "0F 000A 000A");
    row("registers", "10 0001 0002 04 000A 0102", "10 0001 0002");
    row("function 7", "07", "87 01");
    row("function 23", "17 0000 0001 0000 0001 02 0000", "97 01");
    row("function 43", "2B 0E 01 00", "AB 01");
    row("behind the end", "03 0BB7 0002", "83 02");
    row("last address", "03 FFFF 0001", "83 02");
    row("over the last address", "04 FFFF 0002", "84 02");
    row("write behind the end", "06 0BB8 0001", "86 02");
    row("value out of range", "06 0000 03E9", "86 03");
    row("coil value", "05 0000 0001", "85 03");
    row("short request", "03 0000 00", "83 03");
    row("long request", "03 0000 0001 00", "83 03");
    row("byte count too small", "10 0000 0002 02 0001 0002", "90 03");
    row("byte count too great", "10 0000 0001 04 0001 0002", "90 03");
    row("bytes missing", "10 0000 0002 04 0001", "90 03");
    row("no byte count", "0F 0000 0001", "8F 03");
    row("coils with a byte too many", "0F 0000 0008 02 0000", "8F 03");
}

void ModbusResponderTest::answers()
{
    QFETCH(QByteArray, request);
    QFETCH(QByteArray, answer);
    QCOMPARE(ask(request), answer);
    const bool isException = (static_cast<std::uint8_t>(answer[0]) & 0x80) != 0;
    QCOMPARE(static_cast<int>(m_responder.exception()), isException ? int{answer[1]} : 0);
}

void ModbusResponderTest::limitsOfEachFunction_data()
{
    QTest::addColumn<int>("function");
    QTest::addColumn<int>("most");
    QTest::newRow("coils") << 1 << 2000;
    QTest::newRow("discrete inputs") << 2 << 2000;
    QTest::newRow("holding registers") << 3 << 125;
    QTest::newRow("input registers") << 4 << 125;
    QTest::newRow("written coils") << 15 << 1968;
    QTest::newRow("written registers") << 16 << 123;
}

void ModbusResponderTest::limitsOfEachFunction()
{
    QFETCH(int, function);
    QFETCH(int, most);
    const auto request = [&](int count) {
        QByteArray pdu;
        pdu.append(static_cast<char>(function)).append(2, '\0');
        pdu.append(static_cast<char>(count >> 8)).append(static_cast<char>(count));
        if (function >= 15) {
            const int bytes = function == 15 ? (count + 7) / 8 : 2 * count;
            pdu.append(static_cast<char>(bytes)).append(QByteArray(bytes, '\0'));
        }
        return pdu;
    };
    const QByteArray refused = QByteArray().append(static_cast<char>(function | 0x80)).append('\3');
    QCOMPARE(ask(request(0)), refused);
    QCOMPARE(ask(request(most + 1)), refused);
    const QByteArray answer = ask(request(most));
    QCOMPARE(answer[0], static_cast<char>(function));
    const int bytes = function <= 2 ? (most + 7) / 8 : 2 * most;
    QCOMPARE(answer.size(), function >= 15 ? 5 : 2 + bytes);
    QVERIFY2(answer.size() <= 253, "a PDU is no longer");
}

void ModbusResponderTest::writesAsAWholeOrNotAtAll()
{
    // The second of two values is out of range, 1001.
    QCOMPARE(ask(QByteArray::fromHex("10 0064 0002 04 0001 03E9")), QByteArray::fromHex("90 03"));
    QCOMPARE(ask(QByteArray::fromHex("03 0064 0002")), QByteArray::fromHex("03 04 0064 0065"));
    QCOMPARE(m_device->writes, 0);
    ask(QByteArray::fromHex("10 0064 0002 04 0001 0002"));
    QCOMPARE(ask(QByteArray::fromHex("03 0064 0002")), QByteArray::fromHex("03 04 0001 0002"));
    QCOMPARE(m_device->writes, 2);
    QCOMPARE(m_device->refreshes, 2); // before each read
}

void ModbusResponderTest::writtenBitsReadBack()
{
    ask(QByteArray::fromHex("0F 0013 000A 02 CD01")); // the specification's example, section 6.11
    QCOMPARE(ask(QByteArray::fromHex("01 0013 000A")), QByteArray::fromHex("01 02 CD01"));
    ask(QByteArray::fromHex("05 0014 FF00"));
    QCOMPARE(ask(QByteArray::fromHex("01 0013 000A")), QByteArray::fromHex("01 02 CF01"));
    ask(QByteArray::fromHex("05 0014 0000"));
    QCOMPARE(ask(QByteArray::fromHex("01 0013 000A")), QByteArray::fromHex("01 02 CD01"));
}

QTEST_APPLESS_MAIN(ModbusResponderTest)
#include "tst_modbusresponder.moc"
