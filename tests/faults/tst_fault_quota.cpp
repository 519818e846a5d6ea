// SPDX-License-Identifier: Apache-2.0
// T14: the outage lasts longer than the outbox is large. Its quota holds in bytes, telemetry goes first and alarms last, an
// alarm comes at 80 %, and the counters add up. What was kept arrives.
#include "faults/faultsize.h"
#include "faults/loadbed.h"
#include "support/droppingproxy.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QSet>
#include <QTest>

using namespace gridloom;
using namespace gridloom::faults;

namespace {
constexpr qint64 kQuotaBytes = 1'000'000;

/// Ten publications of all points every 100 ms, and a trigger that raises, clears and publishes ten times a second.
DesignDocument design(int brokerPort, int devicePort)
{
    DesignDocument files = GatewayBed::baseDesign(brokerPort);
    GatewayBed::addBulkDevice(files, devicePort);
    QByteArray points;
    QByteArray names;
    for (int i = 0; i < 50; ++i) {
        QByteArray point = R"({"id":"cN","name":"cN","kind":"measured","address":"holding:N","type":"uint16"})";
        points += (i == 0 ? "" : ",") + point.replace('N', QByteArray::number(i));
        names += (i == 0 ? "\"c" : ",\"c") + QByteArray::number(i) + '"';
    }
    files["devices/dev.json"] =
        R"({"id":"dev","name":"dev","channel":"dev-bus","params":{"unit":1},"points":[)" + points + "]}";
    QByteArray publications;
    for (int i = 0; i < 10; ++i)
        publications += (i == 0 ? "" : ",")
            + QByteArray(R"({"id":"pN","device":"dev","periodMs":100,"qos":1,"points":[)")
                  .replace('N', QByteArray::number(i))
            + names + "]}";
    files["sinks/mqtt.json"].replace(
        "}}", R"(},"alarms":true,"outbox":{"quotaMb":1},"publications":[)" + publications + "]}");
    files["alarms/site.json"] =
        R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})";
    GatewayBed::addPeriodicTrigger(files, "task", 100, R"(
        state.active = not state.active
        if state.active then alarm.raise("site.event") else alarm.clear("site.event") end
        mqtt.publish("numbers", {run = run.number}))");
    return files;
}

qint64 dropped(const QJsonObject &status, const char *kind)
{
    return status[QLatin1String("sinks")][0][QLatin1String("dropped")][QLatin1String(kind)].toInteger();
}

qint64 waitingBytes(const QJsonObject &status)
{
    return status[QLatin1String("sinks")][0][QLatin1String("bytes")].toInteger();
}
} // namespace

class QuotaTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void outageLongerThanTheOutbox();
};

void QuotaTest::outageLongerThanTheOutbox()
{
    const int longest = bySize(20'000, 60'000, 600'000);
    LoadBed bed;
    const auto ports = bed.startSimulator(R"({"devices":[{"id":"dev","type":"bulk"}]})");
    const QString why = bed.startBroker();
    QVERIFY2(why.isEmpty(), qPrintable(why));
    DroppingProxy proxy(bed.broker().port());
    proxy.setClosing(true); // the outage
    bed.writeDesign(design(proxy.port(), ports[QStringLiteral("dev")]));
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());

    // Up to 80 % nothing is dropped.
    const QJsonObject filling =
        bed.statusWhere([](const QJsonObject &s) { return hasAlarm(s, "system.outboxFilling"); });
    QVERIFY2(!filling.isEmpty(), bed.runtime().output().right(2000).constData());
    QVERIFY(waitingBytes(filling) >= kQuotaBytes * 7 / 10);
    const qint64 wanted = bySize(500, 5'000, 50'000);
    qint64 most = 0;
    const QJsonObject full = bed.statusWhere(
        [&](const QJsonObject &s) {
            most = std::max(most, waitingBytes(s));
            return dropped(s, "telemetry") >= wanted;
        },
        longest);
    QVERIFY2(!full.isEmpty(), bed.runtime().output().right(2000).constData());
    QVERIFY(ledgersAddUp(full));
    report("T14.mostBytes", most);
    report("T14.telemetryDropped", dropped(full, "telemetry"));
    QVERIFY(most <= kQuotaBytes * 21 / 20); // MB may be counted as 2^20
    QCOMPARE(dropped(full, "triggers"), 0);
    QCOMPARE(dropped(full, "alarms"), 0);
    QVERIFY(numberAt(full, {"ledger", "mqtt", "discarded"}) >= dropped(full, "telemetry"));

    // What was kept arrives: each run's message, each transition of the alarm.
    proxy.setClosing(false);
    QJsonObject status;
    const auto isDrained = [&] {
        const QJsonObject next = bed.takeStatus();
        if (!next.isEmpty())
            status = next;
        return !next.isEmpty() && numberAt(next, {"ledger", "mqtt", "inFlight"}) <= 40;
    };
    QVERIFY(QTest::qWaitFor(isDrained, 90'000));
    bed.runtime().requestStop();
    QVERIFY(QTest::qWaitFor([&] { return !bed.runtime().isRunning(); }, 20'000));
    QJsonObject last;
    QVERIFY2(bed.stopRuntime(last) == 0, bed.runtime().output().right(2000).constData());
    QTest::qWait(300);
    QVERIFY(ledgersAddUp(last));
    QCOMPARE(numberAt(last, {"ledger", "mqtt", "failed"}), 0);
    QCOMPARE(numberAt(last, {"ledger", "mqtt", "inFlight"}), 0);
    // Produced = acknowledged + dropped, and what was acknowledged is outside.
    QCOMPARE(numberAt(last, {"ledger", "mqtt", "done"}), static_cast<qint64>(bed.received().size()));
    QCOMPARE(sqlNumber(bed.recordsDb(), "SELECT count(*) FROM outbox"), 0);
    const auto onTopic = [&](const char *topic) {
        const QList<qint64> ids = bed.order().value(topic);
        return static_cast<qint64>(QSet<qint64>(ids.begin(), ids.end()).size());
    };
    QCOMPARE(onTopic("gridloom/v1/gw/numbers"), sqlNumber(bed.recordsDb(), "SELECT count(*) FROM run_records"));
    QCOMPARE(onTopic("gridloom/v1/gw/alarm/site/event"),
             sqlNumber(bed.recordsDb(), "SELECT count(*) FROM alarm_transitions WHERE alarm_id = 'site.event'"));
}

QTEST_GUILESS_MAIN(QuotaTest)
#include "tst_fault_quota.moc"
