// SPDX-License-Identifier: Apache-2.0
// The state of a window over a restart: nothing is lost, nothing is doubled, and what is not its own is refused.
#include "unit/logic/windowfixture.h"

#include <QTest>

#include <random>

using namespace gridloom;
using namespace gridloom::windowtest;
using namespace std::chrono_literals;

class WindowStateTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aRestartBetweenTwoSamplesIsUnseen_data();
    void aRestartBetweenTwoSamplesIsUnseen();
    void timeDownIsAGap();
    void anEndedWindowIsGivenOutOnce();
    void aResultIsNotGivenOutTwice();
    void otherDefinitionsAreRefused();
    void cutStatesAreRefused();
};

namespace {
QByteArray saved(const TumblingWindow &window)
{
    QByteArray state;
    window.save(state);
    return state;
}

QString text(const std::vector<WindowResult> &results)
{
    QStringList list;
    for (const WindowResult &r : results)
        list << QStringLiteral("%1 %2 %3 %4 %5 %6 %7")
                    .arg((r.start - kNoon).count())
                    .arg(QString::fromLatin1(r.value.toText()))
                    .arg(static_cast<int>(r.quality))
                    .arg(r.count)
                    .arg(r.offered)
                    .arg(r.coverage, 0, 'g', 17)
                    .arg(r.isPartial);
    return list.join(QLatin1Char('\n'));
}
} // namespace

void WindowStateTest::aRestartBetweenTwoSamplesIsUnseen_data()
{
    QTest::addColumn<int>("fold");
    for (const FoldKind fold : {FoldKind::Mean, FoldKind::Min, FoldKind::Max, FoldKind::Sum, FoldKind::TimeWeightedMean,
                                FoldKind::Integral})
        QTest::addRow("fold %d", static_cast<int>(fold)) << static_cast<int>(fold);
}

