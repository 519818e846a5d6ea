// SPDX-License-Identifier: Apache-2.0
// The scripts of docs/lua-reference.md do what the page says.
#include "scriptbench.h"

#include <QFile>
#include <QJsonDocument>
#include <QTest>

using namespace gridloom;
using gridloom::test::ScriptBench;

class LuaReferenceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void everyBlockIsValid();
    void peakShavingShaves();

private:
    QStringList blocks(const QString &language) const;
    QString m_page;
};

void LuaReferenceTest::initTestCase()
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/docs/lua-reference.md"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    m_page = QString::fromUtf8(file.readAll());
}

QStringList LuaReferenceTest::blocks(const QString &language) const
{
    QStringList found;
    const QString opening = QStringLiteral("\n```") + language + QLatin1Char('\n');
    for (qsizetype start = 0; (start = m_page.indexOf(opening, start)) >= 0;) {
        start += opening.size();
        found.append(m_page.mid(start, m_page.indexOf(QLatin1String("```"), start) - start));
    }
    return found;
}

void LuaReferenceTest::everyBlockIsValid()
{
    const QStringList scripts = blocks(QStringLiteral("lua"));
    QCOMPARE(scripts.size(), 2);
    for (const QString &lua : scripts)
        QVERIFY(!checkLuaSyntax(lua, false));
    // In order of the page: the first trigger, the alarm set it needs, the trigger of the worked example.
    const QStringList files = blocks(QStringLiteral("json"));
    QCOMPARE(files.size(), 3);
    const QStringList keys = {QStringLiteral("when"), QStringLiteral("alarms"), QStringLiteral("when")};
    for (qsizetype i = 0; i < files.size(); ++i)
        QVERIFY(QJsonDocument::fromJson(files[i].toUtf8()).object().contains(keys[i]));
}

void LuaReferenceTest::peakShavingShaves()
{
    ScriptBench bench;
    const PointHandle grid = bench.addPoint(QStringLiteral("grid.power"));
    const PointHandle battery = bench.addPoint(QStringLiteral("battery.power"));
    const PointHandle soc = bench.addPoint(QStringLiteral("battery.soc"));
    const PointHandle setpoint = bench.addPoint(QStringLiteral("battery.setpoint"), PointKind::Setpoint);
    bench.addAlarm(QStringLiteral("blind"));
    bench.trigger.params = QJsonDocument::fromJson(blocks(QStringLiteral("json")).at(2).toUtf8())
                               .object()
                               .value(QLatin1String("params"))
                               .toObject();
    const auto script = bench.compile(blocks(QStringLiteral("lua")).at(1));
    const auto written = [&](double gridPower, double batteryPower, double charge) -> std::optional<double> {
        bench.set(grid, Value(gridPower));
        bench.set(battery, Value(batteryPower));
        bench.set(soc, Value(charge));
        const ScriptResult result = bench.run(*script);
        if (result.outcome != ScriptOutcome::Ok)
            qWarning("%s", qPrintable(result.error));
        for (const Action &action : result.actions)
            if (const auto *write = std::get_if<ControlAction>(&action); write && write->point == setpoint)
                return write->value.toDouble();
        return std::nullopt;
    };
    // P0 = grid + battery; above the peak discharge what is above, below the recharge threshold charge up to it.
    QCOMPARE(written(50, 0, 60), std::optional(10.0));
    QCOMPARE(written(40, 10, 60), std::optional(10.0));
    QCOMPARE(written(38, 0, 60), std::optional(0.0));
    QCOMPARE(written(38, 0, 60), std::nullopt);
    QCOMPARE(written(10, 0, 60), std::optional(-15.0));
    QCOMPARE(written(10, 0, 95), std::nullopt);
    QCOMPARE(written(50, 0, 10), std::nullopt);

    bench.set(grid, Value(), Quality::BadCommunicationError);
    ScriptResult blind;
    for (int i = 0; i < 5; ++i)
        blind = bench.run(*script);
    QCOMPARE(blind.actions.size(), std::size_t{1});
    QVERIFY(std::get<AlarmAction>(blind.actions.front()).text.contains("grid Bad_CommunicationError"));
}

QTEST_APPLESS_MAIN(LuaReferenceTest)
#include "tst_luareference.moc"
