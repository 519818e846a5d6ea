// SPDX-License-Identifier: Apache-2.0
#include "core/quality.h"

#include <QTest>

#include <set>

using namespace gridloom;

class QualityTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyByteHasOneSeverity();
    void worstKeepsTheFirstOfEqualSeverity();
    void namesAreUnique();
};

// OPC 10000-4, 7.39: the two top bits are the severity.
void QualityTest::everyByteHasOneSeverity()
{
    for (int byte = 0; byte < 256; ++byte) {
        const auto q = static_cast<Quality>(byte);
        QCOMPARE(isGood(q), byte >> 6 == 0);
        QCOMPARE(isBad(q), byte >> 6 >= 2);
        QCOMPARE(isUsable(q), byte >> 6 < 2);
        QCOMPARE(severityName(q),
                 byte >> 6 == 0       ? std::string_view("good")
                     : byte >> 6 == 1 ? std::string_view("uncertain")
                                      : std::string_view("bad"));
    }
}

void QualityTest::worstKeepsTheFirstOfEqualSeverity()
{
    QCOMPARE(worst(Quality::Good, Quality::UncertainLastUsable), Quality::UncertainLastUsable);
    QCOMPARE(worst(Quality::BadNoData, Quality::UncertainLastUsable), Quality::BadNoData);
    QCOMPARE(worst(Quality::BadNotConnected, Quality::BadNoData), Quality::BadNotConnected);
    QCOMPARE(worst(Quality::BadNoData, Quality::BadNotConnected), Quality::BadNoData);
    for (int a = 0; a < 256; ++a)
        for (int b = 0; b < 256; ++b)
            QCOMPARE(static_cast<int>(worst(static_cast<Quality>(a), static_cast<Quality>(b))) >> 6,
                     std::max(a >> 6, b >> 6));
}

void QualityTest::namesAreUnique()
{
    std::set<std::string_view> names;
    for (int byte = 0; byte < 256; ++byte) {
        const std::string_view name = qualityName(static_cast<Quality>(byte));
        if (name.empty())
            continue;
        QVERIFY(names.insert(name).second);
        const std::string_view prefix = byte >> 6 == 0 ? "Good" : byte >> 6 == 1 ? "Uncertain_" : "Bad_";
        QVERIFY2(name.substr(0, prefix.size()) == prefix, name.data());
    }
    QCOMPARE(names.size(), std::size_t(13));
    QCOMPARE(qualityName(Quality::BadCommunicationError), std::string_view("Bad_CommunicationError"));
}

QTEST_APPLESS_MAIN(QualityTest)
#include "tst_quality.moc"
