// SPDX-License-Identifier: Apache-2.0
// What is wrong with a design: each rule broken once, and the fault expected at exactly that place and nowhere else.
#include "smalldesign.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;

class DesignFaultsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void oneFault_data();
    void oneFault();
    void files_data();
    void files();
    void listsEveryFaultInOrderOfPath();
    void unreadableFilesCauseNoFurtherFaults();
    void luaSyntaxNamesTheLine();
    void newerSchemaIsTheOnlyFault();
    void pointersAreEscaped();
    void suggestsTheNearest_data();
    void suggestsTheNearest();
    void refusesPluginsWithoutManifest();
    void tooManyFaultsAreCounted();
    void wrongTypesEverywhereDoNotCrash();
};

namespace {

struct Rows {
    QByteArray path;
    void operator()(const char *pointer, const QByteArray &value, const char *code, const char *at = nullptr) const
    {
        QTest::addRow("%s%s = %s", path.constData(), pointer, value.left(60).constData())
            << path << QString::fromLatin1(pointer) << value << QString::fromLatin1(code)
            << QString::fromLatin1(at ? at : pointer);
    }
};

void rootRows()
{
    const Rows row{"gridloom.json"};
    row("/schema", "", "design.missing");
    row("/schema", "0", "design.outOfRange");
    row("/schema", "\"1\"", "design.wrongType");
    row("/site", "", "design.missing");
    row("/site", "[]", "design.wrongType");
    row("/site/id", "\"Hill Farm\"", "design.badId");
    row("/site/zone", "\"Europe/Wien\"", "design.unknownZone");
    row("/site/zone", "\"UTC+01:00\"", "design.unknownZone");
    row("/site/zone", "\"../../etc/passwd\"", "design.unknownZone");
    row("/site/zone", "\"\"", "design.missing");
    row("/gateway", "", "design.missing");
    row("/gateway/name", "", "design.missing");
    row("/gateway/nmae", "\"x\"", "design.unknownKey");
    row("/storage/mode", "\"always\"", "design.unknownWord");
    row("/storage/deadband", "-0.1", "design.outOfRange");
    row("/storage/maxIntervalMs", "9", "design.outOfRange");
    row("/storage/maxIntervalMs", "1000.5", "design.wrongType");
    row("/storage", "null", "design.wrongType");
    row("/comment", "\"x\"", "design.unknownKey");
}

void channelRows()
{
    const Rows row{"channels/bus1.json"};
    row("/id", "\"bus2\"", "design.idMismatch");
    row("/driver", "\"filedbus\"", "design.unknownPlugin");
    row("/driver", "7", "design.wrongType");
    row("/enabled", "1", "design.wrongType");
    row("/params/host", "", "design.missing");
    row("/params/host", "5", "design.wrongType");
    row("/params/port", "0", "design.outOfRange");
    row("/params/port", "65536", "design.outOfRange");
    row("/params/port", "502.5", "design.wrongType");
    row("/params/mode", "\"slow\"", "design.unknownWord");
    row("/params/factor", "2.6", "design.outOfRange");
    row("/params/quirks", "[]", "design.wrongType");
    row("/params/holes", "{}", "design.wrongType");
    row("/params/keep", "\"yes\"", "design.wrongType");
    row("/params/hots", "\"x\"", "design.unknownKey");
    row("/params", "\"x\"", "design.wrongType");
}

void nameRows()
{
    const Rows row{"devices/meter1.json"};
    row("/name", "\"\"", "design.badName");
    row("/name", "\"a.b\"", "design.badName");
    row("/name", "\"a\\u0000b\"", "design.badName");
    row("/name", "\"a\\nb\"", "design.badName");
    row("/name", "\"a\\u0085b\"", "design.badName");
    row("/name", "\"a\\u2028b\"", "design.badName");
    row("/name", '"' + QByteArray(257, 'x') + '"', "design.badName");
    row("/name", "3", "design.wrongType");
    row("/name", "\"demand\"", "design.duplicateName", ""); // also the name of an aggregation set: see below
    row("/points/2/name", "\"activePower\"", "design.duplicateName");
    row("/points/2/id", "\"active-power\"", "design.duplicateId", "");
    for (const char *id : {"\"\"", "\"-a\"", "\"Aa\"", "\"a_b\"", "\"a.b\"", "\"a/b\"", "\"\\u00e4\"", "1"})
        row("/points/3/id", id, "design.badId");
    row("/points/3/id", '"' + QByteArray(64, 'x') + '"', "design.badId");
}

void pointRows()
{
    const Rows row{"devices/meter1.json"};
    row("/params/unit", "1.5", "design.wrongType");
    row("/params/unit", "256", "design.outOfRange");
    row("/params/unit", "-1", "design.outOfRange");
    row("/channel", "\"bus2\"", "design.unknownChannel");
    row("/points", "{}", "design.wrongType", "");
    row("/points/3", "7", "design.wrongType");
    row("/points/3/kind", "\"calculated\"", "design.unknownWord", "");
    row("/points/0/address", "", "design.missing");
    row("/points/0/address", "\"holding:100 \"", "design.badAddress");
    row("/points/0/address", "\"xholding:1\"", "design.badAddress");
    row("/points/0/type", "\"float\"", "design.unknownWord", "");
    row("/points/0/order", "\"ABCDEFGH\"", "design.unknownWord");
    row("/points/0/order", "\"AB\"", "design.unknownWord");
    row("/points/0/order", "\"\"", "design.unknownWord");
    row("/points/0/scale", "0", "design.outOfRange");
    row("/points/0/scale", "\"0.1\"", "design.wrongType");
    row("/points/0/bit", "3", "design.notAllowed");
    row("/points/0/periodMs", "9", "design.outOfRange");
    row("/points/0/periodMs", "31622400001", "design.outOfRange");
    row("/points/0/periodMs", "1e300", "design.wrongType");
    row("/points/0/unit", '"' + QByteArray(33, 'k') + '"', "design.tooLong");
    row("/points/0/write", "{}", "design.notAllowed");
    row("/points/0/expression", "\"1\"", "design.notAllowed");
    row("/points/0/storage/mod", "\"none\"", "design.unknownKey");
    row("/points/2/bit", "16", "design.outOfRange");
    row("/points/2/scale", "2", "design.notAllowed");
    row("/points/1/write", "", "design.missing");
    row("/points/1/write", "true", "design.wrongType");
    row("/points/1/write/min", "51", "design.outOfRange");
    row("/points/1/write/rampPerS", "0", "design.outOfRange");
    row("/points/1/write/minIntervalMs", "-1", "design.outOfRange");
    row("/points/1/write/deadlineMs", "5", "design.outOfRange");
    row("/points/1/write/verify", "\"no\"", "design.wrongType");
    row("/points/3/expression", "", "design.missing");
    row("/points/3/expression", "\"\"", "design.missing");
    row("/points/3/address", "\"holding:1\"", "design.notAllowed");
    row("/points/3/periodMs", "1000", "design.notAllowed");
    row("/points/3/write", "{}", "design.notAllowed");
}

void aggregationRows()
{
    const Rows row{"aggregations/demand.json"};
    row("/aggregations", "", "design.missing", "");
    row("/aggregations/0/windowMs", "0", "design.outOfRange");
    row("/aggregations/0/windowMs", "", "design.missing");
    row("/aggregations/0/fold", "", "design.missing");
    row("/aggregations/0/fold", "\"median\"", "design.unknownWord");
    row("/aggregations/0/inputs", "[]", "design.missing");
    row("/aggregations/0/inputs/0", "\"meter1.activePower\"", "design.unknownPoint");
    row("/aggregations/0/inputs/1", "\"meter1.active-power\"", "design.duplicate");
    row("/aggregations/0/inputs/1", "5", "design.wrongType");
    row("/aggregations/0/maxGapMs", "-1", "design.outOfRange");
    row("/aggregations/1/windowMs", "1000", "design.notAllowed");
    row("/aggregations/0/inputs/1", "\"demand.mean-15min\"", "design.cycle", "/aggregations/0/inputs");
}

void alarmRows()
{
    const Rows row{"alarms/site.json"};
    row("/alarms/0/severity", "\"urgent\"", "design.unknownWord");
    row("/alarms/0/text", '"' + QByteArray(1'025, 'x') + '"', "design.tooLong");
    row("/alarms/0/condition/point", "\"demand.mean-15mn\"", "design.unknownPoint");
    row("/alarms/0/condition/point", "", "design.missing");
    row("/alarms/0/condition/limit", "", "design.missing");
    row("/alarms/0/condition/limit", "true", "design.wrongType");
    row("/alarms/0/condition/deadband", "-1", "design.outOfRange");
    row("/alarms/0/condition/maxAgeMs", "1000", "design.notAllowed");
    row("/alarms/1/condition/maxAgeMs", "", "design.missing");
    row("/alarms/1/condition/limit", "1", "design.notAllowed");
    row("/alarms/0/offDelayMs", "-5", "design.outOfRange");
    row("/alarms/2/onDelayMs", "5", "design.notAllowed");
    row("/alarms/0/condition", "[]", "design.wrongType");
    row("/alarms/2/name", "\"peak\"", "design.duplicateName");
}

void triggerRows()
{
    const Rows row{"triggers/peak.json"};
    row("/when", "", "design.missing");
    row("/when", "1", "design.wrongType");
    row("/when/periodMs", "9", "design.outOfRange");
    row("/when/periodMs", "", "design.missing");
    row("/when/phaseMs", "1000", "design.outOfRange");
    row("/when/points", "[\"meter1.relay\"]", "design.notAllowed");
    row("/overlap", "\"wait\"", "design.unknownWord");
    row("/queueLength", "5", "design.notAllowed");
    row("/timeLimitMs", "1001", "design.outOfRange");
    row("/timeLimitMs", "0", "design.outOfRange");
    row("/memoryLimitKb", "63", "design.outOfRange");
    row("/memoryLimitKb", "8193", "design.outOfRange");
    row("/priority", "\"highest\"", "design.unknownWord");
    row("/params", "[]", "design.wrongType");
    row("/name", "\"watch\"", "design.duplicateName", "");
    const Rows watch{"triggers/watch.json"};
    watch("/when/points", "", "design.missing");
    watch("/when/points", "[]", "design.missing");
    watch("/when/points/0", "\"metre1.active-power\"", "design.unknownPoint");
    watch("/when/forMs", "-1", "design.outOfRange");
    watch("/when/periodMs", "100", "design.notAllowed");
    watch("/queueLength", "101", "design.outOfRange");
    watch("/queueLength", "", "design.missing");
}

void outboundRows()
{
    const Rows row{"sinks/broker.json"};
    row("/sink", "\"mqttt\"", "design.unknownPlugin");
    row("/alarms", "\"all\"", "design.wrongType");
    row("/publications/0/device", "\"meter2\"", "design.unknownDevice");
    row("/publications/0/points/0", "\"meter1.active-power\"", "design.unknownPoint");
    row("/publications/0/qos", "3", "design.outOfRange");
    row("/publications/0/periodMs", "0", "design.outOfRange");
    row("/publications/1/id", "\"meter\"", "design.duplicateId");
    row("/outbox/quotaMb", "0", "design.outOfRange");
    row("/outbox/quota", "8", "design.unknownKey");
    row("/state/points/0", "\"meter2\"", "design.unknownPoint");
    row("/state/points", "", "design.missing");
    row("/state/minIntervalMs", "1", "design.outOfRange");
    row("/commands", "false", "design.notAllowed", "/commandPriority");
    row("/commandPriority", "\"highest\"", "design.unknownWord");
    const Rows store{"stores/history.json"};
    store("/store", "", "design.missing");
    store("/params/size", "5", "design.unknownKey");
}

} // namespace

void DesignFaultsTest::oneFault_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QString>("pointer");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("at"); ///< empty: somewhere among the faults that follow from it
    rootRows();
    channelRows();
    nameRows();
    pointRows();
    aggregationRows();
    alarmRows();
    triggerRows();
    outboundRows();
}

void DesignFaultsTest::oneFault()
{
    QFETCH(QByteArray, path);
    QFETCH(QString, pointer);
    QFETCH(QByteArray, value);
    QFETCH(QString, code);
    QFETCH(QString, at);
    const ParsedDesign parsed = parseDesign(changed(path, pointer, value), smallContext());
    QVERIFY(!parsed.design);
    if (at.isEmpty()) {
        QVERIFY2(std::any_of(parsed.faults.begin(), parsed.faults.end(),
                             [&](const DesignFault &fault) { return fault.code == code; }),
                 texts(parsed.faults));
        return;
    }
    QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
    const DesignFault &fault = parsed.faults.front();
    QCOMPARE(fault.code, code);
    QCOMPARE(fault.path, QString::fromUtf8(path));
    QCOMPARE(fault.pointer, at);
    QVERIFY(fault.text().startsWith(QString::fromUtf8(path) + at + QLatin1String(": ")));
}

void DesignFaultsTest::files_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("text"); ///< null: the file is removed
    QTest::addColumn<QString>("code");
    const auto row = [](const char *path, const QByteArray &text, const char *code) {
        QTest::addRow("%s %s", path, text.left(20).constData())
            << QByteArray(path) << text << QString::fromLatin1(code);
    };
    row("gridloom.json", QByteArray(), "design.missingFile");
    row("gridloom.json", "", "design.syntax");
    row("triggers/peak.lua", QByteArray(), "design.missingFile");
    row("triggers/lone.lua", "log(1)", "design.missingFile");
    row("triggers/watch.lua", "log('\xFF')", "design.notUtf8");
    row("devices/Meter2.json", "{}", "design.badId");
    row("devices/sub/meter2.json", "{}", "design.badId");
    row("devices/.json", "{}", "design.badId");
    row("devices/meter1.lua", "log(1)", "design.unknownFile");
    row("device/meter2.json", "{}", "design.unknownFile");
    row("coordinations/task.json", "{}", "design.unknownFile");
    row("stores/second.json", R"({"id": "second", "name": "second", "store": "embedded"})", "design.tooMany");
    row("devices/silent.json", R"({"id": "silent", "name": "silent", "points": [
        {"id": "p", "name": "p", "kind": "measured", "address": "holding:1"}]})",
        "design.notAllowed");
    row("aggregations/meter1.json", R"({"id": "meter1", "name": "other", "aggregations": [{"id": "a", "name": "a"}]})",
        "design.duplicateId");
    row("aggregations/more.json", R"({"id": "more", "name": "meter1", "aggregations": [{"id": "a", "name": "a"}]})",
        "design.duplicateName");
    row("channels/bus2.json", R"({"id": "bus2", "name": "Bus 1", "driver": "gauge"})", "design.duplicateName");
}

