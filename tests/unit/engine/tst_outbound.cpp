// SPDX-License-Identifier: Apache-2.0
#include "enginebed.h"

#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {
DesignDocument design()
{
    return {{"devices/dev.json", R"({"id":"dev","name":"dev","channel":"bus","points":[
                {"id":"a","name":"a","kind":"measured","address":"1"}]})"},
            {"sinks/mqtt.json", R"({"id":"mqtt","name":"mqtt","sink":"fake","params":{},
                "publications":[{"id":"p","device":"dev","periodMs":1000}]})"}};
}
bool stands(EngineBed &bed, const char *alarm)
{
    for (const auto &active : bed.snapshot().activeAlarms)
        if (active.id == QLatin1String(alarm) && active.state == QStringLiteral("Unacknowledged"))
            return true;
    return false;
}
} // namespace

class OutboundTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theClassIsInTheRecord();
    void backlogPlacesAreFreedByTheCommit();
    void passingMessagesMoveTheNumbersToo();
    void aDropIsCountedAndItsRecordGoes();
    void aFillingOutboxIsAnAlarm();
};

void OutboundTest::theClassIsInTheRecord()
{
    EngineBed bed(design());
    bed.advance(1s);
    const auto entries = bed.records.all<OutboxEntry>();
    QCOMPARE(entries.size(), std::size_t(1));
    QCOMPARE(entries[0].message.kind, MessageClass::Telemetry);
    QCOMPARE(entries[0].message.topic, QByteArray("gridloom/v1/gw/telemetry/dev")); // as it arose
}

void OutboundTest::backlogPlacesAreFreedByTheCommit()
{
    EngineBed bed(design());
    for (int i = 0; i < 3; ++i)
        bed.advance(1s);
    QCOMPARE(bed.messages.size(), std::size_t(3));
    const auto acknowledged = [&](bool isBacklog) {
        bed.push(MessageEnded{
            QStringLiteral("mqtt"), bed.messages.front().id, Outcome::Done, {}, bed.clock.steadyNow(), isBacklog});
        bed.messages.pop_front();
        bed.step();
    };
    acknowledged(true);
    acknowledged(true);
    acknowledged(false);
    QCOMPARE(bed.settledMessages, std::size_t(0));
    bed.recordsCommitted(false); // also when the disk refuses: the backlog must not stand for ever
    QCOMPARE(bed.settledMessages, std::size_t(2));
    bed.recordsCommitted();
    QCOMPARE(bed.settledMessages, std::size_t(2));
}

// States have no record, but their ids must not be given out again after a kill: the records keep a reserve of 100,000.
void OutboundTest::passingMessagesMoveTheNumbersToo()
{
    DesignDocument files = design();
    files["sinks/mqtt.json"] = R"({"id":"mqtt","name":"mqtt","sink":"fake","params":{},
        "state":{"points":["dev"],"minIntervalMs":10}})";
    EngineBed bed(files);
    std::uint64_t lastId = 0;
    for (int i = 0; i < 45'000; ++i) {
        bed.clock.advance(10ms);
        bed.sample("dev.a", Value(i));
        lastId = bed.messages.back().id;
        bed.messageEnds();
    }
    const auto entries = bed.records.all<OutboxEntry>();
    QCOMPARE(entries.size(), std::size_t(2));
    QVERIFY(lastId - entries.back().message.id < 50'000);
    QCOMPARE(bed.records.all<OutboxAcknowledged>().size(), std::size_t(2));
}

void OutboundTest::aDropIsCountedAndItsRecordGoes()
{
    EngineBed bed(design());
    bed.advance(1s);
    bed.push(MessageEnded{QStringLiteral("mqtt"), bed.messages.front().id, Outcome::Discarded,
                          QStringLiteral("the outbox is full"), bed.clock.steadyNow(), false});
    bed.step();
    QCOMPARE(bed.snapshot().mqtt.discarded, 1u);
    QCOMPARE(bed.snapshot().publications.discarded, 1u);
    QVERIFY(bed.snapshot().mqtt.addsUp());
    const auto gone = bed.records.all<OutboxAcknowledged>();
    QCOMPARE(gone.size(), std::size_t(1));
    QCOMPARE(gone[0].messageId, bed.messages.front().id);
}

void OutboundTest::aFillingOutboxIsAnAlarm()
{
    DesignDocument files = design();
    files["sinks/second.json"] = R"({"id":"second","name":"second","sink":"fake","params":{}})";
    EngineBed bed(files);
    const auto level = [&](const char *sink, bool isFilling) {
        bed.push(OutboxLevelChanged{QLatin1String(sink), isFilling, 850'000, 1'000'000});
        bed.step();
    };
    level("mqtt", true);
    QVERIFY(stands(bed, "system.outbox-filling"));
    QVERIFY(bed.snapshot().activeAlarms[0].text.contains(QStringLiteral("850000 of 1000000")));
    level("second", true);
    level("mqtt", false);
    QVERIFY(stands(bed, "system.outbox-filling"));
    QVERIFY(bed.snapshot().activeAlarms[0].text.contains(QStringLiteral("second")));
    level("second", false);
    QVERIFY(!stands(bed, "system.outbox-filling"));
}

QTEST_GUILESS_MAIN(OutboundTest)
#include "tst_outbound.moc"
