// SPDX-License-Identifier: Apache-2.0
#include "core/codec/registers.h"

#include <QTest>

#include <limits>
#include <random>

using namespace gridloom;

Q_DECLARE_METATYPE(gridloom::RegisterFormat)
Q_DECLARE_METATYPE(gridloom::Value)

namespace {

using Registers = std::vector<std::uint16_t>;

// Wire bytes as written in a vendor's manual: "43 66 80 00".
Registers wire(const char *hex)
{
    const auto bytes = QByteArray::fromHex(hex);
    Registers registers;
    for (qsizetype i = 0; i < bytes.size(); i += 2)
        registers.push_back(static_cast<std::uint16_t>((static_cast<std::uint8_t>(bytes[i]) << 8)
                                                       | static_cast<std::uint8_t>(bytes[i + 1])));
    return registers;
}

RegisterFormat format(RegisterType type, const char *order = nullptr, double scale = 1.0, double offset = 0.0)
{
    RegisterFormat f{type, ByteOrder::BigEndian, scale, offset, 0};
    if (order)
        f.order = byteOrderFromName(QString::fromLatin1(order), type).value();
    return f;
}

} // namespace

class RegistersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void decodes_data();
    void decodes();
    void wrongOrderGivesTheWrongNumber();
    void scaledTextHasNoNoise();
    void everyScaledInt16IsTheNearestDouble_data();
    void everyScaledInt16IsTheNearestDouble();
    void writesWhatItReads_data();
    void writesWhatItReads();
    void refusesWhatDoesNotFit_data();
    void refusesWhatDoesNotFit();
    void bits();
    void names();
};

void RegistersTest::decodes_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<RegisterFormat>("f");
    QTest::addColumn<Value>("expected");
    using enum RegisterType;
    const auto row = [](const char *name, const char *bytes, RegisterFormat f, Value v) {
        QTest::newRow(name) << QByteArray(bytes) << f << v;
    };
    // PC-01
    row("float32 ABCD", "43668000", format(Float32, "ABCD"), Value(230.5));
    row("float32 CDAB", "80004366", format(Float32, "CDAB"), Value(230.5));
    row("float32 BADC", "66430080", format(Float32, "BADC"), Value(230.5));
    row("float32 DCBA", "00806643", format(Float32, "DCBA"), Value(230.5));
    row("float32 CDAB second", "077A429B", format(Float32, "CDAB"), Value(77.51460266113281));
    row("float64 ABCDEFGH", "40FE240C9FBE76C9", format(Float64, "ABCDEFGH"), Value(123456.789));
    row("float64 GHEFCDAB", "76C99FBE240C40FE", format(Float64, "GHEFCDAB"), Value(123456.789));
    row("float64 BADCFEHG", "FE400C24BE9FC976", format(Float64, "BADCFEHG"), Value(123456.789));
    row("float64 HGFEDCBA", "C976BE9F0C24FE40", format(Float64, "HGFEDCBA"), Value(123456.789));
    // PC-02
    row("int64 above 2^53", "0020000000000001", format(Int64), Value(std::int64_t{9007199254740993}));
    row("int64 below -2^53", "FFDFFFFFFFFFFFFF", format(Int64), Value(std::int64_t{-9007199254740993}));
    row("uint64 all ones", "FFFFFFFFFFFFFFFF", format(UInt64), Value(std::uint64_t{18446744073709551615ULL}));
    // PC-05
    row("int16 scale 0.1", "FFF3", format(Int16, nullptr, 0.1), Value(-1.3));
    row("int16 scale 0.001", "FAC9", format(Int16, nullptr, 0.001), Value(-1.335));
    row("int16 lowest", "8000", format(Int16), Value(-32768));
    row("int16 lowest scaled", "8000", format(Int16, nullptr, 0.1), Value(-3276.8));
    row("uint16 scale 0.1", "FFF3", format(UInt16, nullptr, 0.1), Value(6552.3));
    // Other scales and offsets, by hand
    row("scale 10", "0019", format(UInt16, nullptr, 10), Value(250.0));
    row("scale 0.01", "6B43", format(UInt16, nullptr, 0.01), Value(274.59));
    row("scale 0.25", "0003", format(UInt16, nullptr, 0.25), Value(0.75));
    row("offset", "0064", format(UInt16, nullptr, 0.1, -40), Value(-30.0));
    row("offset with decimals", "0003", format(UInt16, nullptr, 0.1, 0.03), Value(0.33));
    row("int16 BA", "F3FF", format(Int16, "BA"), Value(-13));
    row("uint32 CDAB", "00010002", format(UInt32, "CDAB"), Value(0x00020001));
    row("int32", "FFFFFFFE", format(Int32), Value(-2));
}