void DesignFaultsTest::files()
{
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, text);
    QFETCH(QString, code);
    DesignDocument document = smallDesign();
    if (text.isNull())
        document.erase(path);
    else
        document[path] = text;
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QVERIFY(!parsed.design);
    QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
    QCOMPARE(parsed.faults.front().code, code);
}

void DesignFaultsTest::listsEveryFaultInOrderOfPath()
{
    DesignDocument document = changed("devices/meter1.json", QStringLiteral("/points/1/write/min"), "51");
    document["triggers/watch.json"] = "{";
    document["alarms/site.json"] =
        R"({"id": "site", "name": "", "alarms": [{"id": "A", "name": "x", "severity": 1, "text": [], "y": 2}]})";
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QStringList places;
    for (const DesignFault &fault : parsed.faults)
        places.append(fault.path + fault.pointer);
    QCOMPARE(
        places,
        (QStringList{QStringLiteral("alarms/site.json/name"), QStringLiteral("alarms/site.json/alarms/0/id"),
                     QStringLiteral("alarms/site.json/alarms/0/severity"),
                     QStringLiteral("alarms/site.json/alarms/0/text"), QStringLiteral("alarms/site.json/alarms/0/y"),
                     QStringLiteral("devices/meter1.json/points/1/write/min"), QStringLiteral("triggers/watch.json")}));
}