// The same samples through one window and through one that is made anew, from its saved state, at random moments.
void WindowStateTest::aRestartBetweenTwoSamplesIsUnseen()
{
    QFETCH(int, fold);
    Fixture f(static_cast<FoldKind>(fold), 20s, 3);
    std::mt19937 random(static_cast<unsigned>(fold) + 17);
    for (int round = 0; round < 20; ++round) {
        TumblingWindow whole = f.window();
        auto restarted = std::make_unique<TumblingWindow>(f.window());
        std::vector<WindowResult> expected = whole.close(kNoon + 3s);
        std::vector<WindowResult> actual = restarted->close(kNoon + 3s);
        int restarts = 0;
        WallTime t = kNoon + 3s;
        for (int i = 0; i < 400; ++i) {
            t += Milliseconds(random() % 700 + (random() % 50 == 0 ? 9'000 : 0)); // now and then a gap
            const Quality quality = random() % 15 == 0 ? Quality::BadNotConnected
                : random() % 15 == 0                   ? Quality::UncertainLastUsable
                                                       : Quality::Good;
            const Sample sample = sampleOf(t, static_cast<double>(random() % 1'000) / 7, quality, 10 + random() % 3);
            for (const auto &[window, results] : {std::pair{&whole, &expected}, {restarted.get(), &actual}}) {
                for (WindowResult &r : window->close(t))
                    results->push_back(std::move(r));
                window->add(sample);
            }
            if (random() % 10 == 0) {
                auto next = std::make_unique<TumblingWindow>(f.window());
                QVERIFY(next->restore(saved(*restarted), t, random() % 2 == 0));
                restarted = std::move(next);
                ++restarts;
            }
        }
        QVERIFY(restarts > 20 && expected.size() > 5);
        QCOMPARE(text(actual), text(expected));
    }
}

// By hand: one value a second from 12:00:00 on; down after the sample of 12:00:20, up at 12:00:40; longest gap 3 s.
void WindowStateTest::timeDownIsAGap()
{
    for (const FoldKind fold : {FoldKind::Mean, FoldKind::Integral, FoldKind::TimeWeightedMean}) {
        Fixture f(fold, 60s);
        TumblingWindow before = f.window();
        run(before, kNoon, 20s, [](std::int64_t) { return 6.0; });
        TumblingWindow after = f.window();
        QVERIFY(after.restore(saved(before), kNoon + 40s, true));
        QVERIFY(after.close(kNoon + 40s).empty());
        std::vector<WindowResult> results = run(after, kNoon + 40s, 20s, [](std::int64_t) { return 12.0; });
        QCOMPARE(results.size(), std::size_t{1});
        QVERIFY(results[0].start == kNoon && results[0].isPartial);
        QCOMPARE(results[0].quality, Quality::UncertainSubNormal);
        QCOMPARE(results[0].count, std::uint64_t{41}); // 12:00:00 to :20 and :40 to :59
        switch (fold) {
        case FoldKind::Integral: // 20 s x 6 and 20 s x 12, in value x hours; nothing for the time between
            QCOMPARE(results[0].coverage, 40.0 / 60);
            QCOMPARE(results[0].value.real(), (20 * 6.0 + 20 * 12.0) / 3600);
            break;
        case FoldKind::TimeWeightedMean: // the 6 holds for 3 s more
            QCOMPARE(results[0].coverage, 43.0 / 60);
            QCOMPARE(results[0].value.real(), (23 * 6.0 + 20 * 12.0) / 43);
            break;
        default:
            QCOMPARE(results[0].coverage, 43.0 / 60);
            QCOMPARE(results[0].value.real(), (21 * 6.0 + 20 * 12.0) / 41);
        }
    }
}

// Its end came while nothing ran, and nobody has got it yet.
void WindowStateTest::anEndedWindowIsGivenOutOnce()
{
    Fixture f(FoldKind::Mean, 60s);
    TumblingWindow before = f.window();
    run(before, kNoon, 30s, [](std::int64_t s) { return static_cast<double>(s); });
    TumblingWindow after = f.window();
    QVERIFY(after.restore(saved(before), kNoon + 150s, false));
    const auto results = after.close(kNoon + 150s);
    QCOMPARE(results.size(), std::size_t{1});
    QVERIFY(results[0].start == kNoon && results[0].isPartial);
    QCOMPARE(results[0].value.real(), 15.0);
    // The next one is that of now, and begins late.
    QVERIFY(after.nextClose() == kNoon + 180s);
    after.add(sampleOf(kNoon + 151s, 1.0));
    const auto next = after.close(kNoon + 180s);
    QCOMPARE(next.size(), std::size_t{1});
    QVERIFY(next[0].start == kNoon + 120s && next[0].isPartial);
}

// The state is older than the result: that may have been given out, so it is not given out again.
void WindowStateTest::aResultIsNotGivenOutTwice()
{
    Fixture f(FoldKind::Mean, 60s);
    TumblingWindow before = f.window();
    run(before, kNoon, 30s, [](std::int64_t s) { return static_cast<double>(s); });
    TumblingWindow after = f.window();
    QVERIFY(after.restore(saved(before), kNoon + 61s, true));
    QVERIFY(after.close(kNoon + 61s).empty());
    QVERIFY(after.nextClose() == kNoon + 120s);
    // Nor when the wall clock is set back into it afterwards.
    QVERIFY(after.close(kNoon + 30s).empty());
    QVERIFY(after.nextClose() == kNoon + 120s || after.nextClose() == kNoon + 60s);
    after.add(sampleOf(kNoon + 62s, 5.0));
    const auto results = after.close(kNoon + 120s);
    QCOMPARE(results.size(), std::size_t{1});
    QVERIFY(results[0].start == kNoon + 60s && results[0].isPartial);
    QCOMPARE(results[0].value.real(), 5.0);
}

void WindowStateTest::otherDefinitionsAreRefused()
{
    Fixture f(FoldKind::Mean, 60s, 2);
    for (int i = 0; i < 2; ++i)
        f.design.points[10 + i].id = QStringLiteral("dev.p%1").arg(i);
    TumblingWindow before = f.window();
    run(before, kNoon, 30s, [](std::int64_t) { return 1.0; });
    const QByteArray state = saved(before);
    const auto isRefused = [&](auto change) {
        Fixture other(FoldKind::Mean, 60s, 2);
        for (int i = 0; i < 2; ++i)
            other.design.points[10 + i].id = QStringLiteral("dev.p%1").arg(i);
        change(other);
        TumblingWindow window = other.window();
        const bool refused = !window.restore(state, kNoon + 31s, true);
        return refused && !window.nextClose(); // as if nothing had been asked
    };
    QVERIFY(!isRefused([](Fixture &) {}));
    // Names and handles are free; the ids are what counts.
    QVERIFY(!isRefused([](Fixture &o) { o.design.points[10].name = QStringLiteral("new.name"); }));
    QVERIFY(isRefused([](Fixture &o) { o.aggregation.fold = FoldKind::Max; }));
    QVERIFY(isRefused([](Fixture &o) { o.aggregation.window = 30s; }));
    QVERIFY(isRefused([](Fixture &o) { o.aggregation.maxGap = 7s; }));
    QVERIFY(isRefused([](Fixture &o) { o.aggregation.inputs.removeLast(); }));
    QVERIFY(isRefused([](Fixture &o) { o.design.points[11].id = QStringLiteral("dev.other"); }));
    const TumblingWindow elsewhere(f.aggregation, QTimeZone("Asia/Kathmandu"), f.design);
    TumblingWindow window = elsewhere;
    QVERIFY(!window.restore(state, kNoon + 31s, true));
}

void WindowStateTest::cutStatesAreRefused()
{
    Fixture f(FoldKind::Integral, 60s, 2);
    TumblingWindow before = f.window();
    QCOMPARE(saved(before), QByteArray()); // nothing is open yet
    run(before, kNoon, 90s, [](std::int64_t s) { return static_cast<double>(s); });
    const QByteArray state = saved(before);
    for (qsizetype size = 0; size < state.size(); ++size) {
        TumblingWindow window = f.window();
        QVERIFY2(!window.restore(state.first(size), kNoon + 91s, false), qPrintable(QString::number(size)));
        QVERIFY(!window.nextClose());
    }
    TumblingWindow window = f.window();
    QVERIFY(!window.restore(state + 'x', kNoon + 91s, false));
    QVERIFY(window.restore(state, kNoon + 91s, false));
    QCOMPARE(saved(window), state);
}

QTEST_APPLESS_MAIN(WindowStateTest)
#include "tst_windowstate.moc"
