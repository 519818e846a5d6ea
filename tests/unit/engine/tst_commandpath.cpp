// SPDX-License-Identifier: Apache-2.0
#include "core/flatjson.h"
#include "enginebed.h"

#include <QJsonDocument>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

DesignDocument design(const QByteArray &more = R"(,"commandPriority":"comfort")")
{
    return {
        {"devices/dev.json", R"({"id":"dev","name":"dev","channel":"bus","points":[
                {"id":"a","name":"a","kind":"measured","address":"1"},
                {"id":"set","name":"set","kind":"setpoint","address":"2","type":"uint64","write":{"ifDifferent":false}}]})"},
        {"alarms/site.json", R"({"id":"site","name":"site","alarms":[{"id":"x","name":"x","severity":"low"}]})"},
        {"sinks/mqtt.json", R"({"id":"mqtt","name":"mqtt","sink":"fake","params":{},"commands":true)" + more + "}"}};
}

CommandArrived command(const QByteArray &payload, const char *verb = "write", bool isRetained = false)
{
    return {QStringLiteral("mqtt"), verb, payload, isRetained, false};
}

/// The answers that left, oldest first.
QList<QJsonObject> replies(const EngineBed &bed)
{
    QList<QJsonObject> found;
    for (const OutboundMessage &message : bed.messages)
        if (message.topic == "gridloom/v1/gw/cmd/reply")
            found.append(QJsonDocument::fromJson(message.payload).object());
    return found;
}

QString text(const QJsonObject &object, const char *key)
{
    return object[QLatin1String(key)].toString();
}

} // namespace

class CommandPathTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aWriteIsAnsweredWhenItIsConfirmed();
    void integersKeepEveryDigit();
    void retainedOnesAreIgnored();
    void aRepeatedIdWritesNoSecondTime();
    void aRestartRemembersTheAnswers();
    void oldOnesAreRefused();
    void whatIsWrongIsNamed_data();
    void whatIsWrongIsNamed();
    void alarmsAreAcknowledged();
    void aFloodIsCounted();
    void statesArePublishedOnChange();
    void flatJsonIsStrict_data();
    void flatJsonIsStrict();
    void flatJsonIsExact();
};

void CommandPathTest::aWriteIsAnsweredWhenItIsConfirmed()
{
    EngineBed bed(design());
    bed.push(command(R"({"id":"c1","point":"dev.set","value":5})"));
    bed.step();
    QCOMPARE(bed.writes.size(), std::size_t(1));
    QVERIFY(replies(bed).isEmpty());
    QCOMPARE(bed.snapshot().outsideCommands.inFlight, 1u);
    bed.writeEnds(WriteResult::State::Confirmed);
    QCOMPARE(replies(bed).size(), 1);
    QCOMPARE(text(replies(bed)[0], "id"), QStringLiteral("c1"));
    QCOMPARE(text(replies(bed)[0], "state"), QStringLiteral("Confirmed"));
    QCOMPARE(replies(bed)[0][QLatin1String("readBack")].toInt(), 5);
    QCOMPARE(bed.messages.front().kind, MessageClass::Reply);
    const auto audits = bed.records.all<AuditRecord>();
    QCOMPARE(audits.size(), std::size_t(1));
    QVERIFY(audits[0].isAllowed);
    QCOMPARE(audits[0].who, QStringLiteral("mqtt:mqtt"));
    QCOMPARE(audits[0].object, QStringLiteral("dev.set"));
    const auto control = bed.records.all<ControlRecord>();
    QCOMPARE(control.size(), std::size_t(1));
    QCOMPARE(control[0].reason, QStringLiteral("command c1"));
    QCOMPARE(control[0].priority, QStringLiteral("comfort"));
    QCOMPARE(bed.records.all<CommandReply>().size(), std::size_t(2)); // the intent, then the answer
    QCOMPARE(bed.snapshot().outsideCommands.done, 1u);
    QVERIFY(bed.snapshot().outsideCommands.addsUp());

    bed.push(command(R"({"id":"c2","point":"dev.set","value":6})"));
    bed.step();
    bed.writeEnds(WriteResult::State::Mismatch);
    QCOMPARE(text(replies(bed)[1], "state"), QStringLiteral("Mismatch"));
    QVERIFY(!text(replies(bed)[1], "error").isEmpty());
    QCOMPARE(bed.snapshot().outsideCommands.failed, 1u);
}