void DesignFaultsTest::unreadableFilesCauseNoFurtherFaults()
{
    for (const QByteArray path : {"devices/meter1.json", "channels/bus1.json", "aggregations/demand.json"}) {
        DesignDocument document = smallDesign();
        document[path] = "{\"id\": ";
        const ParsedDesign parsed = parseDesign(document, smallContext());
        QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
        QCOMPARE(parsed.faults.front().path, QString::fromUtf8(path));
    }
}

void DesignFaultsTest::luaSyntaxNamesTheLine()
{
    DesignContext context = smallContext();
    context.checkLua = [](const QString &lua, bool isExpression) -> std::optional<std::pair<int, QString>> {
        if (isExpression)
            return std::pair(1, QStringLiteral("bad expression ") + lua.left(5));
        return lua.contains(QLatin1String("changed")) ? std::optional(std::pair(7, QStringLiteral("no")))
                                                      : std::nullopt;
    };
    const ParsedDesign parsed = parseDesign(smallDesign(), context);
    QVERIFY2(parsed.faults.size() == 2, texts(parsed.faults));
    QCOMPARE(parsed.faults[0].pointer, QStringLiteral("/points/3/expression"));
    QVERIFY(parsed.faults[0].message.startsWith(QLatin1String("bad expression point")));
    QCOMPARE(parsed.faults[1].code, QStringLiteral("design.luaSyntax"));
    QVERIFY2(parsed.faults[1].text().startsWith(QLatin1String("triggers/watch.lua:7: no")), texts(parsed.faults));
}