void RegistersTest::decodes()
{
    QFETCH(QByteArray, bytes);
    QFETCH(RegisterFormat, f);
    QFETCH(Value, expected);
    const auto registers = wire(bytes.constData());
    const auto value = decodeRegisters(registers, f);
    QCOMPARE(value.type(), expected.type());
    QVERIFY2(value == expected, value.toText().constData());
    const auto written = encodeRegisters(value, f);
    QVERIFY(written.ok());
    QCOMPARE(written.value(), registers);
}

void RegistersTest::wrongOrderGivesTheWrongNumber()
{
    QCOMPARE(decodeRegisters(wire("80004366"), format(RegisterType::Float32, "ABCD")).real(), -2.4178003703460394e-41);
}

void RegistersTest::scaledTextHasNoNoise()
{
    QCOMPARE(decodeRegisters(wire("FFF3"), format(RegisterType::Int16, nullptr, 0.1)).toText(), QByteArray("-1.3"));
    QCOMPARE(decodeRegisters(wire("FFF3"), format(RegisterType::UInt16, nullptr, 0.1)).toText(), QByteArray("6552.3"));
    QCOMPARE(decodeRegisters(wire("000186A1"), format(RegisterType::UInt32, nullptr, 0.001)).toText(),
             QByteArray("100.001"));
}

void RegistersTest::everyScaledInt16IsTheNearestDouble_data()
{
    QTest::addColumn<int>("whole");
    QTest::addColumn<int>("decimals");
    const auto row = [](const char *scale, int whole, int decimals) { QTest::newRow(scale) << whole << decimals; };
    row("0.1", 1, 1);
    row("0.01", 1, 2);
    row("0.001", 1, 3);
    row("0.3", 3, 1);
    row("0.25", 25, 2);
    row("1.7", 17, 1);
}

// The decimal result is put together as text from integers and read by strtod: no float arithmetic of ours.
void RegistersTest::everyScaledInt16IsTheNearestDouble()
{
    QFETCH(int, whole);
    QFETCH(int, decimals);
    const double scale = QByteArray(QTest::currentDataTag()).toDouble();
    const auto f = format(RegisterType::Int16, nullptr, scale);
    for (int raw = -32768; raw <= 32767; ++raw) {
        auto digits = QByteArray::number(std::abs(raw * whole)).rightJustified(decimals + 1, '0');
        digits.insert(digits.size() - decimals, '.');
        const double expected = (raw < 0 ? -1 : 1) * digits.toDouble();
        const Registers registers{static_cast<std::uint16_t>(raw)};
        const double value = decodeRegisters(registers, f).real();
        if (value != expected)
            QFAIL(qPrintable(QStringLiteral("%1: %2").arg(raw).arg(value, 0, 'g', 17)));
        QCOMPARE(encodeRegisters(Value(value), f).value(), registers);
    }
}

void RegistersTest::writesWhatItReads_data()
{
    QTest::addColumn<RegisterFormat>("f");
    using enum RegisterType;
    for (const auto type : {Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64})
        for (const auto order :
             {ByteOrder::BigEndian, ByteOrder::WordSwapped, ByteOrder::ByteSwapped, ByteOrder::LittleEndian})
            QTest::addRow("type %d order %d", static_cast<int>(type), static_cast<int>(order))
                << RegisterFormat{type, order, 1.0, 0.0, 0};
}

