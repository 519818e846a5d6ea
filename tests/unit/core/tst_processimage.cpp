// SPDX-License-Identifier: Apache-2.0
// ProcessImage and PointStore against a plain copy of everything.
#include "core/processimage.h"

#include <QTest>

#include <atomic>
#include <random>
#include <thread>

using namespace gridloom;

class ProcessImageTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void startsWithoutValues();
    void updateTellsChanges();
    void imagesNeverChange();
    void sharesWhatDidNotChange();
    void imagesAreReadWhileTheStoreIsWritten();
};

namespace {
Sample sample(PointHandle point, int value, Quality quality = Quality::Good)
{
    return {point, quality, Value(value), WallTime(std::chrono::seconds(value)),
            SteadyTime(std::chrono::seconds(value))};
}
} // namespace

void ProcessImageTest::startsWithoutValues()
{
    for (const std::size_t size : {0U, 1U, 64U, 65U, 4'096U, 4'097U}) {
        PointStore store(size);
        const auto image = store.freeze(SteadyTime(), WallTime());
        QCOMPARE(image->size(), size);
        for (std::size_t i = 0; i < size; ++i) {
            QCOMPARE(image->at(static_cast<PointHandle>(i)).quality, Quality::BadWaitingForInitialData);
            QVERIFY(image->at(static_cast<PointHandle>(i)).value.isNull());
        }
    }
}

void ProcessImageTest::updateTellsChanges()
{
    PointStore store(100);
    QVERIFY(store.update(sample(70, 5)));
    QVERIFY(!store.update(sample(70, 5)));
    QVERIFY(store.update(sample(70, 6)));
    QVERIFY(store.update(sample(70, 6, Quality::UncertainLastUsable)));
    // The same number as another type is another value.
    QVERIFY(store.update({70, Quality::UncertainLastUsable, Value(6.0), WallTime(), SteadyTime()}));
    QCOMPARE(store.at(70).sequence, 5U);
    QCOMPARE(store.at(71).sequence, 0U);
}

// 5,000 points over two levels of pages, random updates, an image every now and then: each image keeps showing the
// values of its moment, whatever comes later.
void ProcessImageTest::imagesNeverChange()
{
    constexpr PointHandle kPoints = 5'000;
    PointStore store(kPoints);
    std::vector<int> live(kPoints, -1);
    std::vector<std::pair<std::shared_ptr<const ProcessImage>, std::vector<int>>> taken;
    std::mt19937 random(3);
    for (int step = 0; step < 30; ++step) {
        for (int i = 0; i < 200; ++i) {
            const PointHandle point = random() % kPoints;
            const int value = static_cast<int>(random() % 1'000);
            store.update(sample(point, value));
            live[point] = value;
        }
        taken.emplace_back(store.freeze(SteadyTime(std::chrono::seconds(step)), WallTime()), live);
        QCOMPARE(taken.back().first->number(), static_cast<std::uint64_t>(step + 1));
    }
    for (const auto &[image, values] : taken)
        for (PointHandle point = 0; point < kPoints; ++point)
            QCOMPARE(image->at(point).value, values[point] < 0 ? Value() : Value(values[point]));
}

void ProcessImageTest::sharesWhatDidNotChange()
{
    PointStore store(10'000);
    const auto before = store.freeze(SteadyTime(), WallTime());
    store.update(sample(64 * 64 + 5, 1));
    const auto after = store.freeze(SteadyTime(), WallTime());
    int copied = 0;
    for (PointHandle point = 0; point < 10'000; ++point)
        copied += &before->at(point) == &after->at(point) ? 0 : 1;
    QCOMPARE(copied, 64); // one page
}

// For ThreadSanitizer: a worker lets go of its image at any moment, while the engine thread goes on writing.
void ProcessImageTest::imagesAreReadWhileTheStoreIsWritten()
{
    PointStore store(1'000);
    for (int round = 0; round < 50; ++round) {
        for (PointHandle point = 0; point < 1'000; point += 7)
            store.update(sample(point, round));
        auto image = store.freeze(SteadyTime(), WallTime());
        std::atomic<bool> isDone = false;
        bool isWhole = true;
        std::thread worker([&isDone, &isWhole, image = std::move(image), round]() mutable {
            for (PointHandle point = 0; point < 1'000; point += 7)
                isWhole = isWhole && image->at(point).value == Value(round);
            image.reset();
            isDone.store(true, std::memory_order_relaxed); // orders nothing: the store must not rely on it
        });
        for (bool isLast = false; !isLast;) {
            isLast = isDone.load(std::memory_order_relaxed);
            for (PointHandle point = 0; point < 1'000; point += 3)
                store.update(sample(point, -1));
        }
        worker.join();
        QVERIFY(isWhole);
    }
}

QTEST_APPLESS_MAIN(ProcessImageTest)
#include "tst_processimage.moc"
