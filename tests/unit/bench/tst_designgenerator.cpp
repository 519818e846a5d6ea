// SPDX-License-Identifier: Apache-2.0
#include "script/scriptnames.h"
#include "script/triggerscript.h"
#include "tools/bench/coordinationgenerator.h"
#include "tools/bench/designgenerator.h"
#include "tools/sim/bulklayout.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSet>
#include <QTest>

using namespace gridloom;

class DesignGeneratorTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void designIsValidAndComplete_data();
    void designIsValidAndComplete();
    void coordinationWritesAreCountedByRegister();
    void simulationServesEverySetpoint();

private:
    static Scenario scenario(const QString &id);
    /// Of the plugins that the design uses, from their source folders.
    static std::map<QString, QJsonObject> manifests();
    static void checkPoints(const Scenario &scenario, const Design &design);
    static void checkTriggers(const Scenario &scenario, const Design &design);
    static void checkCoordination(const Scenario &scenario, const Design &design);
};

Scenario DesignGeneratorTest::scenario(const QString &id)
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/baselines/scenarios.json"));
    return file.open(QIODevice::ReadOnly) ? parseScenario(file.readAll(), id).value() : Scenario();
}

std::map<QString, QJsonObject> DesignGeneratorTest::manifests()
{
    std::map<QString, QJsonObject> all;
    for (const QString &plugin :
         {QStringLiteral("driver/modbus"), QStringLiteral("sink/mqtt"), QStringLiteral("store/embedded")}) {
        QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/plugins/%1/plugin.json")
                       .arg(QString(plugin).replace(QLatin1Char('/'), QLatin1String("s/"))));
        if (file.open(QIODevice::ReadOnly))
            all.emplace(plugin, QJsonDocument::fromJson(file.readAll()).object());
    }
    return all;
}

void DesignGeneratorTest::designIsValidAndComplete_data()
{
    QTest::addColumn<QString>("id");
    for (const char *id : {"S1", "S2", "S2.5", "S3", "S3.5", "S6"})
        QTest::newRow(id) << QString::fromLatin1(id);
}

