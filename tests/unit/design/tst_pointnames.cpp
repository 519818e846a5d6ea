// SPDX-License-Identifier: Apache-2.0
#include "core/design/design.h"
#include "engine/listsbypoint.h"

#include <QTest>

using namespace gridloom;

class PointNamesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void namesOfOneHashAreToldApart();
    void listsKeepTheirOrder();
};

void PointNamesTest::namesOfOneHashAreToldApart()
{
    Design design;
    // The first two have one FNV-1a hash of 32 bits.
    for (const auto *name : {"costarring", "liquid", "zähler.küche", "liquid"}) {
        PointRef ref;
        ref.handle = static_cast<PointHandle>(design.points.size());
        ref.name = QString::fromUtf8(name);
        design.points.append(ref);
    }
    design.pointByName.build();
    QCOMPARE(design.pointByName.value("costarring"), PointHandle{0});
    QCOMPARE(design.pointByName.value("liquid"), PointHandle{1}); // the first of two
    QCOMPARE(design.pointByName.value("zähler.küche"), PointHandle{2});
    QCOMPARE(design.pointByName.value("zahler.kuche", 7), PointHandle{7});
    QVERIFY(!design.pointByName.contains(""));
}

void PointNamesTest::listsKeepTheirOrder()
{
    const ListsByPoint<int> lists(4, {{2, 20}, {0, 5}, {2, 10}, {2, 30}});
    const auto list = [&](PointHandle point) { return std::vector<int>(lists[point].begin(), lists[point].end()); };
    QCOMPARE(list(0), std::vector<int>{5});
    QCOMPARE(list(1), std::vector<int>());
    QCOMPARE(list(2), (std::vector<int>{20, 10, 30}));
    QCOMPARE(list(3), std::vector<int>());
}

QTEST_APPLESS_MAIN(PointNamesTest)
#include "tst_pointnames.moc"