void DesignFaultsTest::newerSchemaIsTheOnlyFault()
{
    DesignDocument document = changed("gridloom.json", QStringLiteral("/schema"), "2");
    document["devices/meter1.json"] = R"({"id": "meter1", "form": "of a later version"})";
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
    QCOMPARE(parsed.faults.front().code, QStringLiteral("design.newerSchema"));
    QCOMPARE(parsed.faults.front().pointer, QStringLiteral("/schema"));
    QVERIFY(parsed.faults.front().message.contains(QLatin1String("schema 2")));
}

// RFC 6901, section 3.
void DesignFaultsTest::pointersAreEscaped()
{
    DesignDocument document = smallDesign();
    document["channels/bus1.json"].replace("\"host\"", "\"a/b~c\": 1, \"host\"");
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QVERIFY2(parsed.faults.size() == 1, texts(parsed.faults));
    QCOMPARE(parsed.faults.front().pointer, QStringLiteral("/params/a~1b~0c"));
}

void DesignFaultsTest::suggestsTheNearest_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QString>("pointer");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QString>("meant");
    const auto row = [](const char *path, const char *pointer, const char *value, const char *meant) {
        QTest::newRow(value) << QByteArray(path) << QString::fromLatin1(pointer) << QByteArray(value)
                             << QStringLiteral("\"%1\"").arg(QLatin1String(meant));
    };
    row("gridloom.json", "/site/zone", "\"Europe/Viena\"", "Europe/Vienna");
    row("channels/bus1.json", "/driver", "\"feildbus\"", "fieldbus");
    row("devices/meter1.json", "/channel", "\"bsu1\"", "bus1");
    row("devices/meter1.json", "/points/2/uint", "\"kW\"", "unit");
    row("aggregations/demand.json", "/aggregations/0/inputs/0", "\"metre1.activ-power\"", "meter1.active-power");
    row("alarms/site.json", "/alarms/0/condition/point", "\"demand.mean-15mim\"", "demand.mean-15min");
    row("triggers/peak.json", "/overlp", "\"skip\"", "overlap");
    row("sinks/broker.json", "/publications/0/device", "\"meter\"", "meter1");
}

