// SPDX-License-Identifier: Apache-2.0
// Damaged segments (PC-18) and a disk that refuses (T04): the store opens and goes on, and never shows a wrong row.
#include "faultydisk.h"
#include "storefolder.h"

#include <QDir>
#include <QFileInfo>
#include <QTest>

using namespace gridloom;
using namespace gridloom::test;
using std::chrono::milliseconds;

class EmbeddedFaultsTest : public QObject, private StoreFolder {
    Q_OBJECT
private Q_SLOTS:
    void init() { renew(); }
    void damagedFiles_data();
    void damagedFiles();
    void damageInAFullSegmentIsFoundWhenCompacted();
    void refusedBatchLeavesNoTrace();
    void goesOnAfterAFailedSync();
    void eachFailingCallIsSurvived();

private:
    void fillSegments(EmbeddedStore &store);
};

// Values 0 to 1199 in about three segments: texts fill them.
void EmbeddedFaultsTest::fillSegments(EmbeddedStore &store)
{
    QVERIFY(open(store, 1));
    for (int i = 0; i < 12; ++i) {
        QVERIFY(store.append(numbers(i * 100, 100)));
        QVERIFY(store.append(std::vector{row(1, i, Value(QByteArray(200'000, 't')))}));
    }
}

// PC-18
void EmbeddedFaultsTest::damagedFiles_data()
{
    QTest::addColumn<QString>("form");
    QTest::addColumn<bool>("isNewest");
    for (const char *form : {"empty", "zeros", "half", "flipped", "flippedHeader", "shortened"}) {
        QTest::addRow("newest %s", form) << QString::fromLatin1(form) << true;
        QTest::addRow("full %s", form) << QString::fromLatin1(form) << false;
    }
}

void EmbeddedFaultsTest::damagedFiles()
{
    QFETCH(QString, form);
    QFETCH(bool, isNewest);
    {
        EmbeddedStore store(m_clock);
        fillSegments(store);
    }
    const int count = static_cast<int>(files("*.gls").size());
    QVERIFY(count >= 3);
    const QString victim = path(isNewest ? count : 1);
    QByteArray bytes = readFile(victim);
    if (form == QLatin1String("empty"))
        bytes.clear();
    else if (form == QLatin1String("zeros"))
        bytes.fill('\0');
    else if (form == QLatin1String("half"))
        bytes.truncate(bytes.size() / 2);
    else if (form == QLatin1String("shortened"))
        bytes.chop(3);
    else if (form == QLatin1String("flippedHeader"))
        bytes[9] ^= 1;
    else
        bytes[bytes.size() - 20] ^= 0x10;
    writeFile(victim, bytes);

    EmbeddedStore store(m_clock);
    QVERIFY(open(store, 1));
    const QStringList faults = store.takeFaults();
    QCOMPARE(faults.size(), 1);
    QVERIFY(faults[0].contains(victim));
    const QStringList aside = files("*.corrupt-*");
    QCOMPARE(aside, QStringList(QFileInfo(victim).fileName() + QStringLiteral(".corrupt-20260801T000000Z")));
    QCOMPARE(readFile(m_folder + QLatin1Char('/') + aside[0]), bytes);
    QVERIFY(faults[0].contains(aside[0]));

    // Every row of the other segments is there, none is doubled or invented, and the store goes on.
    QVERIFY(store.append(numbers(1200, 100)));
    const auto left = all(store);
    QVERIFY(left.size() >= 400 && left.size() <= 1300);
    for (std::size_t i = 0; i < left.size(); ++i) {
        QVERIFY(left[i].value == Value(static_cast<int>((left[i].time - kStart) / milliseconds(1))));
        QVERIFY(i == 0 || left[i - 1].time < left[i].time);
    }
    QVERIFY(left.back().value == Value(1299));
    store.close();
    QVERIFY(open(store, 1));
    QVERIFY(store.takeFaults().isEmpty()); // mended for good
    QCOMPARE(all(store).size(), left.size());
}

void EmbeddedFaultsTest::damageInAFullSegmentIsFoundWhenCompacted()
{
    EmbeddedStore store(m_clock);
    fillSegments(store);
    store.close();
    QByteArray bytes = readFile(path(1));
    bytes[100'000] ^= 1; // in the first of the texts
    writeFile(path(1), bytes);
    QVERIFY(open(store, 1));
    store.settle();
    QVERIFY(areNumbers(all(store), 0, 1200));
    QCOMPARE(store.takeFaults().size(), 1);
    QCOMPARE(readFile(m_folder + QLatin1Char('/') + files("*.corrupt-*").value(0)), bytes);
    QCOMPARE(all(store, kSeries[1].id).size(), std::size_t{11});
    QVERIFY(store.takeFaults().isEmpty());
}

void EmbeddedFaultsTest::refusedBatchLeavesNoTrace()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    store.settle(); // the fault is for append(), not for the compactor that opens its database
    QVERIFY(store.append(numbers(0, 10)));
    const QByteArray before = readFile(path(1));
    for (const Fault fault : {Fault::NoSpace, Fault::InputOutput, Fault::ShortWrite}) {
        FaultyDisk::failNth(1, fault);
        const auto refused = store.append(numbers(10, 1000));
        QVERIFY(FaultyDisk::heal());
        QVERIFY(!refused);
        QCOMPARE(refused.error().code,
                 fault == Fault::InputOutput ? QStringLiteral("file.failed") : QStringLiteral("file.full"));
        QVERIFY(refused.error().message.contains(path(1)));
        QCOMPARE(readFile(path(1)), before);
    }
    QCOMPARE(store.statistics().rows, std::uint64_t{10});
    QCOMPARE(store.statistics().lost, std::uint64_t{3000});
    QVERIFY(store.append(numbers(10, 5)));
    QVERIFY(areNumbers(all(store), 0, 15));
}

void EmbeddedFaultsTest::goesOnAfterAFailedSync()
{
    EmbeddedStore store(m_clock);
    QVERIFY(open(store));
    QVERIFY(store.append(numbers(0, 10)));
    QVERIFY(store.sync());
    QVERIFY(store.append(numbers(10, 10)));
    FaultyDisk::failSyncs();
    QVERIFY(!store.sync());
    FaultyDisk::heal();
    QCOMPARE(store.statistics().rows, std::uint64_t{10});
    QCOMPARE(store.statistics().lost, std::uint64_t{10});
    QVERIFY(store.append(numbers(20, 10)));
    QVERIFY(store.sync());
    QCOMPARE(files("*.gls").size(), 2);
    QVERIFY(areNumbers(all(store), 0, 30)); // readable, though not vouched for
    store.close();
    QVERIFY(open(store));
    QVERIFY(store.takeFaults().isEmpty());
    QVERIFY(areNumbers(all(store), 0, 30));
}

// Fails the first call, the second, ... until a run meets none: no crash, and what was taken is what is there.
void EmbeddedFaultsTest::eachFailingCallIsSurvived()
{
    for (const Fault fault : {Fault::NoSpace, Fault::InputOutput, Fault::ShortWrite}) {
        int nth = 1;
        // Most of the later calls are pages of one transaction: a part of them will do.
        for (bool wasHit = true; wasHit; nth += nth < 60 ? 1 : 13) {
            renew();
            std::vector<int> taken;
            EmbeddedStore store(m_clock);
            FaultyDisk::failNth(nth, fault);
            QVERIFY(open(store, 1));
            for (int i = 0; i < 12; ++i) {
                auto rows = numbers(i, 1);
                rows.push_back(row(1, i, Value(QByteArray(200'000, 't'))));
                if (store.append(rows))
                    taken.push_back(i);
                static_cast<void>(store.sync());
            }
            store.settle();
            wasHit = FaultyDisk::heal();
            QVERIFY(taken.size() >= 11);
            for (const bool isReopened : {false, true}) {
                if (isReopened) {
                    store.close();
                    QVERIFY(open(store, 1));
                    store.settle();
                }
                std::vector<int> read;
                for (const HistoryRow &r : all(store))
                    read.push_back(static_cast<int>(r.value.int64()));
                QCOMPARE(read, taken);
            }
            // What could not be compacted was said once, and is compacted now.
            QVERIFY(store.takeFaults().size() <= 1);
            QVERIFY2(files("*.gls").size() <= 1,
                     qPrintable(QStringLiteral("call %1: %2").arg(nth).arg(files("*").join(QLatin1Char(' ')))));
        }
        QVERIFY(nth > 40);
    }
}

QTEST_GUILESS_MAIN(EmbeddedFaultsTest)
#include "tst_embeddedfaults.moc"