void RegistersTest::writesWhatItReads()
{
    QFETCH(RegisterFormat, f);
    std::mt19937 random(20260801);
    for (int i = 0; i < 5'000; ++i) {
        Registers registers(static_cast<std::size_t>(registerCount(f.type)));
        for (auto &r : registers)
            r = static_cast<std::uint16_t>(random());
        const auto value = decodeRegisters(registers, f);
        if (value.type() == ValueType::Double && !std::isfinite(value.real())) {
            QCOMPARE(encodeRegisters(value, f).error().code, QStringLiteral("codec.notFinite"));
            continue;
        }
        const auto written = encodeRegisters(value, f);
        QVERIFY(written.ok());
        QCOMPARE(written.value(), registers);
    }
}

void RegistersTest::refusesWhatDoesNotFit_data()
{
    QTest::addColumn<RegisterFormat>("f");
    QTest::addColumn<Value>("value");
    QTest::addColumn<QString>("code");
    using enum RegisterType;
    const auto row = [](const char *name, RegisterFormat f, Value v, const char *code) {
        QTest::newRow(name) << f << v << QString::fromLatin1(code);
    };
    const double inf = std::numeric_limits<double>::infinity();
    row("uint16 65536", format(UInt16), Value(65536), "codec.outOfRange");
    row("uint16 65535.5 rounds up", format(UInt16), Value(65535.5), "codec.outOfRange");
    row("uint16 -1", format(UInt16), Value(-1), "codec.outOfRange");
    row("int16 -32769", format(Int16), Value(-32769), "codec.outOfRange");
    row("int16 scaled", format(Int16, nullptr, 0.1), Value(3276.8), "codec.outOfRange");
    row("int64 2^63", format(Int64), Value(std::uint64_t{1} << 63), "codec.outOfRange");
    row("int64 2^63 as double", format(Int64), Value(9223372036854775808.0), "codec.outOfRange");
    row("uint64 -1", format(UInt64), Value(-1), "codec.outOfRange");
    row("uint64 2^64", format(UInt64), Value(18446744073709551616.0), "codec.outOfRange");
    row("float32 1e39", format(Float32), Value(1e39), "codec.outOfRange");
    row("float64 beyond", format(Float64, nullptr, 0.1), Value(1.7e308), "codec.outOfRange");
    row("bool 2", format(Bool), Value(2), "codec.outOfRange");
    row("scale 0", format(UInt16, nullptr, 0), Value(1), "codec.outOfRange");
    row("NaN", format(Float32), Value(std::nan("")), "codec.notFinite");
    row("infinity", format(UInt16), Value(inf), "codec.notFinite");
    row("null", format(UInt16), Value(), "codec.notANumber");
    row("text", format(UInt16), Value(QByteArray("1")), "codec.notANumber");
}

void RegistersTest::refusesWhatDoesNotFit()
{
    QFETCH(RegisterFormat, f);
    QFETCH(Value, value);
    QFETCH(QString, code);
    const auto result = encodeRegisters(value, f);
    QVERIFY(!result.ok());
    QCOMPARE(result.error().code, code);
}

void RegistersTest::bits()
{
    auto f = format(RegisterType::Bool);
    f.bit = 15;
    QCOMPARE(decodeRegisters(wire("8000"), f), Value(true));
    QCOMPARE(decodeRegisters(wire("7FFF"), f), Value(false));
    QCOMPARE(encodeRegisters(Value(true), f).value(), wire("8000"));
    QCOMPARE(encodeRegisters(Value(0), f).value(), wire("0000"));
    f.order = ByteOrder::ByteSwapped;
    QCOMPARE(decodeRegisters(wire("0080"), f), Value(true));
}

void RegistersTest::names()
{
    QCOMPARE(registerTypeFromName(u"float32"), std::optional(RegisterType::Float32));
    QVERIFY(!registerTypeFromName(u"Float32"));
    QVERIFY(!registerTypeFromName(u""));
    QVERIFY(!byteOrderFromName(u"ABCD", RegisterType::Float64));
    QVERIFY(!byteOrderFromName(u"ABDC", RegisterType::Float32));
    QVERIFY(!byteOrderFromName(u"ABCD", RegisterType::Int16));
    QCOMPARE(byteOrderFromName(u"AB", RegisterType::Int16), std::optional(ByteOrder::BigEndian));
}

QTEST_APPLESS_MAIN(RegistersTest)
#include "tst_registers.moc"
