// SPDX-License-Identifier: Apache-2.0
#include "protocols/modbus/framereader.h"
#include "protocols/modbus/pdu.h"

#include <QTest>

using namespace gridloom::modbus;

namespace {

std::vector<std::uint8_t> bytes(const char *hex)
{
    const auto raw = QByteArray::fromHex(hex);
    return {raw.begin(), raw.end()};
}

QByteArray hex(std::span<const std::uint8_t> data)
{
    return QByteArray(reinterpret_cast<const char *>(data.data()), static_cast<qsizetype>(data.size())).toHex();
}

using Status = FrameReader::Status;

} // namespace

class ModbusFramesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void framesComeInAnyPieces_data();
    void framesComeInAnyPieces();
    void longestFrame();
    void brokenStream_data();
    void brokenStream();
    void requests_data();
    void requests();
    void longestRequestsFit();
    void responses_data();
    void responses();
    void addresses();
    void ranges();
};

void ModbusFramesTest::framesComeInAnyPieces_data()
{
    QTest::addColumn<int>("piece");
    for (const int piece : {1, 2, 3, 7, 11, 1000})
        QTest::addRow("%d", piece) << piece;
}

// Three frames in a row, cut into pieces of one size.
void ModbusFramesTest::framesComeInAnyPieces()
{
    QFETCH(int, piece);
    const auto stream = bytes("0001 0000 0007 01 03 04 43668000"
                              "0002 0000 0003 02 83 02"
                              "ffff 0000 0002 ff 01");
    FrameReader reader;
    QList<QByteArray> seen;
    for (std::size_t at = 0; at < stream.size(); at += static_cast<std::size_t>(piece)) {
        reader.append(
            std::span(stream).subspan(at).first(std::min(static_cast<std::size_t>(piece), stream.size() - at)));
        Frame frame;
        for (;;) {
            const auto status = reader.next(frame);
            QVERIFY(status != Status::Broken);
            if (status == Status::Incomplete)
                break;
            seen << QByteArray::number(frame.transaction) + '/' + QByteArray::number(frame.unit) + '/' + hex(frame.pdu);
        }
    }
    QCOMPARE(seen, (QList<QByteArray>{"1/1/030443668000", "2/2/8302", "65535/255/01"}));
    QVERIFY(!reader.hasPartialFrame());
}

void ModbusFramesTest::longestFrame()
{
    auto stream = bytes("0001 0000 00fe 01");
    stream.resize(6 + 254);
    FrameReader reader;
    reader.append(std::span(stream).first(259));
    Frame frame;
    QCOMPARE(reader.next(frame), Status::Incomplete);
    QVERIFY(reader.hasPartialFrame());
    reader.append(std::span(stream).subspan(259));
    QCOMPARE(reader.next(frame), Status::Frame);
    QCOMPARE(frame.pdu.size(), std::size_t{253});
}

void ModbusFramesTest::brokenStream_data()
{
    QTest::addColumn<QByteArray>("stream");
    QTest::newRow("protocol, high byte") << QByteArray("0001 01");
    QTest::newRow("protocol, low byte") << QByteArray("0001 0001");
    QTest::newRow("length 0") << QByteArray("0001 0000 0000");
    QTest::newRow("length 1") << QByteArray("0001 0000 0001");
    QTest::newRow("length 255") << QByteArray("0001 0000 00ff");
    QTest::newRow("length 65535") << QByteArray("0001 0000 ffff");
    QTest::newRow("garbage") << QByteArray("ffffffffffffffff");
}

void ModbusFramesTest::brokenStream()
{
    QFETCH(QByteArray, stream);
    FrameReader reader;
    Frame frame;
    reader.append(bytes("0007 0000 0002 01 03"));
    QCOMPARE(reader.next(frame), Status::Frame);
    reader.append(bytes(stream.constData()));
    QCOMPARE(reader.next(frame), Status::Broken);
    reader.append(bytes("0001 0000 0003 01 83 02")); // what follows cannot heal it
    QCOMPARE(reader.next(frame), Status::Broken);
    reader.clear();
    QCOMPARE(reader.next(frame), Status::Incomplete);
}

