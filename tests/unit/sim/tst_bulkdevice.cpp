// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/bulkdevice.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kStart{1000s};

using Registers = std::vector<std::uint16_t>;

Registers readAt(BulkDevice &device, SteadyTime now)
{
    device.refresh(RegisterTable::Holding, 0, now);
    const auto words = *device.registers().read(RegisterTable::Holding, 0, 100);
    return {words.begin(), words.end()};
}

/// How many points read differently; -1 when a constant one does.
int changesBetween(const Registers &before, const Registers &after)
{
    int changes = 0;
    for (const BulkPoint &point : bulkLayout(0)) {
        const auto decode = [&](const Registers &words) {
            return decodeRegisters(std::span(words).subspan(static_cast<std::size_t>(point.address)), point.format);
        };
        const bool isDifferent = !(decode(before) == decode(after));
        if (isDifferent && !point.changes)
            return -1;
        changes += isDifferent;
    }
    return changes;
}

} // namespace

class BulkDeviceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void eachReadOncePerSecondSeesOneNewStep_data();
    void eachReadOncePerSecondSeesOneNewStep();
    void fastReadsSeeOneStepPerSecond();
    void anEarlyFirstReadMovesTheStepsOffTheGrid();
    void setpointsReadBack();
};

void BulkDeviceTest::eachReadOncePerSecondSeesOneNewStep_data()
{
    QTest::addColumn<int>("jitterMs");
    QTest::newRow("exact") << 0;
    QTest::newRow("jitter of a tenth of a second") << 100;
}

// Half of the points, and all of those, are different at each read: a step that stood still or a value that stepped
// back to where it was would show.
void BulkDeviceTest::eachReadOncePerSecondSeesOneNewStep()
{
    QFETCH(int, jitterMs);
    BulkDevice device(0, 0, 1s);
    Registers before = readAt(device, kStart);
    for (int second = 1; second <= 2000; ++second) {
        const auto jitter = std::chrono::milliseconds(jitterMs * (second % 3 - 1));
        const Registers after = readAt(device, kStart + std::chrono::seconds(second) + jitter);
        QCOMPARE(changesBetween(before, after), 25);
        before = after;
    }
}

void BulkDeviceTest::fastReadsSeeOneStepPerSecond()
{
    BulkDevice device(0, 0, 1s);
    Registers before = readAt(device, kStart);
    QList<int> stepsAtMs;
    for (int ms = 100; ms <= 5000; ms += 100) {
        const Registers after = readAt(device, kStart + std::chrono::milliseconds(ms));
        if (const int changes = changesBetween(before, after); changes != 0) {
            QCOMPARE(changes, 25);
            stepsAtMs.append(ms);
        }
        before = after;
    }
    QCOMPARE(stepsAtMs, (QList<int>{500, 1500, 2500, 3500, 4500}));
}

// A client whose first read comes half a second before its grid would otherwise read just where the steps change, and
// jitter of a millisecond would show it two steps, or none.
void BulkDeviceTest::anEarlyFirstReadMovesTheStepsOffTheGrid()
{
    BulkDevice device(0, 0, 1s);
    readAt(device, kStart - 500ms);
    Registers before = readAt(device, kStart);
    for (int second = 1; second <= 20; ++second) {
        const auto jitter = second % 2 == 0 ? 2ms : -2ms;
        const Registers after = readAt(device, kStart + std::chrono::seconds(second) + jitter);
        QCOMPARE(changesBetween(before, after), 25);
        before = after;
    }
}

void BulkDeviceTest::setpointsReadBack()
{
    BulkDevice device(0, 3, 1s);
    RegisterMap &map = device.registers();
    const auto writes = map.decodeWrite(RegisterTable::Holding, 1002, std::array<std::uint16_t, 2>{0x0001, 0x0002});
    QVERIFY(writes);
    QCOMPARE(writes->size(), std::size_t{1});
    QCOMPARE(writes->front().value, Value(std::int64_t{0x00010002}));
    map.store(*writes);
    const auto words = *map.read(RegisterTable::Holding, 1000, 6);
    QCOMPARE(Registers(words.begin(), words.end()), (Registers{0, 0, 1, 2, 0, 0}));
    QVERIFY(!map.read(RegisterTable::Holding, 1000, 7));
    QVERIFY(!map.decodeWrite(RegisterTable::Holding, 0, std::array<std::uint16_t, 1>{1}));
}

QTEST_APPLESS_MAIN(BulkDeviceTest)
#include "tst_bulkdevice.moc"
