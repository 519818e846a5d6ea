// SPDX-License-Identifier: Apache-2.0
#include "recordsprobe.h"

#include <QTest>
#include <QtEndian>

using namespace gridloom;
using namespace gridloom::test;

namespace {
// Made by a Python script from docs/records.md with zlib.crc32 and struct. This one is of version 1.
const QByteArray kReference = QByteArray::fromHex(
    "474c5245434f5244010000008bf3408b06000000fed0097e06a18d0601460347000000237bd4b70105077365742e686f74064e6f726d61"
    "6c0e556e61636b6e6f776c6564676564038280dec79ffcab06085a7520686569c39f143138343436373434303733373039353531363135"
    "00450000008b387122020602097076312e6c696d69740431322e35000973686176652333303009677269644c696d69740854696d65644f"
    "7574096e6f20616e737765728280dec79ffcab068092f401250000001f47b8660307ac02057368617665024f6b008280dec79ffcab0614"
    "2801f02e016478077b2261223a317d21000000e4aa448d0408046d717474290d677269646c6f6f6d2f76312f780200ff818280dec79ffc"
    "ab06070000004976f4bc0509046d71747428");

// Of version 2, with the kinds that it added.
const QByteArray kReference2 = QByteArray::fromHex(
    "474c5245434f524402000000655cf59906000000fed0097e06a18d06014603150000000e428c2d070a1077696e646f772f73756d732e6d65"
    "616e0200ff24000000a4e5a750080b8280dec79ffcab0604616e6e61057772697465097076312e6c696d69740431322e35001d0000004dfc"
    "0121090c8280dec79ffcab060461623132074170706c696564057374617274002500000070a59da20a0dad020473686564064661696c6564"
    "085a7520686569c39f8280dec79ffcab060101025b5d11000000d07277950b0e0469642d31027b7d8280dec79ffcab0605000000c708ded5"
    "0c0f2bae0204");

std::vector<NumberedRecord> sampleRecords()
{
    return {{5, anAlarm(QStringLiteral("Zu heiß"))},
            {6, aControl(2, QStringLiteral("shave#300"))},
            {7, aRun(300)},
            {8, aMessage(41, QByteArray("\0\xff", 2))},
            {9, anAcknowledgement(40)}};
}

std::vector<NumberedRecord> newerRecords()
{
    CoordinationRecord task{
        301, QStringLiteral("shed"), QStringLiteral("Failed"), QStringLiteral("Zu heiß"), kTime, -1, true, "[]"};
    return {{10, StateRecord{QStringLiteral("window/sums.mean"), QByteArray("\0\xff", 2)}},
            {11, anAudit(QStringLiteral("anna"))},
            {12, aDeployment(QStringLiteral("ab12"))},
            {13, task},
            {14, CommandReply{"id-1", "{}", kTime}},
            {15, NumbersUsed{43, 302, 4}}};
}

QByteArray encode(const std::vector<NumberedRecord> &records)
{
    QByteArray file = logHeader();
    encodeBounds(file, {100'001, 1, 70, 3});
    for (const NumberedRecord &r : records)
        encodeRecord(file, r.number, r.record);
    return file;
}
} // namespace

class RecordLogTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytesAreTheDocumentedOnes();
    void documentedBytesAreRead();
    void kindsOfVersion2AreTheDocumentedOnes();
    void theClassOfAMessageIsKept();
    void newerVersionIsNamed();
    void packedGroupsReadBack();
    void tornAtEachByteLosesTheLastRecordOnly();
    void flippedByteIsNoticed();
    void damageInTheMiddleCostsOneRecord();
};

void RecordLogTest::bytesAreTheDocumentedOnes()
{
    QCOMPARE(encode(sampleRecords()).sliced(kFileHeaderSize).toHex(), kReference.sliced(kFileHeaderSize).toHex());
    QCOMPARE(encode(newerRecords()).toHex(), kReference2.toHex());
}

// Beside QoS and retained: 0x89 is QoS 1, class 2 (alarm), retained.
void RecordLogTest::theClassOfAMessageIsKept()
{
    OutboxEntry entry = aMessage(41, "x");
    entry.message.kind = MessageClass::Alarm;
    const QByteArray bytes = encode({{1, entry}});
    QVERIFY2(bytes.contains(QByteArray("x\x89")), bytes.toHex().constData());
    for (const MessageClass kind : {MessageClass::Trigger, MessageClass::Telemetry, MessageClass::Alarm}) {
        entry.message.kind = kind;
        const LogContents log = readLog(encode({{1, entry}}));
        const OutboundMessage &read = std::get<OutboxEntry>(log.records.at(0).record).message;
        QCOMPARE(read.kind, kind);
        QCOMPARE(read.qos, std::uint8_t{1});
        QVERIFY(read.isRetained);
    }
    QCOMPARE(messageClass(7), MessageClass::Trigger); // of a newer version
}

void RecordLogTest::kindsOfVersion2AreTheDocumentedOnes()
{
    const LogContents log = readLog(kReference2);
    QCOMPARE(log.firstDamage, -1);
    QCOMPARE(log.records.size(), std::size_t{6});
    const auto &state = std::get<StateRecord>(log.records[0].record);
    QCOMPARE(state.key, QStringLiteral("window/sums.mean"));
    QCOMPARE(state.value, QByteArray("\0\xff", 2));
    const auto &audit = std::get<AuditRecord>(log.records[1].record);
    QCOMPARE(audit.who + audit.act + audit.object + audit.detail, QStringLiteral("annawritepv1.limit12.5"));
    QVERIFY(!audit.isAllowed && audit.time == kTime);
    const auto &deployment = std::get<DeploymentRecord>(log.records[2].record);
    QCOMPARE(deployment.revision + deployment.state + deployment.who, QStringLiteral("ab12Appliedstart"));
    const auto &task = std::get<CoordinationRecord>(log.records[3].record);
    QCOMPARE(task.run, std::uint64_t{301});
    QCOMPARE(task.error, QStringLiteral("Zu heiß"));
    QVERIFY(task.isCompensated && task.doneUs == -1 && task.steps == "[]" && task.due == kTime);
    const auto &reply = std::get<CommandReply>(log.records[4].record);
    QVERIFY(reply.id == "id-1" && reply.reply == "{}" && reply.time == kTime);
    // The numbers of an orderly end count, not those reserved before.
    QVERIFY(log.isExact && log.hasBounds);
    QCOMPARE(log.bounds.record, std::uint64_t{16});
    QCOMPARE(log.bounds.message, std::uint64_t{43});
    QCOMPARE(log.bounds.run, std::uint64_t{302});
    QCOMPARE(log.bounds.command, std::uint64_t{4});
    // A record after it: not the end.
    QByteArray file = kReference2;
    encodeRecord(file, 16, aRun(400));
    QVERIFY(!readLog(file).isExact);
    QCOMPARE(readLog(file).bounds.run, std::uint64_t{401});
}

void RecordLogTest::newerVersionIsNamed()
{
    const QByteArray newer = fileHeader("GLRECORD", kLogVersion + 1) + kReference2.sliced(kFileHeaderSize);
    QVERIFY(readLog(newer).isNewer && readLog(newer).records.empty() && readLog(newer).firstDamage == 0);
    QByteArray torn = newer;
    torn[15] ^= 1;
    QVERIFY(!readLog(torn).isNewer && readLog(torn).firstDamage == 0);
    QVERIFY(!readLog(newer.first(12)).isNewer);
}

void RecordLogTest::documentedBytesAreRead()
{
    const LogContents log = readLog(kReference);
    QCOMPARE(log.firstDamage, -1);
    QCOMPARE(log.records.size(), std::size_t{5});
    QVERIFY(log.hasBounds);
    QCOMPARE(log.bounds.record, std::uint64_t{100'001});
    QCOMPARE(log.bounds.message, std::uint64_t{42}); // above what the records say
    QCOMPARE(log.bounds.run, std::uint64_t{301});
    QCOMPARE(log.bounds.command, std::uint64_t{3});
    const auto &a = std::get<AlarmTransition>(log.records[0].record);
    QCOMPARE(a.text, QStringLiteral("Zu heiß"));
    QCOMPARE(a.severity, Severity::High);
    QCOMPARE(a.time, kTime);
    const auto &c = std::get<ControlRecord>(log.records[1].record);
    QCOMPARE(c.reason, QStringLiteral("shave#300"));
    QCOMPARE(c.durationUs, std::int64_t{2'000'000});
    const auto &r = std::get<RunRecord>(log.records[2].record);
    QCOMPARE(r.controlUs, std::int64_t{-1});
    QCOMPARE(r.doneUs, std::int64_t{60});
    const auto &e = std::get<OutboxEntry>(log.records[3].record);
    QCOMPARE(e.message.payload, QByteArray("\0\xff", 2));
    QVERIFY(e.message.isRetained);
    QCOMPARE(e.message.qos, std::uint8_t{1});
    QCOMPARE(e.message.kind, MessageClass::Trigger);
    QCOMPARE(std::get<OutboxAcknowledged>(log.records[4].record).messageId, std::uint64_t{40});
}

void RecordLogTest::packedGroupsReadBack()
{
    QByteArray group;
    for (std::uint64_t i = 0; i < 20; ++i) {
        encodeRecord(group, 100 + 2 * i, aRun(300 + i));
        encodeRecord(group, 101 + 2 * i, anAlarm(QString::number(i)));
    }
    QByteArray packed = group;
    packFrames(packed);
    QVERIFY2(packed.size() * 3 < group.size(), qPrintable(QString::number(packed.size())));
    // By the documented layout: a frame of kind 13, the size in big endian, a zlib stream.
    QCOMPARE(static_cast<int>(packed[8]), 13);
    QCOMPARE(qFromBigEndian<quint32>(packed.constData() + kFrameHeaderSize), static_cast<quint32>(group.size()));
    QCOMPARE(packed.sliced(kFrameHeaderSize + 4, 1), QByteArray("\x78"));
    const LogContents plain = readLog(logHeader() + group);
    QByteArray file = logHeader() + packed;
    encodeRecord(file, 200, aRun(400));
    const LogContents log = readLog(file);
    QCOMPARE(log.firstDamage, -1);
    QCOMPARE(log.records.size(), plain.records.size() + 1);
    for (std::size_t i = 0; i < plain.records.size(); ++i) {
        QByteArray expected, actual;
        encodeRecord(expected, plain.records[i].number, plain.records[i].record);
        encodeRecord(actual, log.records[i].number, log.records[i].record);
        QCOMPARE(actual, expected);
    }
    // A flipped byte costs the group and nothing else.
    file[logHeader().size() + packed.size() / 2] ^= 1;
    QCOMPARE(readLog(file).firstDamage, logHeader().size());
    QCOMPARE(readLog(file).records.size(), std::size_t{1});
    // What does not get smaller stays as it is.
    QByteArray small;
    encodeRecord(small, 1, anAcknowledgement(7));
    QByteArray same = small;
    packFrames(same);
    QCOMPARE(same, small);
}

void RecordLogTest::tornAtEachByteLosesTheLastRecordOnly()
{
    const qsizetype whole = encode({sampleRecords()[0]}).size();
    const QByteArray file = encode({sampleRecords()[0], sampleRecords()[2]});
    for (qsizetype size = whole; size <= file.size(); ++size) {
        const LogContents log = readLog(file.first(size));
        QCOMPARE(log.records.size(), std::size_t{size == file.size() ? 2U : 1U});
        QCOMPARE(log.firstDamage, size == whole || size == file.size() ? -1 : whole);
    }
}

void RecordLogTest::flippedByteIsNoticed()
{
    for (qsizetype at = 0; at < kReference.size(); ++at) {
        QByteArray file = kReference;
        file[at] = static_cast<char>(file[at] ^ 0x40);
        const LogContents log = readLog(file);
        QVERIFY2(log.firstDamage >= 0 && log.firstDamage <= at, qPrintable(QString::number(at)));
        QVERIFY(log.records.size() == (at < kFileHeaderSize ? 0U : at < 31 ? 5U : 4U)); // 16 to 30: the bounds
    }
}

void RecordLogTest::damageInTheMiddleCostsOneRecord()
{
    const qsizetype begin = encode({sampleRecords()[0]}).size();
    const qsizetype end = encode({sampleRecords()[0], sampleRecords()[1]}).size();
    QByteArray file = kReference;
    std::fill(file.begin() + begin, file.begin() + end, '\0');
    const LogContents log = readLog(file);
    QCOMPARE(log.firstDamage, begin);
    QCOMPARE(log.damagedBytes, end - begin);
    QCOMPARE(log.records.size(), std::size_t{4});
    QCOMPARE(log.records[1].number, RecordNumber{7});
}

QTEST_APPLESS_MAIN(RecordLogTest)
#include "tst_recordlog.moc"