void ModbusFramesTest::requests_data()
{
    QTest::addColumn<int>("function");
    QTest::addColumn<int>("address");
    QTest::addColumn<QList<int>>("values");
    QTest::addColumn<int>("count");
    QTest::addColumn<QByteArray>("expected");
    // The examples of MODBUS Application Protocol V1.1b3, sections 6.1 to 6.12, in a frame of unit 17, transaction 5.
    const auto row = [](const char *name, Function f, int address, QList<int> values, int count, const char *pdu) {
        const auto body = QByteArray::fromHex(pdu);
        const auto length = QByteArray::number(body.size() + 1, 16).rightJustified(4, '0');
        QTest::newRow(name) << static_cast<int>(f) << address << values << count
                            << QByteArray("00050000" + length + "11" + body.toHex());
    };
    row("1", Function::ReadCoils, 19, {}, 19, "01 0013 0013");
    row("2", Function::ReadDiscretes, 196, {}, 22, "02 00c4 0016");
    row("3", Function::ReadHoldings, 107, {}, 3, "03 006b 0003");
    row("4", Function::ReadInputs, 8, {}, 1, "04 0008 0001");
    row("5", Function::WriteCoil, 172, {1}, 1, "05 00ac ff00");
    row("5 off", Function::WriteCoil, 172, {0}, 1, "05 00ac 0000");
    row("6", Function::WriteRegister, 1, {3}, 1, "06 0001 0003");
    row("15", Function::WriteCoils, 19, {1, 0, 1, 1, 0, 0, 1, 1, 1, 0}, 10, "0f 0013 000a 02 cd01");
    row("16", Function::WriteRegisters, 1, {10, 258}, 2, "10 0001 0002 04 000a 0102");
}

void ModbusFramesTest::requests()
{
    QFETCH(int, function);
    QFETCH(int, address);
    QFETCH(QList<int>, values);
    QFETCH(int, count);
    QFETCH(QByteArray, expected);
    const std::vector<std::uint16_t> words(values.begin(), values.end());
    const Request request{static_cast<Function>(function), static_cast<std::uint16_t>(address),
                          static_cast<std::uint16_t>(count), words};
    FrameBuffer buffer;
    QCOMPARE(hex(encodeFrame(buffer, 5, 17, request)), expected);
}

void ModbusFramesTest::longestRequestsFit()
{
    FrameBuffer buffer;
    const std::vector<std::uint16_t> registers(kMaxWriteRegisters, 0xABCD);
    QCOMPARE(encodeFrame(buffer, 1, 1, {Function::WriteRegisters, 0, kMaxWriteRegisters, registers}).size(),
             std::size_t{7 + 6 + 246});
    const std::vector<std::uint16_t> coils(kMaxWriteBits, 1);
    QCOMPARE(encodeFrame(buffer, 1, 1, {Function::WriteCoils, 0, kMaxWriteBits, coils}).size(),
             std::size_t{7 + 6 + 246});
}

