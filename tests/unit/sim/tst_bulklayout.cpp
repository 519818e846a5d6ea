// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/bulklayout.h"

#include <QSet>
#include <QTest>

using namespace gridloom;

class BulkLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void countsOfTypes_data();
    void countsOfTypes();
    void coversHundredRegistersWithGaps_data() { devices(); }
    void coversHundredRegistersWithGaps();
    void isPureAndDiffersByDevice();

private:
    static void devices();
};

void BulkLayoutTest::devices()
{
    QTest::addColumn<int>("device");
    for (const int device : {0, 1, 2, 39, 99})
        QTest::addRow("device %d", device) << device;
}

void BulkLayoutTest::countsOfTypes_data()
{
    devices();
}

void BulkLayoutTest::countsOfTypes()
{
    QFETCH(int, device);
    QMap<RegisterType, int> types;
    QMap<RegisterType, int> swapped;
    int changing = 0;
    QSet<QString> ids;
    for (const BulkPoint &point : bulkLayout(device)) {
        ++types[point.format.type];
        swapped[point.format.type] += point.format.order == ByteOrder::WordSwapped;
        QVERIFY(point.format.order == ByteOrder::WordSwapped || point.format.order == ByteOrder::BigEndian);
        changing += point.changes;
        ids.insert(point.id);
    }
    QCOMPARE(
        types,
        (QMap<RegisterType, int>{{RegisterType::Int16, 20}, {RegisterType::UInt32, 15}, {RegisterType::Float32, 15}}));
    QCOMPARE(changing, 25);
    QCOMPARE(ids.size(), 50);
    for (const RegisterType type : {RegisterType::UInt32, RegisterType::Float32})
        QVERIFY2(swapped[type] > 0 && swapped[type] < types[type], "both orders occur");
}

void BulkLayoutTest::coversHundredRegistersWithGaps()
{
    QFETCH(int, device);
    QList<bool> used(100);
    for (const BulkPoint &point : bulkLayout(device)) {
        const int words = point.format.type == RegisterType::Int16 ? 1 : 2;
        for (int i = point.address; i < point.address + words; ++i) {
            QVERIFY2(i >= 0 && i < 100, "inside registers 0 to 99");
            QVERIFY2(!used[i], "no two points share a register");
            used[i] = true;
        }
    }
    QVERIFY(used.first() && used.last());
    QCOMPARE(used.count(false), 20);
    int gap = 0;
    for (const bool isUsed : used) {
        gap = isUsed ? 0 : gap + 1;
        QVERIFY2(gap <= 8, "gaps of 1 to 8 registers");
    }
}

void BulkLayoutTest::isPureAndDiffersByDevice()
{
    const auto addresses = [](int device) {
        QList<int> all;
        for (const BulkPoint &point : bulkLayout(device))
            all.append(point.address);
        return all;
    };
    QCOMPARE(addresses(7), addresses(7));
    QVERIFY(addresses(7) != addresses(8));
}

QTEST_APPLESS_MAIN(BulkLayoutTest)
#include "tst_bulklayout.moc"
