// SPDX-License-Identifier: Apache-2.0
// Folds of a TumblingWindow against a reference that walks through each window millisecond by millisecond.
#include "unit/logic/windowfixture.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace gridloom::windowtest;
using namespace std::chrono_literals;

class WindowReferenceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void agreesWithMillisecondReference_data();
    void agreesWithMillisecondReference();
};

void WindowReferenceTest::agreesWithMillisecondReference_data()
{
    QTest::addColumn<int>("fold");
    QTest::newRow("time-weighted mean") << static_cast<int>(FoldKind::TimeWeightedMean);
    QTest::newRow("integral") << static_cast<int>(FoldKind::Integral);
}

namespace {

struct Reference {
    double area = 0; // value x ms
    int covered = 0; // ms
};

bool isUsable(const Sample &s)
{
    return isGood(s.quality) && std::isfinite(s.value.real());
}

/// For each millisecond of [start, end): which value is known in its middle, from all samples before `end`.
Reference walk(const std::vector<Sample> &samples, WallTime start, WallTime end, FoldKind fold, Milliseconds maxGap)
{
    Reference r;
    for (WallTime t = start; t < end; t += 1ms) {
        const Sample *before = nullptr, *after = nullptr;
        bool isBroken = false;
        for (const Sample &s : samples) {
            if (s.sourceTime >= end)
                break;
            const bool isStale = s.quality == Quality::UncertainLastUsable;
            if (s.sourceTime <= t && isUsable(s)) {
                before = &s;
                isBroken = false;
            } else if (fold == FoldKind::TimeWeightedMean && s.sourceTime <= t && !isStale) {
                before = nullptr;
            } else if (fold == FoldKind::Integral && !after) {
                if (s.sourceTime > t && isUsable(s))
                    after = &s;
                else if (!isStale)
                    isBroken = true;
            }
        }
        if (!before)
            continue;
        if (fold == FoldKind::TimeWeightedMean) {
            if (t - before->sourceTime >= maxGap)
                continue;
            r.area += before->value.real();
        } else if (after) {
            const auto gap = after->sourceTime - before->sourceTime;
            if (gap > maxGap)
                continue;
            const double share =
                std::chrono::duration<double>(t + 500us - before->sourceTime) / std::chrono::duration<double>(gap);
            r.area += before->value.real() + share * (after->value.real() - before->value.real());
        } else {
            if (isBroken || end - before->sourceTime > maxGap)
                continue;
            r.area += before->value.real();
        }
        ++r.covered;
    }
    return r;
}

} // namespace

void WindowReferenceTest::agreesWithMillisecondReference()
{
    QFETCH(int, fold);
    std::mt19937 random(7);
    int compared = 0;
    for (int round = 0; round < 25; ++round) {
        Fixture f(static_cast<FoldKind>(fold), 2s);
        f.aggregation.maxGap = Milliseconds(100 + random() % 900);
        TumblingWindow window = f.window();
        window.close(kNoon);
        std::vector<Sample> samples;
        const auto compare = [&](const WindowResult &r) {
            const Reference expected = walk(samples, r.start, r.end, f.aggregation.fold, f.aggregation.maxGap);
            QCOMPARE(qRound(r.coverage * 2000), expected.covered);
            if (expected.covered == 0) {
                QVERIFY(r.value.isNull());
                return;
            }
            const double value =
                f.aggregation.fold == FoldKind::Integral ? expected.area / 3'600'000 : expected.area / expected.covered;
            QVERIFY2(std::abs(r.value.real() - value) < 1e-9, qPrintable(QString::number(value)));
            ++compared;
        };
        for (WallTime t = kNoon; t < kNoon + 20s; t += std::chrono::milliseconds(1 + random() % 700)) {
            for (const WindowResult &r : window.close(t))
                compare(r);
            const unsigned dice = random() % 10;
            const Quality quality = dice == 0 ? Quality::BadCommunicationError
                : dice == 1                   ? Quality::UncertainLastUsable
                                              : Quality::Good;
            samples.push_back(
                sampleOf(t, dice == 2 ? std::nan("") : static_cast<double>(random() % 1000) / 8, quality));
            window.add(samples.back());
        }
    }
    QVERIFY2(compared > 150, qPrintable(QString::number(compared)));
}

QTEST_APPLESS_MAIN(WindowReferenceTest)
#include "tst_windowreference.moc"