void ModbusFramesTest::responses_data()
{
    QTest::addColumn<int>("function");
    QTest::addColumn<QByteArray>("pdu");
    QTest::addColumn<int>("kind");
    using Kind = Response::Kind;
    const auto row = [](const char *name, Function f, const char *pdu, Kind kind) {
        QTest::newRow(name) << static_cast<int>(f) << QByteArray(pdu) << static_cast<int>(kind);
    };
    // Requests of requests(): 2 registers at 0x0BB7, 10 coils there, and writes of 3 (one) or of two values.
    row("registers", Function::ReadHoldings, "03 04 43668000", Kind::Values);
    row("input registers", Function::ReadInputs, "04 04 43668000", Kind::Values);
    row("other function", Function::ReadHoldings, "04 04 43668000", Kind::Mismatch);
    row("byte count odd", Function::ReadHoldings, "03 03 436680", Kind::Mismatch);
    row("byte count short", Function::ReadHoldings, "03 02 4366", Kind::Mismatch);
    row("byte count long", Function::ReadHoldings, "03 06 436680000000", Kind::Mismatch);
    row("byte count too small for the bytes", Function::ReadHoldings, "03 02 43668000", Kind::Mismatch);
    row("byte missing", Function::ReadHoldings, "03 04 436680", Kind::Mismatch);
    row("byte too many", Function::ReadHoldings, "03 04 4366800000", Kind::Mismatch);
    row("function alone", Function::ReadHoldings, "03", Kind::Mismatch);
    row("exception", Function::ReadHoldings, "83 02", Kind::Exception);
    row("exception of another function", Function::ReadHoldings, "84 02", Kind::Mismatch);
    row("exception without code", Function::ReadHoldings, "83", Kind::Mismatch);
    row("exception too long", Function::ReadHoldings, "83 02 00", Kind::Mismatch);
    row("coils", Function::ReadCoils, "01 01 03", Kind::Values);
    row("coils, too many", Function::ReadCoils, "01 02 0300", Kind::Mismatch);
    row("coil written", Function::WriteCoil, "05 0bb7 ff00", Kind::Written);
    row("coil echo differs", Function::WriteCoil, "05 0bb7 0000", Kind::Mismatch);
    row("register written", Function::WriteRegister, "06 0bb7 0003", Kind::Written);
    row("register echo differs", Function::WriteRegister, "06 0bb7 0004", Kind::Mismatch);
    row("register echo elsewhere", Function::WriteRegister, "06 0bb8 0003", Kind::Mismatch);
    row("registers written", Function::WriteRegisters, "10 0bb7 0002", Kind::Written);
    row("registers, other count", Function::WriteRegisters, "10 0bb7 0001", Kind::Mismatch);
    row("coils written", Function::WriteCoils, "0f 0bb7 0002", Kind::Written);
}

void ModbusFramesTest::responses()
{
    QFETCH(int, function);
    QFETCH(QByteArray, pdu);
    QFETCH(int, kind);
    const auto f = static_cast<Function>(function);
    const bool isSingle = f == Function::WriteCoil || f == Function::WriteRegister;
    const std::uint16_t values[] = {3, 1};
    const Request request{f, 0x0BB7, static_cast<std::uint16_t>(isSingle ? 1 : 2), values};
    const auto data = bytes(pdu.constData());
    const auto response = decodeResponse(request, data);
    QCOMPARE(static_cast<int>(response.kind), kind);
    if (response.kind == Response::Kind::Exception)
        QCOMPARE(response.exception, std::uint8_t{2});
    if (response.kind == Response::Kind::Values && f != Function::ReadCoils)
        QCOMPARE(wordAt(response.data, 0), std::uint16_t{0x4366});
}

void ModbusFramesTest::addresses()
{
    QCOMPARE(parseAddress(u"holding:100", 2).value().offset, std::uint16_t{100});
    QCOMPARE(parseAddress(u"coil:0", 1).value().table, Table::Coil);
    QCOMPARE(parseAddress(u"discrete:65535", 1).value().table, Table::Discrete);
    QCOMPARE(parseAddress(u"input:65534", 2).value().offset, std::uint16_t{65534});
    for (const auto *text : {u"", u"holding", u"holding:", u"holding:-1", u"holding:65536", u"holding: 1", u"Holding:1",
                             u"holding:1 ", u"holding:01", u"holding:1e3", u"40001", u"register:1", u"holding:١"})
        QVERIFY2(!parseAddress(QStringView(text), 1).ok(), qPrintable(QString::fromUtf16(text)));
    QVERIFY(!parseAddress(u"input:65535", 2).ok());
    QVERIFY(!parseAddress(u"holding:65533", 4).ok());
}

void ModbusFramesTest::ranges()
{
    const auto range = parseRange(u"input:100-119");
    QVERIFY(range.ok());
    QCOMPARE(range.value().first, 100);
    QCOMPARE(range.value().end, 120);
    QCOMPARE(parseRange(u"holding:5").value().end, 6);
    for (const auto *text : {u"holding:5-4", u"holding:5-", u"holding:5-65536", u"holding:-5", u"5-6"})
        QVERIFY2(!parseRange(QStringView(text)).ok(), qPrintable(QString::fromUtf16(text)));
}

QTEST_APPLESS_MAIN(ModbusFramesTest)
#include "tst_modbusframes.moc"
