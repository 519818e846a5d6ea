// SPDX-License-Identifier: Apache-2.0
// What a right design becomes: values, defaults, inheritance, handles and references.
#include "smalldesign.h"

#include <QElapsedTimer>
#include <QTest>

using namespace gridloom;
using namespace gridloom::test;

class ParseDesignTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void readsTheSite();
    void storageIsInheritedKeyByKey();
    void handlesAreDenseAndStable();
    void namesFindPoints();
    void readsPoints();
    void fillsDefaultsOfPlugins();
    void resolvesReferences();
    void readsTriggers();
    void alarmsAreFoundByShortNameWhereUnique();
    void resultsMayFeedOtherAggregations();
    void acceptsNames_data();
    void acceptsNames();
    void everySectionButTheRootMayBeAbsent();
    void manyPointsParseQuickly();

private:
    std::shared_ptr<const Design> m_design;
};

void ParseDesignTest::initTestCase()
{
    const ParsedDesign parsed = parseDesign(smallDesign(), smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    QVERIFY(parsed.faults.empty());
    m_design = parsed.design;
}

void ParseDesignTest::readsTheSite()
{
    QCOMPARE(m_design->siteId, QStringLiteral("hill-farm"));
    QCOMPARE(m_design->siteName, QStringLiteral("Hill Farm"));
    QCOMPARE(m_design->zone, QByteArray("Europe/Vienna"));
    QCOMPARE(m_design->gatewayId, QStringLiteral("gw1"));
    QCOMPARE(m_design->revision.size(), 64);
}

void ParseDesignTest::storageIsInheritedKeyByKey()
{
    // Site: onChange, 0.5, (10 s); device: 60 s; the first point: realTime.
    const StoragePolicy &power = m_design->points.at(0).storage;
    QCOMPARE(power.mode, StoragePolicy::Mode::RealTime);
    QCOMPARE(power.deadband, 0.5);
    QCOMPARE(power.maxInterval, Milliseconds(60'000));
    const StoragePolicy &relay = m_design->points.at(2).storage;
    QCOMPARE(relay.mode, StoragePolicy::Mode::OnChange);
    QCOMPARE(relay.maxInterval, Milliseconds(60'000));
    const StoragePolicy &mean = m_design->points.at(4).storage;
    QCOMPARE(mean.deadband, 0.5);
    QCOMPARE(mean.maxInterval, Milliseconds(10'000));
}

void ParseDesignTest::handlesAreDenseAndStable()
{
    const QStringList ids{QStringLiteral("meter1.active-power"), QStringLiteral("meter1.setpoint"),
                          QStringLiteral("meter1.relay"),        QStringLiteral("meter1.losses"),
                          QStringLiteral("demand.mean-15min"),   QStringLiteral("demand.shaved")};
    QCOMPARE(m_design->points.size(), ids.size());
    for (int i = 0; i < ids.size(); ++i) {
        QCOMPARE(m_design->points.at(i).id, ids.at(i));
        QCOMPARE(m_design->points.at(i).handle, static_cast<PointHandle>(i));
    }
    const PointRef &power = m_design->points.at(0);
    QCOMPARE(power.point, &m_design->devices.at(QStringLiteral("meter1")).points.at(0));
    QCOMPARE(power.point->handle, PointHandle(0));
    QCOMPARE(power.device, &m_design->devices.at(QStringLiteral("meter1")));
    QVERIFY(!power.aggregation);
    const PointRef &shaved = m_design->points.at(5);
    QVERIFY(!shaved.point && !shaved.device);
    QCOMPARE(shaved.aggregation->handle, PointHandle(5));
    QVERIFY(shaved.aggregation->isScripted());
}

void ParseDesignTest::namesFindPoints()
{
    QCOMPARE(m_design->pointByName.size(), 6);
    QCOMPARE(m_design->pointByName.value("meter1.activePower", kNoPoint), PointHandle(0));
    QCOMPARE(m_design->pointByName.value("demand.mean15min", kNoPoint), PointHandle(4));
    QCOMPARE(m_design->points.at(4).name, QStringLiteral("demand.mean15min"));
    QCOMPARE(m_design->points.at(4).unit, QStringLiteral("kW"));
    QVERIFY(!m_design->pointByName.contains("meter1.active-power"));
}

void ParseDesignTest::readsPoints()
{
    const QList<Point> &points = m_design->devices.at(QStringLiteral("meter1")).points;
    QCOMPARE(points.at(0).format.type, RegisterType::Float32);
    QCOMPARE(points.at(0).format.order, ByteOrder::WordSwapped);
    QCOMPARE(points.at(0).format.scale, 1.0);
    QCOMPARE(points.at(0).period, Milliseconds(500));
    QVERIFY(!points.at(0).write);
    const Point &setpoint = points.at(1);
    QCOMPARE(setpoint.kind, PointKind::Setpoint);
    QCOMPARE(setpoint.format.scale, 0.1);
    QCOMPARE(setpoint.write->min, std::optional(-50.0));
    QCOMPARE(setpoint.write->max, std::optional(50.0));
    QCOMPARE(setpoint.write->rampPerS, std::optional(25.0));
    QCOMPARE(setpoint.write->minInterval, Milliseconds(200));
    QVERIFY(setpoint.write->ifDifferent && setpoint.write->verify);
    QCOMPARE(setpoint.write->deadline, Milliseconds(2'000));
    QCOMPARE(points.at(2).format.bit, 3);
    QCOMPARE(points.at(3).expression, QStringLiteral("point('meter1.activePower').value * 0.02"));
    QVERIFY(points.at(3).address.isEmpty());
}

void ParseDesignTest::fillsDefaultsOfPlugins()
{
    const QJsonObject &params = m_design->channels.at(QStringLiteral("bus1")).params;
    QCOMPARE(params, json(R"({"host": "10.0.0.5", "port": 502, "mode": "plain"})"));
    QCOMPARE(m_design->devices.at(QStringLiteral("meter1")).params, json(R"({"unit": 7})"));
    QCOMPARE(m_design->sinks.at(QStringLiteral("broker")).params, json(R"({"host": "127.0.0.1", "port": 1883})"));
}

void ParseDesignTest::resolvesReferences()
{
    const Aggregation &mean = m_design->aggregations.at(QStringLiteral("demand")).aggregations.at(0);
    QCOMPARE(mean.inputs, QList<PointHandle>{0});
    QCOMPARE(mean.window, Milliseconds(900'000));
    QCOMPARE(mean.fold, FoldKind::TimeWeightedMean);
    const AlarmDefinition *peak = m_design->alarmList.at(0);
    QCOMPARE(peak->condition->point, PointHandle(4));
    QCOMPARE(peak->condition->limit, 40.0);
    QCOMPARE(peak->onDelay, Milliseconds(1'000));
    QCOMPARE(m_design->alarmList.at(1)->condition->kind, AlarmCondition::Kind::Stale);
    QCOMPARE(m_design->alarmList.at(1)->condition->maxAge, Milliseconds(5'000));
    QCOMPARE(m_design->alarmList.at(1)->severity, Severity::Medium);
    QVERIFY(!m_design->alarmList.at(2)->condition);
    const QList<Publication> &publications = m_design->sinks.at(QStringLiteral("broker")).publications;
    QCOMPARE(publications.at(0).points, QList<PointHandle>{0});
    QCOMPARE(publications.at(0).device, QStringLiteral("meter1"));
    QCOMPARE(publications.at(0).qos, 1);
    QCOMPARE(publications.at(1).points, (QList<PointHandle>{0, 1, 2, 3}));
    QCOMPARE(publications.at(1).qos, 0);
    const SinkDefinition &sink = m_design->sinks.at(QStringLiteral("broker"));
    QCOMPARE(sink.outboxQuota, qint64{8'388'608});
    QCOMPARE(sink.stateMinInterval, Milliseconds(200));
    QCOMPARE(sink.statePoints,
             (QList<PointHandle>{0, 1, 2, 3, m_design->pointByName.value("demand.shaved", kNoPoint)}));
    QVERIFY(sink.acceptsCommands);
    QCOMPARE(sink.commandPriority, ControlPriority::Comfort);
}

void ParseDesignTest::readsTriggers()
{
    QCOMPARE(m_design->triggerList.size(), 2);
    const Trigger *peak = m_design->triggerList.at(0);
    QCOMPARE(peak->index, 0);
    QCOMPARE(peak->name, QStringLiteral("peak shaving"));
    QCOMPARE(std::get<Trigger::Periodic>(peak->when).phase, Milliseconds(100));
    QCOMPARE(peak->priority, ControlPriority::Demand);
    QCOMPARE(peak->params, json(R"({"limit": 40})"));
    QCOMPARE(peak->script, QStringLiteral("local p = point(\"meter1.activePower\")\nlog(p.value)\n"));
    QCOMPARE(peak->overlap, OverlapMode::Skip);
    QCOMPARE(peak->timeLimit, Milliseconds(100));
    QCOMPARE(peak->memoryLimit, std::size_t(1'048'576));
    const Trigger *watch = m_design->triggerList.at(1);
    const auto &change = std::get<Trigger::OnChange>(watch->when);
    QCOMPARE(change.points, (QList<PointHandle>{0, 2}));
    QCOMPARE(change.deadband, 0.5);
    QCOMPARE(change.forDuration, Milliseconds(10));
    QCOMPARE(watch->overlap, OverlapMode::Queue);
    QCOMPARE(watch->queueLength, 5);
    QCOMPARE(watch->memoryLimit, std::size_t(524'288));
}

void ParseDesignTest::alarmsAreFoundByShortNameWhereUnique()
{
    DesignDocument document = smallDesign();
    document["alarms/other.json"] =
        R"({"id": "other", "name": "other", "alarms": [{"id": "p", "name": "peak"}, {"id": "q", "name": "quiet"}]})";
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    const auto &byName = parsed.design->alarmByName;
    QCOMPARE(byName.value("other.peak", -1), 0);
    QCOMPARE(byName.value("quiet", -1), 1);
    QCOMPARE(byName.value("site.peak", -1), 2);
    QVERIFY(!byName.contains("peak"));
    QCOMPARE(parsed.design->alarmList.at(2)->index, 2);
}

void ParseDesignTest::resultsMayFeedOtherAggregations()
{
    const ParsedDesign parsed = parseDesign(
        changed(
            "aggregations/demand.json", QStringLiteral("/aggregations/2"),
            R"({"id": "peak", "name": "peak", "inputs": ["demand.mean-15min"], "windowMs": 86400000, "fold": "max"})"),
        smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    QCOMPARE(parsed.design->points.at(6).aggregation->inputs, QList<PointHandle>{4});
}

// PC-15 and PC-24: names are data, kept byte for byte.
void ParseDesignTest::acceptsNames_data()
{
    QTest::addColumn<QString>("name");
    for (const char *name : {"T2 candle 5W RGB+CW", "A#1", "a/b", "$SYS/x", "Zähler Küche", "Ω", "%s", "a\"b", "a;b",
                             "x'); DROP TABLE samples;--", "名前", "\xF0\x9F\x94\x8B"})
        QTest::newRow(name) << QString::fromUtf8(name);
    QTest::newRow("256 characters") << QString(256, QLatin1Char('x'));
    QTest::newRow("256 characters of four bytes") << QStringLiteral("\U0001F50B").repeated(256);
}

void ParseDesignTest::acceptsNames()
{
    QFETCH(QString, name);
    const QByteArray quoted = QJsonDocument(QJsonArray{name}).toJson(QJsonDocument::Compact).chopped(1).mid(1);
    const ParsedDesign parsed =
        parseDesign(changed("devices/meter1.json", QStringLiteral("/points/0/name"), quoted), smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    QCOMPARE(parsed.design->points.at(0).point->name, name);
    QCOMPARE(parsed.design->pointByName.value("meter1." + name.toUtf8(), kNoPoint), PointHandle(0));
}

void ParseDesignTest::everySectionButTheRootMayBeAbsent()
{
    DesignDocument document;
    document["gridloom.json"] = smallDesign()["gridloom.json"];
    document["README.md"] = "Notes of the engineer \xFF";
    document["devices/notes.txt"] = "x";
    const ParsedDesign parsed = parseDesign(document, {});
    QVERIFY2(parsed.design, texts(parsed.faults));
    QVERIFY(parsed.design->points.isEmpty());
}

void ParseDesignTest::manyPointsParseQuickly()
{
    DesignDocument document = smallDesign();
    QByteArray points;
    for (int i = 0; i < 20'000; ++i) {
        const QByteArray n = QByteArray::number(i);
        points += R"({"id":"p)" + n + R"(","name":"p)" + n + R"(","kind":"measured","address":"holding:)" + n + "\"},";
    }
    points.chop(1);
    document["devices/big.json"] = R"({"id":"big","name":"big","channel":"bus1","points":[)" + points + "]}";
    QElapsedTimer timer;
    timer.start();
    const ParsedDesign parsed = parseDesign(document, smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    QCOMPARE(parsed.design->points.size(), 20'006);
    // Linear work takes a tenth of a second; anything quadratic does not pass, even under a sanitizer.
    QVERIFY2(timer.elapsed() < 5'000, QByteArray::number(timer.elapsed()));
}

QTEST_GUILESS_MAIN(ParseDesignTest)
#include "tst_parsedesign.moc"
