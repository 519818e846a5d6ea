// SPDX-License-Identifier: Apache-2.0
// The real workers over images that the engine's side goes on writing behind: what ThreadSanitizer is to look at.
#include "enginebed.h"

#include <QTest>

#include <map>
#include <set>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
constexpr int kPoints = 150; // three pages of an image

DesignDocument files()
{
    QByteArray points;
    for (int i = 0; i < kPoints; ++i)
        points += QByteArray(i > 0 ? "," : "") + R"({"id":"p)" + QByteArray::number(i) + R"(","name":"p)"
            + QByteArray::number(i) + R"(","kind":"measured","address":"1","type":"float64","unit":"kW"})";
    // Each run looks at points of all pages: they are of one update, or the image is none.
    const QByteArray script = R"(
        local first = point('dev.p0').value
        for _, name in ipairs({'dev.p63', 'dev.p64', 'dev.p149'}) do
            assert(point(name).value == first)
        end
        state.runs = (state.runs or 0) + 1
        aggregation.write('sums.row', first)
        log(state.runs)
    )";
    return {{"devices/dev.json", R"({"id":"dev","name":"dev","channel":"bus","params":{},"points":[)" + points + "]}"},
            {"aggregations/sums.json", R"({"id":"sums","name":"sums","aggregations":[{"id":"row","name":"row"}]})"},
            {"triggers/fast.json", R"({"id":"fast","name":"fast","when":{"kind":"periodic","periodMs":100}})"},
            {"triggers/fast.lua", script},
            {"triggers/slow.json", R"({"id":"slow","name":"slow","when":{"kind":"periodic","periodMs":1000}})"},
            {"triggers/slow.lua", script}};
}
} // namespace

class ScriptWorkersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void eachJobIsAnsweredOnceFromItsOwnImage();
    void stopDropsWhatWaitsAndAnswersWhatRuns();
    void theFastClassIsThatOfItsPeriod();
};

void ScriptWorkersTest::eachJobIsAnsweredOnceFromItsOwnImage()
{
    constexpr std::uint64_t kRounds = 2'000;
    const EngineBed bed(files());
    const SystemClock clock;
    EngineInbox inbox(100'000);
    ScriptWorkers workers(*bed.design, inbox, clock);
    QVERIFY(workers.start({}).ok());

    PointStore store(static_cast<std::size_t>(bed.design->points.size()));
    std::map<int, std::uint64_t> answered;
    std::vector<EngineEvent> events;
    const auto takeAnswers = [&](std::chrono::milliseconds patience) {
        events.clear();
        inbox.drainUntil(events, std::chrono::steady_clock::now() + patience);
        for (const EngineEvent &event : events) {
            const auto &finished = std::get<ScriptFinished>(event);
            QVERIFY2(finished.result.outcome == ScriptOutcome::Ok, qPrintable(finished.result.error));
            // The value that its round had written, and the trigger's own count: one run after the other.
            QCOMPARE(std::get<AggregationAction>(finished.result.actions.at(0)).value,
                     Value(static_cast<double>(finished.run)));
            QCOMPARE(finished.result.log.at(0), QByteArray::number(qulonglong(++answered[finished.trigger])));
            QVERIFY(finished.started <= finished.ended);
        }
    };
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        for (int i = 0; i < kPoints; ++i)
            store.update({bed.point(("dev.p" + QByteArray::number(i)).constData()), Quality::Good,
                          Value(static_cast<double>(round)), clock.wallNow(), clock.steadyNow()});
        const auto image = store.freeze(clock.steadyNow(), clock.wallNow());
        for (const Trigger *trigger : bed.design->triggerList)
            workers.run({trigger->index, round, image});
        takeAnswers(0ms);
    }
    while (answered[0] + answered[1] < 2 * kRounds)
        takeAnswers(100ms);
    workers.stop();
    QCOMPARE(answered[0], kRounds);
    QCOMPARE(answered[1], kRounds);
    QCOMPARE(inbox.size(), std::size_t(0));
}

void ScriptWorkersTest::stopDropsWhatWaitsAndAnswersWhatRuns()
{
    const EngineBed bed(files());
    const SystemClock clock;
    EngineInbox inbox(100'000);
    ScriptWorkers workers(*bed.design, inbox, clock);
    QVERIFY(workers.start({}).ok());
    PointStore store(static_cast<std::size_t>(bed.design->points.size()));
    const auto image = store.freeze(clock.steadyNow(), clock.wallNow());
    for (std::uint64_t run = 1; run <= 500; ++run)
        workers.run({static_cast<int>(run % 2), run, image});
    workers.stop();
    workers.stop();
    std::vector<EngineEvent> events;
    inbox.drain(events);
    QVERIFY(events.size() <= 500);
    std::set<std::uint64_t> runs;
    for (const EngineEvent &event : events)
        QVERIFY(runs.insert(std::get<ScriptFinished>(event).run).second);
    QCOMPARE(image.use_count(), 1L); // no worker holds it any more
}

void ScriptWorkersTest::theFastClassIsThatOfItsPeriod()
{
    const EngineBed bed(files());
    for (const Trigger *trigger : bed.design->triggerList)
        QCOMPARE(ScriptWorkers::isFast(*trigger), trigger->id == QLatin1String("fast"));
}

QTEST_GUILESS_MAIN(ScriptWorkersTest)
#include "tst_scriptworkers.moc"