// Checked with the parser and the manifests the runtime uses.
void DesignGeneratorTest::designIsValidAndComplete()
{
    QFETCH(QString, id);
    const Scenario s = scenario(id);
    QHash<QString, int> ports;
    for (int d = 0; d < s.bulkDevices(); ++d)
        ports.insert(QStringLiteral("bulk-%1").arg(d + 1, 3, 10, QLatin1Char('0')), 20'000 + d);
    const ParsedDesign parsed = parseDesign(generateDesign(s, ports, 18'830), {manifests(), checkLuaSyntax});
    for (const DesignFault &fault : parsed.faults)
        qWarning("%s", qPrintable(fault.text()));
    QVERIFY(parsed.design);
    const Design &design = *parsed.design;

    checkPoints(s, design);
    checkTriggers(s, design);
    checkCoordination(s, design);
    const auto &publications = design.sinks.at(QStringLiteral("broker")).publications;
    QCOMPARE(publications.size(), s.mqttTargetPerS);
    QSet<QString> devices;
    for (const Publication &p : publications) {
        QCOMPARE(p.period, Milliseconds(1000));
        QCOMPARE(p.qos, 1);
        QCOMPARE(p.points.size(), kPointsPerPublication);
        devices.insert(p.device);
    }
    QCOMPARE(devices.size(), s.mqttTargetPerS);
    QVERIFY(!design.sinks.at(QStringLiteral("broker")).publishesAlarms);
}

void DesignGeneratorTest::checkPoints(const Scenario &s, const Design &design)
{
    int reads = 0;
    for (const auto &[id, device] : design.devices)
        for (const Point &p : device.points) {
            if (p.kind != PointKind::Measured)
                continue;
            ++reads;
            QCOMPARE(p.period, Milliseconds(1000));
            QCOMPARE(p.storage.mode,
                     s.isRealTimeStorage ? StoragePolicy::Mode::RealTime : StoragePolicy::Mode::OnChange);
        }
    QCOMPARE(reads, s.pointsPerS);
    QCOMPARE(design.channels.size(), std::size_t(s.pointsPerS / 50));
    const auto &means = design.aggregations.at(QStringLiteral("means")).aggregations;
    QCOMPARE(means.size(), s.aggregations);
    for (const Aggregation &mean : means) {
        QCOMPARE(mean.inputs.size(), 100);
        QCOMPARE(QSet<PointHandle>(mean.inputs.begin(), mean.inputs.end()).size(), 100);
        QCOMPARE(mean.window, Milliseconds(10'000));
        QCOMPARE(mean.storage.mode, StoragePolicy::Mode::RealTime);
    }
    // Every point as the simulator lays it out.
    for (int d : {0, s.bulkDevices() - 1}) {
        const Device &device = design.devices.at(QStringLiteral("bulk-%1").arg(d + 1, 3, 10, QLatin1Char('0')));
        const QList<BulkPoint> layout = bulkLayout(d);
        for (int i = 0; i < layout.size(); ++i) {
            QCOMPARE(device.points[i].address, QStringLiteral("holding:%1").arg(layout[i].address));
            QCOMPARE(device.points[i].format.type, layout[i].format.type);
            QCOMPARE(device.points[i].format.order, layout[i].format.order);
            QCOMPARE(device.points[i].format.scale, layout[i].format.scale);
        }
    }
}

// Each trigger has the four things it touches for itself alone.
void DesignGeneratorTest::checkTriggers(const Scenario &s, const Design &design)
{
    int slow = 0, fast = 0, onChange = 0;
    QSet<QByteArray> outputs, alarms, rows, topics;
    for (const auto &[id, trigger] : design.triggers) {
        if (const auto *periodic = std::get_if<Trigger::Periodic>(&trigger.when)) {
            ++(periodic->period == Milliseconds(100) ? fast : slow);
        } else {
            ++onChange;
            const PointHandle watched = std::get<Trigger::OnChange>(trigger.when).points.value(0);
            const PointRef &ref = design.points[watched];
            const int d = ref.device->id.mid(5).toInt() - 1;
            const QList<BulkPoint> layout = bulkLayout(d);
            QVERIFY(std::any_of(layout.begin(), layout.end(),
                                [&ref](const BulkPoint &p) { return p.id == ref.point->id && p.changes; }));
        }
        for (const NameUse &use : literalNames(trigger.script)) {
            const QByteArray name = use.name.toUtf8();
            if (use.kind == NameUse::Kind::Alarm) {
                QVERIFY(design.alarmByName.contains(name));
                alarms.insert(name);
            } else if (name.startsWith("runs.")) {
                QVERIFY(design.pointByName.contains(name));
                rows.insert(name);
            } else {
                QVERIFY2(design.pointByName.contains(name), name.constData());
                outputs.insert(name);
            }
        }
        const QString publish = QStringLiteral("mqtt.publish(\"");
        topics.insert(trigger.script.mid(trigger.script.indexOf(publish) + publish.size())
                          .section(QLatin1Char('"'), 0, 0)
                          .toUtf8());
    }
    QCOMPARE(fast, s.fastTriggers);
    QCOMPARE(slow, s.regularTriggers / 2);
    QCOMPARE(onChange, s.regularTriggers / 2);
    for (const auto *own : {&outputs, &alarms, &rows, &topics})
        QCOMPARE(own->size(), s.triggers());
    QCOMPARE(slow + onChange + 10 * fast, s.triggerTargetPerS);
}

// Two devices a task, two writes that nobody else does, both with a compensation, each run with a new value.
void DesignGeneratorTest::checkCoordination(const Scenario &s, const Design &design)
{
    QCOMPARE(design.coordinationList.size(), s.coordinationPerS);
    QSet<QPair<QString, QString>> registers;
    for (const Trigger *trigger : design.triggerList)
        for (const NameUse &use : literalNames(trigger->script))
            if (use.kind == NameUse::Kind::Output) {
                const PointRef &ref = design.points[design.pointByName.value(use.name.toUtf8())];
                registers.insert({ref.device->id, ref.point->address});
            }
    QCOMPARE(registers.size(), s.triggers());
    for (const CoordinationTask *task : design.coordinationList) {
        QCOMPARE(task->when->period, Milliseconds(1000));
        QCOMPARE(task->steps.size(), 2);
        QSet<QString> devices;
        for (const CoordinationTask::Step &step : task->steps) {
            const PointRef &ref = design.points[step.output];
            devices.insert(ref.device->id);
            registers.insert({ref.device->id, ref.point->address});
            QVERIFY(std::holds_alternative<CoordinationTask::RunNumber>(step.value));
            QVERIFY(step.compensation.index() != 0);
        }
        QCOMPARE(devices.size(), 2);
    }
    QCOMPARE(registers.size(), s.triggers() + 2 * s.coordinationPerS);
    // As many as the simulator serves.
    const int served =
        QJsonDocument::fromJson(generateSimulation(s))[QLatin1String("devices")][0][QLatin1String("setpoints")].toInt();
    for (const auto &[device, address] : registers)
        QVERIFY2(address.section(QLatin1Char(':'), 1).toInt() < kBulkSetpointBase + 2 * served, qPrintable(address));
}

void DesignGeneratorTest::coordinationWritesAreCountedByRegister()
{
    const Scenario s = scenario(QStringLiteral("S2.5")); // 22 triggers on 40 devices: register 1000; tasks: 1002
    const QJsonObject writes{{QStringLiteral("bulk-001"),
                              QJsonObject{{QStringLiteral("holding:1000"), 60}, {QStringLiteral("holding:1002"), 7}}},
                             {QStringLiteral("bulk-004"), QJsonObject{{QStringLiteral("holding:1002"), 5}}}};
    QCOMPARE(countCoordinationWrites(s, writes), std::uint64_t(12));
    QCOMPARE(countCoordinationWrites(s, {}), std::uint64_t(0));
}

void DesignGeneratorTest::simulationServesEverySetpoint()
{
    const QJsonArray devices = QJsonDocument::fromJson(generateSimulation(scenario(QStringLiteral("S1"))))
                                   .object()
                                   .value(QLatin1String("devices"))
                                   .toArray();
    QCOMPARE(devices.size(), 10);
    QCOMPARE(devices[0].toObject().value(QLatin1String("setpoints")).toInt(), 1);
    QSet<QString> ids;
    for (const QJsonValue &d : devices)
        ids.insert(d.toObject().value(QLatin1String("id")).toString());
    QCOMPARE(ids.size(), 10);
}

QTEST_APPLESS_MAIN(DesignGeneratorTest)
#include "tst_designgenerator.moc"
