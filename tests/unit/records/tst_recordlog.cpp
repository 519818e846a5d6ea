// SPDX-License-Identifier: Apache-2.0
#include "recordsprobe.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;

namespace {
// Made by a Python script from docs/records.md with zlib.crc32 and struct.
const QByteArray kReference = QByteArray::fromHex(
    "474c5245434f5244010000008bf3408b06000000fed0097e06a18d0601460347000000237bd4b70105077365742e686f74064e6f726d61"
    "6c0e556e61636b6e6f776c6564676564038280dec79ffcab06085a7520686569c39f143138343436373434303733373039353531363135"
    "00450000008b387122020602097076312e6c696d69740431322e35000973686176652333303009677269644c696d69740854696d65644f"
    "7574096e6f20616e737765728280dec79ffcab068092f401250000001f47b8660307ac02057368617665024f6b008280dec79ffcab0614"
    "2801f02e016478077b2261223a317d21000000e4aa448d0408046d717474290d677269646c6f6f6d2f76312f780200ff818280dec79ffc"
    "ab06070000004976f4bc0509046d71747428");

std::vector<NumberedRecord> sampleRecords()
{
    return {{5, anAlarm(QStringLiteral("Zu heiß"))},
            {6, aControl(2, QStringLiteral("shave#300"))},
            {7, aRun(300)},
            {8, aMessage(41, QByteArray("\0\xff", 2))},
            {9, anAcknowledgement(40)}};
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
    void tornAtEachByteLosesTheLastRecordOnly();
    void flippedByteIsNoticed();
    void damageInTheMiddleCostsOneRecord();
};

void RecordLogTest::bytesAreTheDocumentedOnes()
{
    QCOMPARE(encode(sampleRecords()).toHex(), kReference.toHex());
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
    QCOMPARE(std::get<OutboxAcknowledged>(log.records[4].record).messageId, std::uint64_t{40});
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
