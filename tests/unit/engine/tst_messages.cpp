// SPDX-License-Identifier: Apache-2.0
#include "engine/messages.h"

#include <QTest>

using namespace gridloom;

class MessagesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void timesAreRfc3339();
    void scriptPayloadsCarryOurId();
};

void MessagesTest::timesAreRfc3339()
{
    using namespace std::chrono;
    QCOMPARE(utcText(WallTime(seconds(1'785'542'400))), QByteArray("2026-08-01T00:00:00Z"));
    QCOMPARE(utcText(WallTime(seconds(1'785'542'400) + milliseconds(250))), QByteArray("2026-08-01T00:00:00.25Z"));
    QCOMPARE(utcText(WallTime(microseconds(-1))), QByteArray("1969-12-31T23:59:59.999999Z"));
}

void MessagesTest::scriptPayloadsCarryOurId()
{
    QCOMPARE(scriptPayload(7, "{}"), QByteArray(R"({"id":7})"));
    QCOMPARE(scriptPayload(7, R"({"a":1})"), QByteArray(R"({"id":7,"a":1})"));
    QCOMPARE(scriptPayload(7, "[1,2]"), QByteArray(R"({"id":7,"value":[1,2]})"));
    QCOMPARE(scriptPayload(7, R"("text")"), QByteArray(R"({"id":7,"value":"text"})"));
    // A member of the script's own named id is replaced, a nested one stays.
    QCOMPARE(scriptPayload(7, R"({"a":{"id":5}})"), QByteArray(R"({"id":7,"a":{"id":5}})"));
    QCOMPARE(scriptPayload(7, R"({"a":1,"id":5})"), QByteArray(R"({"id":7,"a":1})"));
    // PC-02: no digit is lost on the way, 2^64-1 included.
    QCOMPARE(scriptPayload(7, R"({"n":9007199254740993,"u":18446744073709551615})"),
             QByteArray(R"({"id":7,"n":9007199254740993,"u":18446744073709551615})"));
    // Neither beside an id that has to go.
    QCOMPARE(scriptPayload(7, R"({"id":5,"u":18446744073709551615})"),
             QByteArray(R"({"id":7,"u":18446744073709551615})"));
}

QTEST_APPLESS_MAIN(MessagesTest)
#include "tst_messages.moc"
