// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"
#include "tools/sim/bulklayout.h"
#include "tools/sim/modbusresponder.h"
#include "tools/sim/widedevice.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kStart{1000s};
constexpr RegisterFormat kFloat{RegisterType::Float32};

double valueAt(WideDevice &device, int value, SteadyTime now)
{
    device.refresh(RegisterTable::Holding, 2 * value, now);
    return decodeRegisters(*device.registers().read(RegisterTable::Holding, 2 * value, 2), kFloat).real();
}

QJsonObject described(const WideDevice &device)
{
    JsonWriter w;
    w.beginObject();
    device.describe(w);
    return QJsonDocument::fromJson(w.endObject().take()).object();
}

} // namespace

class WideDeviceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everySecondValueStepsWithThePeriod();
    void remembersItsFirstReadAndEachWrite();
};

void WideDeviceTest::everySecondValueStepsWithThePeriod()
{
    WideDevice device(1'000, 1, 100ms);
    for (const int value : {0, 1, 998, 999}) {
        const double first = valueAt(device, value, kStart);
        QCOMPARE(valueAt(device, value, kStart + 99ms), first);
        const double next = valueAt(device, value, kStart + 100ms);
        QCOMPARE(next != first, value % 2 == 0);
        QVERIFY(next >= 1 && next <= 91);
        valueAt(device, value, kStart);
    }
    QVERIFY(!device.registers().read(RegisterTable::Holding, 1'999, 2));
}

void WideDeviceTest::remembersItsFirstReadAndEachWrite()
{
    WideDevice device(10, 2, 1s);
    QCOMPARE(described(device).value(QLatin1String("firstReadNs")).toInteger(), 0);
    ModbusResponder responder;
    const std::uint8_t read[] = {3, 0, 0, 0, 2};
    responder.answer(device, read, kStart);
    responder.answer(device, read, kStart + 1s);
    // Function 16: register 60002 (the second setpoint), two registers, 0x00000007.
    const std::uint8_t write[] = {16, 0xEA, 0x62, 0, 2, 4, 0, 0, 0, 7};
    QCOMPARE(responder.answer(device, write, kStart + 2s).size(), std::size_t{5});
    QCOMPARE(responder.exception(), ModbusException::None);
    const QJsonObject report = described(device);
    QCOMPARE(report.value(QLatin1String("firstReadNs")).toInteger(), 1'000'000'000'000);
    const QJsonArray expected{QJsonArray{kWideSetpointBase + 2, qint64{1'002'000'000'000}}};
    QCOMPARE(report.value(QLatin1String("writeTimes")).toArray(), expected);
}

QTEST_APPLESS_MAIN(WideDeviceTest)
#include "tst_widedevice.moc"
