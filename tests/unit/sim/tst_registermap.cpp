// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/formats.h"
#include "tools/sim/registermap.h"

#include <QTest>

using namespace gridloom;

namespace {

constexpr auto kHolding = RegisterTable::Holding;
using Words = std::vector<std::uint16_t>;

Words wordsOf(const RegisterMap &map, int address, int count)
{
    const auto words = map.read(kHolding, address, count);
    return words ? Words(words->begin(), words->end()) : Words();
}

} // namespace

class RegisterMapTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void placesValuesInTheirOrder();
    void readsOnlyInsideOneBlock();
    void whatDoesNotFitReadsAsAllBits();
    void writesWholeWritableValuesOnly();
    void countsAcceptedWrites();

private:
    RegisterMap m_map;
    RegisterMap::ValueId m_fixed = 0, m_swapped = 0, m_level = 0, m_target = 0;
};

void RegisterMapTest::init()
{
    m_map = {};
    m_map.addBlock(kHolding, 10, 5);
    m_map.addBlock(kHolding, 20, 4);
    m_fixed = m_map.addValue(kHolding, 10, kFloat32);
    m_swapped = m_map.addValue(kHolding, 12, kUInt32Swapped);
    m_level = m_map.addValue(kHolding, 20, kInt16Tenths, true);
    m_target = m_map.addValue(kHolding, 21, kInt32, true);
}

void RegisterMapTest::placesValuesInTheirOrder()
{
    m_map.set(m_fixed, Value(230.5)); // IEEE 754: 43 66 80 00
    m_map.set(m_swapped, Value(std::int64_t{0x12345678}));
    QCOMPARE(wordsOf(m_map, 10, 5), (Words{0x4366, 0x8000, 0x5678, 0x1234, 0}));
    m_map.set(m_level, Value(-1.3));
    QCOMPARE(wordsOf(m_map, 20, 1), Words{0xFFF3});
}

void RegisterMapTest::readsOnlyInsideOneBlock()
{
    QVERIFY(m_map.read(kHolding, 14, 1));
    QVERIFY(!m_map.read(kHolding, 14, 2));
    QVERIFY(!m_map.read(kHolding, 9, 2));
    QVERIFY(!m_map.read(kHolding, 10, 14));
    QVERIFY(!m_map.read(RegisterTable::Inputs, 10, 1));
}

void RegisterMapTest::whatDoesNotFitReadsAsAllBits()
{
    m_map.set(m_swapped, Value(-1));
    QCOMPARE(wordsOf(m_map, 12, 2), (Words{0xFFFF, 0xFFFF}));
    m_map.set(m_level, Value(4'000.0)); // 40,000 is no int16
    QCOMPARE(wordsOf(m_map, 20, 1), Words{0xFFFF});
}

void RegisterMapTest::writesWholeWritableValuesOnly()
{
    const auto writes = m_map.decodeWrite(kHolding, 20, Words{0x0019, 0xFFFF, 0xFFFE});
    QVERIFY(writes);
    QCOMPARE(writes->size(), std::size_t{2});
    QCOMPARE((*writes)[0].value, Value(2.5));
    QCOMPARE((*writes)[1].id, m_target);
    QCOMPARE((*writes)[1].value, Value(std::int64_t{-2}));
    QVERIFY2(!m_map.decodeWrite(kHolding, 21, Words{1}), "the first half of a value");
    QVERIFY2(!m_map.decodeWrite(kHolding, 22, Words{1}), "the second half of a value");
    QVERIFY2(!m_map.decodeWrite(kHolding, 20, Words{1, 1}), "a value and a half");
    QVERIFY2(!m_map.decodeWrite(kHolding, 21, Words{1, 1, 1}), "a register without a value");
    QVERIFY2(!m_map.decodeWrite(kHolding, 10, Words{1, 1}), "a value that is only read");
    QVERIFY2(!m_map.decodeWrite(kHolding, 24, Words{1}), "no such address");
}

void RegisterMapTest::countsAcceptedWrites()
{
    for (int i = 0; i < 3; ++i)
        m_map.store(*m_map.decodeWrite(kHolding, 20, Words{static_cast<std::uint16_t>(i)}));
    QCOMPARE(m_map.entries()[m_level].writes, std::uint64_t{3});
    QCOMPARE(m_map.entries()[m_target].writes, std::uint64_t{0});
    QCOMPARE(wordsOf(m_map, 20, 1), Words{2});
}

QTEST_APPLESS_MAIN(RegisterMapTest)
#include "tst_registermap.moc"
