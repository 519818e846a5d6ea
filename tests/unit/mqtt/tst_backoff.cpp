// SPDX-License-Identifier: Apache-2.0
#include "protocols/mqtt/backoff.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

class BackoffTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void doublesUpToTheLongest();
    void chanceSpreadsEveryWait();
    void resetBeginsAgain();
};

void BackoffTest::doublesUpToTheLongest()
{
    Backoff backoff(1s, 60s);
    for (const auto expected : {1s, 2s, 4s, 8s, 16s, 32s, 40s, 40s})
        QCOMPARE(backoff.next(0.0).count(), std::chrono::milliseconds(expected).count());
}

void BackoffTest::chanceSpreadsEveryWait()
{
    // From 1 s on the wait lies in [1, 1.5) s; at the end in [40, 60) s, never beyond 60 s.
    Backoff first(1s, 60s);
    QCOMPARE(first.next(0.5).count(), 1'250);
    Backoff last(1s, 60s);
    for (int i = 0; i < 10; ++i)
        last.next(0.999);
    QCOMPARE(last.next(0.5).count(), 50'000);
    QVERIFY(last.next(0.999) > 59s);
    QVERIFY(last.next(0.999) <= 60s);
}

void BackoffTest::resetBeginsAgain()
{
    Backoff backoff(50ms, 200ms);
    for (int i = 0; i < 5; ++i)
        backoff.next(0.0);
    backoff.reset();
    QCOMPARE(backoff.next(0.0).count(), 50);
    QCOMPARE(backoff.next(0.0).count(), 100);
}

QTEST_APPLESS_MAIN(BackoffTest)
#include "tst_backoff.moc"
