// SPDX-License-Identifier: Apache-2.0
#include "core/history/segment.h"
#include "tools/bench/outside.h"
#include "tools/bench/subscriber.h"
#include "tools/procs/privatebroker.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

using namespace gridloom;

class OutsideTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void storeRowsAreCounted();
    void damagedStoreIsAnError();
    void recordsAreCounted();
    void duplicatesAndStatusAreNotMessages();
    void subscriberCountsWhatTheBrokerDelivers();
};

namespace {

/// `rows` rows, every third written by a trigger.
QByteArray segment(int rows)
{
    QByteArray bytes = segmentHeader();
    SegmentEncoder encoder(bytes);
    encoder.tables(1, {{{"meter1.power", "meter1.power", "kW"}}, {"shaving"}});
    encoder.beginRows(1);
    for (int i = 0; i < rows; ++i)
        encoder.row(
            {0, Quality::Good, Value(i), 1'785'542'400'000 + i, i % 3 == 0 ? 0 : -1, static_cast<std::uint64_t>(i)});
    encoder.endRows();
    return bytes;
}

void write(const QString &path, const QByteArray &bytes)
{
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
}

} // namespace

void OutsideTest::storeRowsAreCounted()
{
    const QTemporaryDir folder;
    write(folder.filePath(QStringLiteral("00000001.gls")), segment(30));
    write(folder.filePath(QStringLiteral("00000002.gls")), segment(6));
    write(folder.filePath(QStringLiteral("notes.txt")), "no segment");
    const auto count = countStoreRows(folder.path());
    QVERIFY(count.ok());
    QCOMPARE(count.value().rows, std::uint64_t(36));
    QCOMPARE(count.value().triggerRows, std::uint64_t(12));
    QCOMPARE(count.value().triggerRuns, std::uint64_t(10)); // runs 0, 3, .. 27; those of the second file are among them
}

void OutsideTest::damagedStoreIsAnError()
{
    const QTemporaryDir folder;
    QByteArray bytes = segment(30);
    bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
    write(folder.filePath(QStringLiteral("00000001.gls")), bytes);
    QCOMPARE(countStoreRows(folder.path()).error().code, QStringLiteral("bench.store"));
    QCOMPARE(countStoreRows(folder.filePath(QStringLiteral("none"))).error().code, QStringLiteral("bench.store"));
}

// The database is made by the sqlite3 command line.
void OutsideTest::recordsAreCounted()
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("records.db"));
    QProcess sqlite;
    sqlite.start(QStringLiteral("sqlite3"),
                 {path,
                  QStringLiteral("PRAGMA journal_mode=WAL; CREATE TABLE alarm_transitions(number INTEGER, state TEXT);"
                                 "INSERT INTO alarm_transitions VALUES(1,'a'),(2,'b'),(3,'c');"
                                 "CREATE TABLE coordination_records(number INTEGER, outcome TEXT);"
                                 "INSERT INTO coordination_records VALUES(4,'Ok'),(5,'Failed'),(6,'Discarded');")});
    QVERIFY(sqlite.waitForFinished());
    QCOMPARE(sqlite.exitCode(), 0);
    QCOMPARE(countRecords(path).value().alarmRows, std::uint64_t(3));
    QCOMPARE(countRecords(path).value().coordinationRows, std::uint64_t(2)); // one was not begun
    QCOMPARE(countRecords(folder.filePath(QStringLiteral("none.db"))).error().code, QStringLiteral("bench.records"));
}

void OutsideTest::duplicatesAndStatusAreNotMessages()
{
    MessageCount count;
    count.add("gridloom/v1/gw1/status", R"({"id":1,"state":"online"})", 1);
    count.add("gridloom/v1/gw1/telemetry/a", R"({"id":1})", 1);
    count.add("gridloom/v1/gw1/telemetry/a", R"({"id":1})", 1);
    count.add("gridloom/v1/gw1/telemetry/b", R"({"values":{"id":2},"id":18446744073709551615})", 2);
    count.add("gridloom/v1/gw1/telemetry/b", R"({"id":3})", 0);
    count.add("gridloom/v1/gw1/telemetry/b", "no id", 1);
    QCOMPARE(count.messages(), std::uint64_t(3));
    QCOMPARE(count.duplicates(), std::uint64_t(1));
}

// Published by mosquitto_pub; the fence says when everything before it has arrived.
void OutsideTest::subscriberCountsWhatTheBrokerDelivers()
{
    PrivateBroker broker;
    const auto started = broker.start();
    QVERIFY2(started.ok(), started.ok() ? "" : qPrintable(started.error().message));
    Subscriber subscriber;
    subscriber.open(broker.port());
    QTRY_VERIFY(subscriber.isReady());

    QProcess publisher;
    publisher.start(QStringLiteral("mosquitto_pub"),
                    {QStringLiteral("-h"), QStringLiteral("127.0.0.1"), QStringLiteral("-p"),
                     QString::number(broker.port()), QStringLiteral("-t"), QStringLiteral("gridloom/v1/gw1/telemetry"),
                     QStringLiteral("-q"), QStringLiteral("1"), QStringLiteral("-l")});
    QVERIFY(publisher.waitForStarted());
    for (int i = 0; i < 500; ++i)
        publisher.write("{\"id\":" + QByteArray::number(i % 400) + "}\n");
    publisher.closeWriteChannel();
    QTRY_COMPARE(publisher.state(), QProcess::NotRunning);
    QCOMPARE(publisher.exitCode(), 0);

    QVERIFY(subscriber.sendFence().ok());
    QTRY_VERIFY(subscriber.hasFenceReturned());
    QCOMPARE(subscriber.count().messages(), std::uint64_t(400));
    QCOMPARE(subscriber.count().duplicates(), std::uint64_t(100));
    QCOMPARE(subscriber.losses(), 0);
    broker.kill();
    QTRY_COMPARE(subscriber.losses() > 0, true);
}

QTEST_GUILESS_MAIN(OutsideTest)
#include "tst_outside.moc"
