// SPDX-License-Identifier: Apache-2.0
#include "procparse.h"

#include <QTest>

using namespace gridloom;

namespace {

// Recorded on a machine with two cores, Linux 6.18.
constexpr char kStat[] = "cpu  19647 143315 34094 523871 606 0 174 74 0 0\n"
                         "cpu0 11324 72465 16256 260680 43 0 43 33 0 0\n"
                         "cpu1 8322 70849 17837 263191 563 0 130 40 0 0\n"
                         "intr 8712341 0 0\n";
constexpr char kMemInfo[] = "MemTotal:       24683656 kB\n"
                            "MemFree:        20086036 kB\n"
                            "MemAvailable:   22348900 kB\n"
                            "Buffers:           18968 kB\n";
constexpr char kSelfStat[] =
    "688 (cat) R 31525 31525 4012 0 -1 4194304 102 11 12 13 250 75 16 17 20 0 1 0 361453 3133440 374";

} // namespace

class ProcParseTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cpuTicksOfARecordedText();
    void cpuPercentByHand();
    void cpuPercentOfOddReadings();
    void memoryOfARecordedText();
    void writtenBytes();
    void processTicksWithAnyName();
    void residentAndPlainNumbers();
    void brokenTextsGiveNothing_data();
    void brokenTextsGiveNothing();
};

void ProcParseTest::cpuTicksOfARecordedText()
{
    const auto ticks = proc::cpuTicks(kStat);
    QVERIFY(ticks);
    // 19647 + 143315 + 34094 + 523871 + 606 + 0 + 174 + 74; busy: without 523871 and 606
    QCOMPARE(ticks->total, 721'781u);
    QCOMPARE(ticks->busy, 197'304u);
    // Guest time is in user time: counted again it would give more than 100 %.
    QCOMPARE(proc::cpuTicks("cpu  500 0 0 500 0 0 0 0 400 0\n")->total, 1'000u);
}

void ProcParseTest::cpuPercentByHand()
{
    const auto before = proc::cpuTicks(kStat);
    // user +100, nice +100, system +50, idle +700, iowait +50: 250 of 1,000 ticks
    const auto now = proc::cpuTicks("cpu  19747 143415 34144 524571 656 0 174 74 0 0\n");
    QVERIFY(before && now);
    QCOMPARE(proc::cpuPercent(*before, *now).value(), 25.0);
}

void ProcParseTest::cpuPercentOfOddReadings()
{
    QVERIFY(!proc::cpuPercent({100, 1'000}, {100, 1'000})); // no tick passed: no share, rather than 0/0
    QVERIFY(!proc::cpuPercent({100, 1'000}, {100, 999}));
    QVERIFY(!proc::cpuPercent({100, 1'000}, {99, 1'010}));
    QCOMPARE(proc::cpuPercent({100, 1'000}, {120, 1'010}).value(), 100.0); // iowait went back by 10
    QCOMPARE(proc::cpuPercent({100, 1'000}, {100, 1'010}).value(), 0.0);
}

void ProcParseTest::memoryOfARecordedText()
{
    const auto memory = proc::memory(kMemInfo);
    QVERIFY(memory);
    QCOMPARE(memory->totalKb, 24'683'656u);
    QCOMPARE(memory->availableKb, 22'348'900u);
    // 2,334,756 of 24,683,656 kB
    QVERIFY(std::abs(proc::memoryPercent(*memory) - 9.45871) < 0.00001);
    QCOMPARE(proc::memoryPercent({1'000, 250}), 75.0);
    // The label counts at the start of a line only.
    QCOMPARE(proc::memory("XMemTotal: 5 kB\nMemTotal: 1000 kB\nMemAvailable: 250 kB\n")->totalKb, 1'000u);
}

void ProcParseTest::writtenBytes()
{
    QCOMPARE(proc::writtenBytes("rchar: 6976\nwchar: 9\nread_bytes: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 1\n"),
             4'096u);
    QVERIFY(!proc::writtenBytes("rchar: 6976\ncancelled_write_bytes: 1\n"));
    QVERIFY(!proc::writtenBytes("write_bytes:\n"));
    QCOMPARE(proc::diskWrittenBytes("  286968    49712 14744114   267195   817065   178695 60780416   396940 0\n"),
             60'780'416ULL * 512);
    QVERIFY(!proc::diskWrittenBytes("1 2 3 4 5 6\n"));
    QVERIFY(!proc::diskWrittenBytes(""));
}

void ProcParseTest::processTicksWithAnyName()
{
    QCOMPARE(proc::processTicks(kSelfStat).value(), 325u);                                           // 250 + 75
    QCOMPARE(proc::processTicks("7 (a) R (9 9 9) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14").value(), 23u); // 11 + 12
}

void ProcParseTest::residentAndPlainNumbers()
{
    QCOMPARE(proc::residentKb("Name:\tgridloomd\nVmHWM:\t   20000 kB\nVmRSS:\t   13516 kB\n").value(), 13'516u);
    QCOMPARE(proc::firstNumber("2.62 0.97 0.36 3/212 31525\n").value(), 2.62);
    QCOMPARE(proc::firstNumber("3614.53 5238.71\n").value(), 3614.53);
    QCOMPARE(proc::temperature("48312\n").value(), 48.312);
    QCOMPARE(proc::temperature("-5500\n").value(), -5.5);
}

void ProcParseTest::brokenTextsGiveNothing_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("blank") << QByteArray(" \n");
    QTest::newRow("words") << QByteArray("cpu MemTotal: MemAvailable: VmRSS: (x)");
    QTest::newRow("cut") << QByteArray("cpu  19647 143315 34094\nMemTotal:  10 kB\nVmRSS:");
    QTest::newRow("no unit") << QByteArray("MemTotal: 1000\nMemAvailable: 250\nVmRSS: 7");
    QTest::newRow("too large") << QByteArray("cpu 99999999999999999999 1 1 1 1 1 1 1");
    QTest::newRow("more available than there is") << QByteArray("MemTotal: 10 kB\nMemAvailable: 11 kB\n");
    QTest::newRow("not finite") << QByteArray("nan");
}

void ProcParseTest::brokenTextsGiveNothing()
{
    QFETCH(QByteArray, text);
    const std::string_view view(text.constData(), static_cast<std::size_t>(text.size()));
    QVERIFY(!proc::cpuTicks(view));
    QVERIFY(!proc::memory(view));
    QVERIFY(!proc::processTicks(view));
    QVERIFY(!proc::residentKb(view));
    QVERIFY(!proc::firstNumber(view));
    QVERIFY(!proc::temperature(view));
}

QTEST_APPLESS_MAIN(ProcParseTest)
#include "tst_procparse.moc"