void DesignFaultsTest::suggestsTheNearest()
{
    QFETCH(QByteArray, path);
    QFETCH(QString, pointer);
    QFETCH(QByteArray, value);
    QFETCH(QString, meant);
    const ParsedDesign parsed = parseDesign(changed(path, pointer, value), smallContext());
    QVERIFY(!parsed.faults.empty());
    QVERIFY2(std::any_of(parsed.faults.begin(), parsed.faults.end(),
                         [&](const DesignFault &fault) { return fault.message.contains(meant); }),
             texts(parsed.faults));
}

void DesignFaultsTest::refusesPluginsWithoutManifest()
{
    const ParsedDesign parsed = parseDesign(smallDesign(), {});
    QStringList places;
    for (const DesignFault &fault : parsed.faults) {
        QCOMPARE(fault.code, QStringLiteral("design.unknownPlugin"));
        places.append(fault.path + fault.pointer);
    }
    QCOMPARE(places,
             (QStringList{QStringLiteral("channels/bus1.json/driver"), QStringLiteral("sinks/broker.json/sink"),
                          QStringLiteral("stores/history.json/store")}));
}

void DesignFaultsTest::tooManyFaultsAreCounted()
{
    DesignDocument document = smallDesign();
    document["devices/big.json"] =
        "{\"id\": \"big\", \"name\": \"big\", \"points\": [" + QByteArray("1,").repeated(14'999) + "1]}";
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QCOMPARE(parsed.faults.size(), std::size_t(10'001));
    QCOMPARE(parsed.faults.back().code, QStringLiteral("design.tooManyFaults"));
    QVERIFY(parsed.faults.back().message.startsWith(QLatin1String("5000 more")));
}

// Every value of every file, one after the other, replaced by a value of each type.
void DesignFaultsTest::wrongTypesEverywhereDoNotCrash()
{
    const std::function<void(const QJsonValue &, const QString &, QStringList &)> collect =
        [&](const QJsonValue &value, const QString &pointer, QStringList &pointers) {
            pointers.append(pointer);
            const QJsonObject object = value.toObject();
            for (auto it = object.begin(); it != object.end(); ++it)
                collect(it.value(), pointer + QLatin1Char('/') + it.key(), pointers);
            const QJsonArray array = value.toArray();
            for (qsizetype i = 0; i < array.size(); ++i)
                collect(array.at(i), pointer + QLatin1Char('/') + QString::number(i), pointers);
        };
    int refused = 0;
    int tried = 0;
    for (const auto &[path, text] : smallDesign()) {
        if (!path.endsWith(".json"))
            continue;
        QStringList pointers;
        collect(QJsonDocument::fromJson(text).object(), {}, pointers);
        for (const QString &pointer : pointers) {
            for (const char *value :
                 {"null", "true", "-1", "1.5", "1e300", "\"\"", "\"\\u0000.\"", "[]", "[null]", "{}", "{\"\":{}}"}) {
                if (pointer.isEmpty() && *value != '{')
                    continue;
                const ParsedDesign parsed = parseDesign(changed(path, pointer, value), smallContext());
                QCOMPARE(parsed.design == nullptr, !parsed.faults.empty());
                refused += parsed.design ? 0 : 1;
                ++tried;
            }
        }
    }
    QVERIFY(tried > 1'000);
    QVERIFY2(refused > tried * 9 / 10, QByteArray::number(refused) + " of " + QByteArray::number(tried));
}

QTEST_GUILESS_MAIN(DesignFaultsTest)
#include "tst_designfaults.moc"
