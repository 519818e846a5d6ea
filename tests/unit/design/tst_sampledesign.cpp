// SPDX-License-Identifier: Apache-2.0
// The sample site: parses without a fault against the real manifests, and its scripts do what their comments say.
#include "designio/designfolder.h"
#include "script/expression.h"
#include "script/scriptnames.h"
#include "script/triggerscript.h"

#include <QTest>

using namespace gridloom;

class SampleDesignTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void isFaultless();
    void namesInScriptsExist();
    void addressesOfOneChannelDiffer();
    void outputsHaveOneOwnerPerPriority();
    void peakIsShavedToTheLimit();
    void betweenTheThresholdsPeakShavingIsSilent();
    void selfConsumptionWaitsForItsTurn();
    void badInputsWriteNothing();
    void batteryLimitsTakePowerBack();
    void batteryStopsWhenBlind();
    void vehiclesShareTheMainFuse();
    void counterResetGivesNoRow();
    void demandIsProjected();

private:
    /// The site at rest: every input good, 40 kW from the grid, battery idle at 55 %.
    void rest();
    void set(const char *name, double value, Quality quality = Quality::Good);
    void compute();
    ScriptResult run(const char *trigger);
    /// The value that the last of `result`'s actions writes to the named point; nothing when none does.
    std::optional<double> written(const ScriptResult &result, const char *name) const;
    int alarms(const ScriptResult &result, const char *name, bool isRaise) const;

    std::shared_ptr<const Design> m_design;
    std::unique_ptr<PointStore> m_points;
    std::unique_ptr<Expressions> m_expressions;
    std::map<QString, std::unique_ptr<TriggerScript>> m_scripts;
    SteadyTime m_now{std::chrono::hours(1)};
    WallTime m_wall{std::chrono::seconds(1'768'470'000)}; // 2026-01-15T09:40:00Z
    std::uint64_t m_run = 0;
};

void SampleDesignTest::initTestCase()
{
    const auto document = readDesignFolder(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/samples/site"));
    QVERIFY2(document.ok(), document.ok() ? "" : qPrintable(document.error().message));
    DesignContext context;
    auto manifests = readManifests(QStringLiteral(GRIDLOOM_SOURCE_DIR "/plugins"));
    QVERIFY2(manifests.ok(), manifests.ok() ? "" : qPrintable(manifests.error().message));
    context.manifests = std::move(manifests).value();
    context.checkLua = checkLuaSyntax;
    const ParsedDesign parsed = parseDesign(document.value(), context);
    QByteArray faults;
    for (const DesignFault &fault : parsed.faults)
        faults += fault.text().toUtf8() + '\n';
    QVERIFY2(parsed.design, faults);
    m_design = parsed.design;
    auto expressions = Expressions::compile(*m_design);
    QVERIFY2(expressions.ok(), expressions.ok() ? "" : qPrintable(expressions.error().message));
    m_expressions = std::move(expressions).value();
}

void SampleDesignTest::rest()
{
    m_points = std::make_unique<PointStore>(static_cast<std::size_t>(m_design->points.size()));
    m_scripts.clear();
    for (const Trigger *trigger : m_design->triggerList) {
        auto script = TriggerScript::compile(*m_design, *trigger);
        QVERIFY2(script.ok(), script.ok() ? "" : qPrintable(script.error().message));
        m_scripts[trigger->id] = std::move(script).value();
    }
    for (const PointRef &ref : m_design->points)
        if (ref.point && ref.point->kind != PointKind::Computed)
            set(ref.name.toUtf8().constData(), 0);
    set("meter1.activePower", 40);
    set("battery1.soc", 55);
    set("battery1.chargeLimit", 30);
    set("battery1.dischargeLimit", 30);
    set("ev1.greatestCurrent", 32);
    set("ev2.greatestCurrent", 16);
    set("limits.charge", 30);
    set("limits.discharge", 30);
}

void SampleDesignTest::set(const char *name, double value, Quality quality)
{
    const PointHandle point = m_design->pointByName.value(name, kNoPoint);
    QVERIFY2(point != kNoPoint, name);
    m_points->update({point, quality, isBad(quality) ? Value() : Value(value), m_wall, m_now});
}

void SampleDesignTest::compute()
{
    for (const PointHandle point : m_expressions->order()) {
        QString error;
        const auto [value, quality] = m_expressions->evaluate(point, *m_points, m_now, error);
        m_points->update({point, quality, value, m_wall, m_now});
    }
}

ScriptResult SampleDesignTest::run(const char *trigger)
{
    compute();
    const auto image = m_points->freeze(m_now, m_wall);
    ScriptResult result = m_scripts.at(QString::fromLatin1(trigger))->run({image.get(), ++m_run, m_now, m_wall});
    if (result.outcome != ScriptOutcome::Ok)
        qWarning("%s: %s", trigger, qPrintable(result.error));
    return result;
}

std::optional<double> SampleDesignTest::written(const ScriptResult &result, const char *name) const
{
    const PointHandle point = m_design->pointByName.value(name, kNoPoint);
    std::optional<double> value;
    for (const Action &action : result.actions) {
        if (const auto *control = std::get_if<ControlAction>(&action); control && control->point == point)
            value = control->value.toDouble();
        if (const auto *row = std::get_if<AggregationAction>(&action); row && row->point == point)
            value = row->value.toDouble();
    }
    return value;
}

int SampleDesignTest::alarms(const ScriptResult &result, const char *name, bool isRaise) const
{
    const int alarm = m_design->alarmByName.value(name, -1);
    return static_cast<int>(std::count_if(result.actions.begin(), result.actions.end(), [&](const Action &action) {
        const auto *change = std::get_if<AlarmAction>(&action);
        return change && change->alarm == alarm && change->isRaise == isRaise;
    }));
}

void SampleDesignTest::isFaultless()
{
    QCOMPARE(m_design->revision.size(), 64);
    QCOMPARE(m_design->devices.size(), std::size_t(8));
    QCOMPARE(m_design->triggerList.size(), 6);
    QVERIFY(m_design->stores.size() == 1 && m_design->sinks.size() == 1);
}

void SampleDesignTest::namesInScriptsExist()
{
    int names = 0;
    for (const Trigger *trigger : m_design->triggerList) {
        for (const NameUse &use : literalNames(trigger->script)) {
            const QByteArray name = use.name.toUtf8();
            const QByteArray place = trigger->id.toUtf8() + ':' + QByteArray::number(use.line) + ": " + name;
            const bool isKnown = use.kind == NameUse::Kind::Alarm ? m_design->alarmByName.contains(name)
                                                                  : m_design->pointByName.contains(name);
            QVERIFY2(isKnown, place);
            ++names;
        }
    }
    QVERIFY(names > 20);
}

void SampleDesignTest::addressesOfOneChannelDiffer()
{
    QSet<QString> seen;
    for (const auto &[id, device] : m_design->devices)
        for (const Point &point : device.points)
            if (!point.address.isEmpty()) {
                const QString place =
                    device.channel + QString::number(device.params.value(u"unit").toInt()) + point.address;
                QVERIFY2(!seen.contains(place), qPrintable(place));
                seen.insert(place);
            }
    QVERIFY(seen.size() > 50);
}

// Two triggers of the same priority at one output would take it from each other.
void SampleDesignTest::outputsHaveOneOwnerPerPriority()
{
    QSet<QString> claims;
    for (const Trigger *trigger : m_design->triggerList) {
        if (!trigger->script.contains(QLatin1String("control.write(\"battery1.setpoint\"")))
            continue;
        const QString claim = QString::number(static_cast<int>(trigger->priority));
        QVERIFY(!claims.contains(claim));
        claims.insert(claim);
    }
    QCOMPARE(claims.size(), 3);
}

void SampleDesignTest::peakIsShavedToTheLimit()
{
    rest();
    set("meter1.activePower", 60);
    ScriptResult result = run("peak-shaving");
    QCOMPARE(written(result, "battery1.setpoint"), std::optional(12.0)); // 60 - 48
    QCOMPARE(written(result, "demand.shaved"), std::optional(12.0));
    QCOMPARE(alarms(result, "battery.shaving", true), 1);
    // The battery delivers 12 kW now: P0 is the same, so is the setpoint, and the alarm is not raised again.
    set("meter1.activePower", 48);
    set("battery1.activePower", 12);
    result = run("peak-shaving");
    QCOMPARE(written(result, "battery1.setpoint"), std::optional(12.0));
    QCOMPARE(alarms(result, "battery.shaving", true), 0);
    set("limits.discharge", 5);
    QCOMPARE(written(run("peak-shaving"), "battery1.setpoint"), std::optional(5.0));
    set("meter1.activePower", 35.7); // P0 = 47.7: below the peak, inside the deadband
    result = run("peak-shaving");
    QVERIFY(!written(result, "battery1.setpoint"));
    QCOMPARE(alarms(result, "battery.shaving", false), 0);
    set("meter1.activePower", 30);
    QCOMPARE(alarms(run("peak-shaving"), "battery.shaving", false), 1);
}

void SampleDesignTest::betweenTheThresholdsPeakShavingIsSilent()
{
    rest();
    QVERIFY(!written(run("peak-shaving"), "battery1.setpoint"));
    set("meter1.activePower", 12);
    QCOMPARE(written(run("peak-shaving"), "battery1.setpoint"), std::optional(-8.0)); // 12 - 20: charge
    set("limits.charge", 3);
    QCOMPARE(written(run("peak-shaving"), "battery1.setpoint"), std::optional(-3.0));
    set("battery1.soc", 90);
    QVERIFY(!written(run("peak-shaving"), "battery1.setpoint"));
}

void SampleDesignTest::selfConsumptionWaitsForItsTurn()
{
    rest();
    for (int i = 0; i < 4; ++i)
        QVERIFY(!written(run("self-consumption"), "battery1.setpoint"));
    // e = 40 - 35 = 5 in the fifth run, its first integral: 0 + 0.5 * 5 + 0.05 * 5 = 2.75.
    QCOMPARE(written(run("self-consumption"), "battery1.setpoint"), std::optional(2.75));
    set("battery1.soc", 30); // below the reserve
    QCOMPARE(written(run("self-consumption"), "battery1.setpoint"), std::optional(0.0));
    set("meter1.activePower", 60);
    QVERIFY(!written(run("self-consumption"), "battery1.setpoint"));
    set("meter1.activePower", 40);
    QVERIFY(!written(run("self-consumption"), "battery1.setpoint"));
}

void SampleDesignTest::badInputsWriteNothing()
{
    for (const char *trigger : {"peak-shaving", "self-consumption", "ev-balance", "energy-counter", "demand-window"}) {
        rest();
        for (const PointRef &ref : m_design->points)
            set(ref.name.toUtf8().constData(), 0, Quality::BadCommunicationError);
        for (int i = 0; i < 6; ++i) {
            const ScriptResult result = run(trigger);
            QCOMPARE(result.outcome, ScriptOutcome::Ok);
            QVERIFY2(result.actions.empty(), trigger);
        }
    }
}

void SampleDesignTest::batteryLimitsTakePowerBack()
{
    rest();
    ScriptResult result = run("battery-limits");
    QVERIFY(!written(result, "battery1.setpoint"));
    QCOMPARE(written(result, "limits.discharge"), std::optional(30.0));
    QVERIFY(!written(run("battery-limits"), "limits.discharge"));
    set("battery1.setpoint", 25);
    set("battery1.soc", 12); // 2 of the 5 % of the band: 30 * 0.4
    result = run("battery-limits");
    QCOMPARE(written(result, "battery1.setpoint"), std::optional(12.0));
    QCOMPARE(written(result, "limits.discharge"), std::optional(12.0));
    set("battery1.setpoint", -25);
    set("battery1.soc", 96);
    QCOMPARE(written(run("battery-limits"), "battery1.setpoint"), std::optional(0.0));
}

void SampleDesignTest::batteryStopsWhenBlind()
{
    rest();
    int heartbeats = 0;
    for (int i = 0; i < 20; ++i)
        heartbeats += written(run("battery-limits"), "battery1.heartbeat") ? 1 : 0;
    QCOMPARE(heartbeats, 2);
    set("battery1.soc", 0, Quality::BadNotConnected);
    ScriptResult result = run("battery-limits");
    QCOMPARE(written(result, "battery1.setpoint"), std::optional(0.0));
    QCOMPARE(alarms(result, "battery.blind", true), 1);
    QCOMPARE(alarms(run("battery-limits"), "battery.blind", true), 0);
    set("battery1.soc", 55);
    QCOMPARE(alarms(run("battery-limits"), "battery.blind", false), 1);
    m_now += std::chrono::seconds(4); // good, but old
    QCOMPARE(alarms(run("battery-limits"), "battery.blind", true), 1);
}

void SampleDesignTest::vehiclesShareTheMainFuse()
{
    rest();
    const auto load = [&](double others, double ev1, double ev2) {
        for (const char *phase : {"L1", "L2", "L3"}) {
            set(QByteArray("meter1.current").append(phase).constData(), others + ev1 + ev2);
            set(QByteArray("meter1.power").append(phase).constData(), 10);
            set(QByteArray("ev1.current").append(phase).constData(), ev1);
            set(QByteArray("ev2.current").append(phase).constData(), ev2);
        }
    };
    load(50, 30, 0);
    set("ev1.plugged", 1);
    m_points->update({m_design->pointByName.value("ev1.plugged"), Quality::Good, Value(true), m_wall, m_now});
    m_points->update({m_design->pointByName.value("ev2.plugged"), Quality::Good, Value(false), m_wall, m_now});
    ScriptResult result = run("ev-balance"); // 0.9 * 100 - 50 = 40: more than 32
    QCOMPARE(written(result, "ev1.currentLimit"), std::optional(32.0));
    QVERIFY(!written(result, "ev2.currentLimit"));
    m_points->update({m_design->pointByName.value("ev2.plugged"), Quality::Good, Value(true), m_wall, m_now});
    load(61, 30, 0); // 29 for two: 14 each
    result = run("ev-balance");
    QCOMPARE(written(result, "ev1.currentLimit"), std::optional(14.0));
    QCOMPARE(written(result, "ev2.currentLimit"), std::optional(14.0));
    QCOMPARE(alarms(result, "charging.limited", true), 1);
    load(80, 14, 14); // 10 for two is less than 6 each: one pauses
    result = run("ev-balance");
    QCOMPARE(written(result, "ev1.currentLimit"), std::optional(10.0));
    QCOMPARE(written(result, "ev2.currentLimit"), std::optional(0.0));
    load(50, 10, 0); // enough again, but the pause lasts 30 s
    QCOMPARE(written(run("ev-balance"), "ev2.currentLimit"), std::optional(0.0));
    m_wall += std::chrono::seconds(31);
    QCOMPARE(written(run("ev-balance"), "ev2.currentLimit"), std::optional(16.0));
}

void SampleDesignTest::counterResetGivesNoRow()
{
    rest();
    const auto count = [&](std::uint64_t wh) {
        m_wall += std::chrono::seconds(1);
        m_points->update(
            {m_design->pointByName.value("meter1.importedEnergy"), Quality::Good, Value(wh), m_wall, m_now});
        return run("energy-counter");
    };
    QVERIFY(!written(count(5'000), "energy.importStep"));
    QCOMPARE(written(count(5'011), "energy.importStep"), std::optional(11.0));
    ScriptResult result = count(3);
    QVERIFY(!written(result, "energy.importStep"));
    QCOMPARE(alarms(result, "grid.counterReset", true), 1);
    result = count(14);
    QCOMPARE(written(result, "energy.importStep"), std::optional(11.0));
    QCOMPARE(alarms(result, "grid.counterReset", false), 1);
    QVERIFY(!written(count(1'000'000'000), "energy.importStep"));
}

void SampleDesignTest::demandIsProjected()
{
    rest();
    const auto at = [&](double kilowatts, int seconds) {
        m_wall += std::chrono::seconds(seconds);
        set("meter1.activePower", kilowatts);
        return run("demand-window");
    };
    m_wall = WallTime(std::chrono::seconds(1'768'469'700)); // 09:35:00, 300 s into a quarter-hour
    QCOMPARE(written(at(40, 0), "demand.projected"), std::optional(40.0));
    // 100 s at 70 kW were seen; they stand for the 400 s that have passed. The rest at 70 kW, too: 70.
    ScriptResult result = at(70, 100);
    QCOMPARE(written(result, "demand.projected"), std::optional(70.0));
    QCOMPARE(alarms(result, "grid.demandForecast", true), 1);
    // Another 100 s at 10 kW: mean 40 over 500 s, then 400 s at 10: (40 * 500 + 10 * 400) / 900.
    result = at(10, 100);
    QCOMPARE(written(result, "demand.projected"), std::optional((40.0 * 500 + 10 * 400) / 900));
    QCOMPARE(alarms(result, "grid.demandForecast", false), 1);
    // The next quarter-hour begins with nothing behind it.
    QCOMPARE(written(at(20, 400), "demand.projected"), std::optional(20.0));
}

QTEST_GUILESS_MAIN(SampleDesignTest)
#include "tst_sampledesign.moc"