void CommandPathTest::integersKeepEveryDigit()
{
    EngineBed bed(design());
    bed.push(command(R"({"id":"c1","point":"dev.set","value":18446744073709551615})"));
    bed.step();
    QCOMPARE(bed.writes.front().value, Value(std::uint64_t{18'446'744'073'709'551'615ULL}));
    bed.writeEnds(WriteResult::State::Confirmed);
    QVERIFY(bed.messages.front().payload.contains(R"("readBack":18446744073709551615)"));
    bed.push(command(R"({"id":"c2","point":"dev.set","value":9007199254740993})"));
    bed.step();
    QCOMPARE(bed.writes.front().value, Value(std::int64_t{9'007'199'254'740'993}));
}

// PC-16.
void CommandPathTest::retainedOnesAreIgnored()
{
    EngineBed bed(design());
    QTest::failOnWarning(QRegularExpression(QStringLiteral(".*")));
    QTest::ignoreMessage(QtWarningMsg, QRegularExpression(QStringLiteral("retained command ignored.*"))); // once
    for (int i = 0; i < 3; ++i)
        bed.push(command(R"({"id":"c1","point":"dev.set","value":5})", "write", true));
    bed.step();
    QVERIFY(bed.writes.empty());
    QVERIFY(replies(bed).isEmpty());
    QCOMPARE(bed.records.all<AuditRecord>().size(), std::size_t(1));
    QVERIFY(!bed.records.all<AuditRecord>()[0].isAllowed);
    QCOMPARE(bed.snapshot().outsideCommands.discarded, 3u);
    bed.push(command(R"({"id":"c1","point":"dev.set","value":5})")); // the same, live
    bed.step();
    QCOMPARE(bed.writes.size(), std::size_t(1));
}

void CommandPathTest::aRepeatedIdWritesNoSecondTime()
{
    EngineBed bed(design());
    const auto again = command(R"({"id":"c1","point":"dev.set","value":5})");
    bed.push(again);
    bed.push(again); // while the first is under way
    bed.step();
    QCOMPARE(bed.writes.size(), std::size_t(1));
    bed.writeEnds(WriteResult::State::Confirmed);
    QCOMPARE(replies(bed).size(), 1);
    bed.push(command(R"({"id":"c1","point":"dev.set","value":7})")); // another value is no other command
    bed.step();
    QVERIFY(bed.writes.empty());
    QCOMPARE(replies(bed).size(), 2);
    QJsonObject first = replies(bed)[0], second = replies(bed)[1];
    QVERIFY(first.take(QLatin1String("message")) != second.take(QLatin1String("message")));
    QCOMPARE(first, second);
    QCOMPARE(bed.snapshot().outsideCommands.discarded, 2u);
}

void CommandPathTest::aRestartRemembersTheAnswers()
{
    EngineBed bed(design());
    std::vector<QByteArray> sent;
    int writes = 0;
    // As records hand them to the next start: the newest of an id last.
    struct Left final : FakeRecords {
        std::vector<CommandReply> replies() const override
        {
            return {{"c1", R"({"id":"c1","state":"Unknown"})", {}}, {"c1", R"({"id":"c1","state":"Confirmed"})", {}}};
        }
    } left;
    CommandPath path(*bed.design, left,
                     {[&](const ControlRequest &, SteadyTime, WallTime) { ++writes; },
                      [](int, WallTime) { return false; },
                      [&](const QString &, const QByteArray &reply, SteadyTime, WallTime) { sent.push_back(reply); }});
    path.arrived(command(R"({"id":"c1","point":"dev.set","value":5})"), {}, {});
    QCOMPARE(writes, 0);
    QCOMPARE(sent, (std::vector<QByteArray>{R"({"id":"c1","state":"Confirmed"})"}));
    path.arrived(command(R"({"id":"c2","point":"dev.set","value":5})"), {}, {});
    QCOMPARE(writes, 1);
    QVERIFY(left.all<CommandReply>()[0].reply.contains("Unknown")); // should this run end now
}

void CommandPathTest::oldOnesAreRefused()
{
    EngineBed bed(design());
    const auto at = [&](std::chrono::seconds age, const QByteArray &id, const QByteArray &more = {}) {
        const auto ms =
            std::chrono::duration_cast<std::chrono::milliseconds>((bed.clock.wallNow() - age).time_since_epoch())
                .count();
        const QByteArray time = QDateTime::fromMSecsSinceEpoch(ms, Qt::UTC).toString(Qt::ISODateWithMs).toLatin1();
        bed.push(command(R"({"id":")" + id + R"(","point":"dev.set","value":5,"time":")" + time + '"' + more + '}'));
        bed.step();
        if (!bed.writes.empty())
            bed.writeEnds(WriteResult::State::Confirmed);
        return replies(bed).isEmpty() ? QString()
                                      : text(replies(bed).last(), "state") + text(replies(bed).last(), "code");
    };
    QCOMPARE(at(40s, "a"), QStringLiteral("Rejectedcommand.expired"));
    QCOMPARE(at(29s, "b"), QStringLiteral("Confirmed"));
    QCOMPARE(at(40s, "c", R"(,"validS":60)"), QStringLiteral("Confirmed"));
    QCOMPARE(at(5s, "d", R"(,"validS":2)"), QStringLiteral("Rejectedcommand.expired"));
    QCOMPARE(at(-40s, "e"), QStringLiteral("Rejectedcommand.fromTheFuture"));
    QCOMPARE(at(0s, "f", R"(,"validS":1e3)"), QStringLiteral("Rejectedcommand.wrongType"));
    QCOMPARE(bed.records.all<ControlRecord>().size(), std::size_t(2));
}

void CommandPathTest::whatIsWrongIsNamed_data()
{
    QTest::addColumn<QByteArray>("payload");
    QTest::addColumn<QString>("code");
    const auto row = [](const char *name, const char *payload, const char *code) {
        QTest::newRow(name) << QByteArray(payload) << QString::fromLatin1(code);
    };
    row("cut", R"({"id":"c","point":"dev.set","value":5)", "command.syntax");
    row("nested", R"({"id":"c","point":"dev.set","value":[5]})", "command.syntax");
    row("not finite", R"({"id":"c","point":"dev.set","value":1e999})", "command.syntax");
    row("NaN", R"({"id":"c","point":"dev.set","value":NaN})", "command.syntax");
    row("too large an integer", R"({"id":"c","point":"dev.set","value":18446744073709551616})", "command.syntax");
    row("text value", R"({"id":"c","point":"dev.set","value":"5"})", "command.wrongType");
    row("null value", R"({"id":"c","point":"dev.set","value":null})", "command.wrongType");
    row("no value", R"({"id":"c","point":"dev.set"})", "command.wrongType");
    row("unknown key", R"({"id":"c","point":"dev.set","value":5,"vaildS":3})", "command.unknownKey");
    row("unknown point", R"({"id":"c","point":"dev.sett","value":5})", "command.unknownPoint");
    row("not an output", R"({"id":"c","point":"dev.a","value":5})", "command.notWritable");
    row("wrong time", R"({"id":"c","point":"dev.set","value":5,"time":"yesterday"})", "command.wrongType");
    row("time without a zone", R"({"id":"c","point":"dev.set","value":5,"time":"2026-01-01T00:00:00"})",
        "command.wrongType");
    row("no id", R"({"point":"dev.set","value":5})", "");
    row("a number for an id", R"({"id":7,"point":"dev.set","value":5})", "");
    row("nothing", "", "");
}

void CommandPathTest::whatIsWrongIsNamed()
{
    QFETCH(QByteArray, payload);
    QFETCH(QString, code);
    if (code.isEmpty())
        QTest::ignoreMessage(QtWarningMsg, QRegularExpression(QStringLiteral("Command without an id refused.*")));
    EngineBed bed(design());
    bed.push(command(payload));
    bed.step();
    QVERIFY(bed.writes.empty());
    QCOMPARE(bed.snapshot().outsideCommands.failed, 1u);
    QCOMPARE(bed.records.all<AuditRecord>().size(), std::size_t(1));
    QVERIFY(!bed.records.all<AuditRecord>()[0].isAllowed);
    QCOMPARE(replies(bed).size(), code.isEmpty() ? 0 : 1);
    if (code.isEmpty())
        return;
    QCOMPARE(text(replies(bed)[0], "state"), QStringLiteral("Rejected"));
    QCOMPARE(text(replies(bed)[0], "code"), code);
    QCOMPARE(text(replies(bed)[0], "id"), QStringLiteral("c"));
}

void CommandPathTest::alarmsAreAcknowledged()
{
    DesignDocument files = design();
    files["triggers/t.json"] = R"({"id":"t","name":"t","when":{"kind":"periodic","periodMs":1000}})";
    files["triggers/t.lua"] = R"(alarm.raise("site.x"))";
    EngineBed bed(files);
    bed.advance(1s);
    bed.scriptEnds({AlarmAction{bed.design->alarmByName.value("site.x"), true, {}}});
    bed.push(command(R"({"id":"k","alarm":"site.x"})", "ack"));
    bed.push(command(R"({"id":"l","alarm":"site.x"})", "ack"));
    bed.push(command(R"({"id":"m","alarm":"site.y"})", "ack"));
    bed.push(command(R"({"id":"n"})", "dance"));
    bed.step();
    QCOMPARE(replies(bed).size(), 4);
    QCOMPARE(text(replies(bed)[0], "state"), QStringLiteral("Acknowledged"));
    QCOMPARE(text(replies(bed)[1], "state"), QStringLiteral("NotNeeded"));
    QCOMPARE(text(replies(bed)[2], "code"), QStringLiteral("command.unknownAlarm"));
    QCOMPARE(text(replies(bed)[3], "code"), QStringLiteral("command.unknown"));
    const auto transitions = bed.records.all<AlarmTransition>();
    QCOMPARE(transitions.back().to, QStringLiteral("Acknowledged"));
}

void CommandPathTest::aFloodIsCounted()
{
    EngineBed bed(design());
    bed.push(CommandsBeyondRate{QStringLiteral("mqtt"), 4'711});
    bed.step();
    QCOMPARE(bed.snapshot().outsideCommands.discarded, 4'711u);
    QVERIFY(bed.records.all<AuditRecord>()[0].detail.contains(QStringLiteral("4711")));
}

void CommandPathTest::statesArePublishedOnChange()
{
    DesignDocument files = design(R"(,"state":{"points":["dev"],"minIntervalMs":500})");
    files["devices/dev.json"].replace(R"("address":"1")", R"("address":"1","storage":{"deadband":2})");
    EngineBed bed(files);
    const auto states = [&] {
        QList<QByteArray> found;
        for (const OutboundMessage &message : bed.messages)
            if (message.topic == "gridloom/v1/gw/state/dev/a")
                found.append(message.payload);
        return found;
    };
    bed.sample("dev.a", Value(10));
    QCOMPARE(states().size(), 1); // the first
    QVERIFY2(states()[0].contains(R"("v":10)"), states()[0].constData());
    QCOMPARE(bed.messages.back().kind, MessageClass::State);
    QVERIFY(bed.messages.back().isRetained);
    bed.clock.advance(600ms);
    bed.sample("dev.a", Value(11)); // within the deadband
    QCOMPARE(states().size(), 1);
    bed.sample("dev.a", Value(13));
    QCOMPARE(states().size(), 2);
    bed.clock.advance(100ms);
    bed.sample("dev.a", Value(20)); // too soon: at the end of the interval, with what is then
    bed.sample("dev.a", Value(30));
    QCOMPARE(states().size(), 2);
    bed.advance(400ms);
    QCOMPARE(states().size(), 3);
    QVERIFY2(states()[2].contains(R"("v":30)"), states()[2].constData());
    bed.clock.advance(600ms);
    bed.sample("dev.a", Value(), Quality::BadNotConnected);
    QVERIFY2(states().last().contains(R"("v":null,"q":"Bad_NotConnected")"), states().last().constData());
    const auto before = states().size();
    bed.clock.advance(600ms);
    bed.push(SinkConnected{QStringLiteral("mqtt")}); // a broker without memory must learn it again
    bed.step();
    QCOMPARE(states().size(), before + 1);
    QVERIFY(bed.records.all<OutboxEntry>().empty());
}

void CommandPathTest::flatJsonIsStrict_data()
{
    QTest::addColumn<QByteArray>("text");
    for (const char *wrong : {"",
                              "[]",
                              "{",
                              "{}x",
                              "{\"a\":1,}",
                              "{\"a\" 1}",
                              "{a:1}",
                              "{\"a\":01}",
                              "{\"a\":1.}",
                              "{\"a\":.5}",
                              "{\"a\":+1}",
                              "{\"a\":1e}",
                              "{\"a\":-}",
                              "{\"a\":tru}",
                              "{\"a\":\"\n\"}",
                              "{\"a\":\"\\x\"}",
                              "{\"a\":\"\\ud800\"}",
                              "{\"a\":\"\\udc00\"}",
                              "{\"a\":\"\\u12g4\"}",
                              "{\"a\":\"",
                              "{\"a\":1,\"a\":2}",
                              "{\"a\":{}}",
                              "{\"a\":1e400}",
                              "{\"a\":-9223372036854775809}",
                              "\xff{}"})
        QTest::newRow(wrong) << QByteArray(wrong);
}

void CommandPathTest::flatJsonIsStrict()
{
    QFETCH(QByteArray, text);
    QVERIFY(!readFlatJson(text).fault.isEmpty());
}

void CommandPathTest::flatJsonIsExact()
{
    const FlatJson json = readFlatJson(
        " { \"a\" : -9223372036854775808 , \"b\":18446744073709551615,\"c\":-1.5e-3, \"d\":true,\"e\":null,"
        "\"f\":\"Z\\u00e4hler \\ud83d\\ude00 \\\"\\\\\\/\\n\" } \n");
    QVERIFY2(json.fault.isEmpty(), qPrintable(json.fault));
    QCOMPARE(*json.find("a"), Value(std::numeric_limits<std::int64_t>::min()));
    QCOMPARE(*json.find("b"), Value(std::numeric_limits<std::uint64_t>::max()));
    QCOMPARE(*json.find("c"), Value(-0.0015));
    QCOMPARE(*json.find("d"), Value(true));
    QVERIFY(json.find("e")->isNull());
    QCOMPARE(json.find("f")->text(), QByteArray("Z\xC3\xA4hler \xF0\x9F\x98\x80 \"\\/\n"));
    QVERIFY(!json.find("g"));
    // What was read before a fault is there, so that a refusal can name the id.
    QCOMPARE(readFlatJson("{\"id\":\"x\",\"v\":[").find("id")->text(), QByteArray("x"));
}

QTEST_GUILESS_MAIN(CommandPathTest)
#include "tst_commandpath.moc"
