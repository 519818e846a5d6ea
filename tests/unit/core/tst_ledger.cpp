// SPDX-License-Identifier: Apache-2.0
#include "core/ledger.h"

#include "core/json.h"

#include <QTest>

#include <random>

using namespace gridloom;

class LedgerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void countsEachOutcome();
    void addsUpAtEveryMoment();
    void noticesWhatDoesNotAddUp();
};

void LedgerTest::countsEachOutcome()
{
    Ledger ledger;
    ledger.offer(10);
    ledger.finish(Outcome::Done, 4);
    ledger.finish(Outcome::Failed);
    ledger.finish(Outcome::TimedOut, 2);
    ledger.finish(Outcome::Discarded);
    QCOMPARE(ledger, (Ledger{10, 4, 1, 2, 1, 2}));
    JsonWriter w;
    ledger.write(w);
    const QByteArray expected = R"({"offered":10,"done":4,"failed":1,"timedOut":2,"discarded":1,"inFlight":2})";
    QCOMPARE(w.text(), expected);
}

void LedgerTest::addsUpAtEveryMoment()
{
    std::mt19937 random(7);
    Ledger ledger;
    std::uint64_t offered = 0;
    std::uint64_t ended = 0;
    for (int i = 0; i < 10'000; ++i) {
        if (random() % 2 == 0) {
            const std::uint64_t n = random() % 5;
            ledger.offer(n);
            offered += n;
        } else {
            const std::uint64_t n = random() % (ledger.inFlight + 1);
            ledger.finish(static_cast<Outcome>(random() % 4), n);
            ended += n;
        }
        QVERIFY(ledger.addsUp());
        QCOMPARE(ledger.offered, offered);
        QCOMPARE(ledger.inFlight, offered - ended);
    }
}

void LedgerTest::noticesWhatDoesNotAddUp()
{
    QVERIFY(!(Ledger{5, 1, 1, 1, 1, 0}).addsUp());
    QVERIFY((Ledger{5, 1, 1, 1, 1, 1}).addsUp());
}

QTEST_APPLESS_MAIN(LedgerTest)
#include "tst_ledger.moc"
