// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"
#include "core/value.h"

#include <QTest>

using namespace gridloom;

class ValueTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void integersKeepEveryDigit();
    void numbersCompareExactly();
    void doublesAreShortest();
};

// PC-02: 64-bit values above 2^53 keep their last digit.
void ValueTest::integersKeepEveryDigit()
{
    QCOMPARE(Value(std::int64_t{9007199254740993}).toText(), QByteArray("9007199254740993"));
    QCOMPARE(Value(std::int64_t{-9007199254740993}).toText(), QByteArray("-9007199254740993"));
    QCOMPARE(Value(std::uint64_t{18446744073709551615ULL}).toText(), QByteArray("18446744073709551615"));
}

void ValueTest::numbersCompareExactly()
{
    QCOMPARE(compareNumbers(Value(std::int64_t{9007199254740993}), Value(9007199254740992.0)), std::optional<int>(1));
    QCOMPARE(compareNumbers(Value(18446744073709551616.0), Value(std::uint64_t{18446744073709551615ULL})),
             std::optional<int>(1));
    QCOMPARE(compareNumbers(Value(-1), Value(std::uint64_t{18446744073709551615ULL})), std::optional<int>(-1));
    QCOMPARE(compareNumbers(Value(2), Value(2.5)), std::optional<int>(-1));
    QCOMPARE(compareNumbers(Value(-2), Value(-2.5)), std::optional<int>(1));
    QVERIFY(!compareNumbers(Value(1), Value(std::nan(""))));
    QVERIFY(!compareNumbers(Value(1), Value()));
}

void ValueTest::doublesAreShortest()
{
    QCOMPARE(Value(-1.3).toText(), QByteArray("-1.3"));
    QCOMPARE(Value(std::nan("")).toText(), QByteArray("null"));
}

QTEST_APPLESS_MAIN(ValueTest)
#include "tst_value.moc"
