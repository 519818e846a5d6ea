// SPDX-License-Identifier: Apache-2.0
#include "core/design/nearestname.h"

#include <QTest>

using namespace gridloom;

class NearestNameTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void countsEdits_data();
    void countsEdits();
    void findsTheNearest();
};

void NearestNameTest::countsEdits_data()
{
    QTest::addColumn<QString>("a");
    QTest::addColumn<QString>("b");
    QTest::addColumn<int>("edits");
    const auto row = [](const char *a, const char *b, int edits) {
        QTest::addRow("%s - %s", a, b) << QString::fromLatin1(a) << QString::fromLatin1(b) << edits;
    };
    row("kitten", "sitting", 3);
    row("", "abc", 3);
    row("meter", "meter", 0);
    row("Meter", "meter", 0);
    row("metre", "meter", 1); // a swap
    row("ca", "abc", 3);      // no substring is edited twice
    row("sunday", "saturday", 3);
}

void NearestNameTest::countsEdits()
{
    QFETCH(QString, a);
    QFETCH(QString, b);
    QFETCH(int, edits);
    QCOMPARE(editDistance(a, b, 10), edits);
    QCOMPARE(editDistance(b, a, 10), edits);
    QCOMPARE(editDistance(a, b, 2), std::min(edits, 3));
}

void NearestNameTest::findsTheNearest()
{
    const QStringList known{QStringLiteral("battery1"), QStringLiteral("meter1"), QStringLiteral("pv1")};
    QCOMPARE(nearestName(u"metre1", known), QStringLiteral("meter1"));
    QCOMPARE(nearestName(u"batery1", known), QStringLiteral("battery1"));
    QCOMPARE(nearestName(u"pv2", known), QStringLiteral("pv1"));
    QVERIFY(nearestName(u"chiller", known).isEmpty());
    QVERIFY(nearestName(u"", known).isEmpty());
    QVERIFY(suggestion(u"chiller", known).isEmpty());
    QCOMPARE(suggestion(u"metr1", known), QStringLiteral(" (did you mean \"meter1\"?)"));
    const QString huge(1'000'000, QLatin1Char('x'));
    QVERIFY(nearestName(huge, {huge}).isEmpty());
}

QTEST_APPLESS_MAIN(NearestNameTest)
#include "tst_nearestname.moc"
