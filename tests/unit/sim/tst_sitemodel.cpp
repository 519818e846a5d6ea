// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/sitemodel.h"

#include <QFile>
#include <QTest>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

QByteArray profileFile(const char *name)
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/profiles/") + QLatin1String(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

constexpr SteadyTime kStart{500s};

SiteModel makeSite(double machineW = 12'000)
{
    const QTimeZone zone("Europe/Vienna");
    const SiteModel::Settings settings{zone, QDateTime(QDate(2026, 1, 15), QTime(10, 0), zone), 150'000, machineW, 1};
    return {settings, LoadProfile::parse(profileFile("load_profiles_15min.csv"), QStringLiteral("commerce")).value(),
            SolarDay::parse(profileFile("solar_day_5min.csv")).value(), kStart};
}

bool isNear(double a, double b, double tolerance = 1e-6)
{
    return std::abs(a - b) <= tolerance;
}

} // namespace

class SiteModelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void powersBalanceAtEveryStep();
    void energiesAreThoseOfTheParts();
    void baseLoadFollowsTheProfile();
    void stepsDoNotDependOnWhoLooks();
    void batteryStoresByHand();
    void batteryFollowsWithItsLag();
    void batteryIsLimitedByItsBms();
    void batteryFallsToItsSafeValue();
    void pvObeysItsLimit();
    void pvStartsEachDayAtZero();
    void evPausesBelowSixAmperes();
    void evFillsAndLeaves();
};

void SiteModelTest::powersBalanceAtEveryStep()
{
    SiteModel site = makeSite();
    const PvModel &pv1 = site.addPv(30'000, 33'000);
    const PvModel &pv2 = site.addPv(20'000, 22'000);
    BatteryModel &battery = site.addBattery({60'000, 30'000, 55, 1e9});
    const EvModel &ev = site.addEv(32);
    double least = 1e9;
    double most = 0;
    for (int step = 0; step < 6'000; ++step) {
        if (step % 100 == 0)
            battery.setSetpoint(step % 200 == 0 ? 20'000 : -15'000, site.nowS());
        site.advanceTo(kStart + step * SiteModel::kStep);
        const SiteModel::State &now = site.state();
        QVERIFY(isNear(now.loadW, now.gridW + now.pvW + now.batteryW));
        QVERIFY(isNear(now.pvW, pv1.powerW() + pv2.powerW()));
        QVERIFY(isNear(now.batteryW, battery.powerW()));
        QVERIFY(isNear(now.gridW, now.phases[0].watts + now.phases[1].watts + now.phases[2].watts));
        for (const SiteModel::Phase &phase : now.phases) {
            QVERIFY(phase.volts > 226.9 && phase.volts < 233.1);
            QVERIFY(phase.amperes * phase.volts >= std::abs(phase.watts) - 1e-6); // apparent >= active power
        }
        QVERIFY(now.hertz > 49.96 && now.hertz < 50.04);
        // Without vehicles the load is what profile (41 kW +- 3 %) and machine (12 kW) make.
        const double baseW = now.loadW - ev.powerW();
        QVERIFY(baseW > 38'000 && baseW < 56'000);
        least = std::min(least, baseW);
        most = std::max(most, baseW);
    }
    QVERIFY2(most - least > 12'000, "the machine was on and off");
    QVERIFY(pv1.powerW() > 0 && ev.powerW() > 0);
}

// What crossed the meter is what the load took less what the inverters gave: four energies counted in four classes and
// one added up here.
void SiteModelTest::energiesAreThoseOfTheParts()
{
    SiteModel site = makeSite();
    const PvModel &pv = site.addPv(100'000, 110'000); // exports at times
    BatteryModel &battery = site.addBattery({60'000, 30'000, 55, 1e9});
    double loadWh = 0;
    double lastImported = 0;
    double lastExported = 0;
    for (int step = 0; step < 18'000; ++step) {
        if (step % 500 == 0)
            battery.setSetpoint(step % 1'000 == 0 ? 25'000 : -25'000, site.nowS());
        site.advanceTo(kStart + step * SiteModel::kStep);
        loadWh += site.state().loadW * 0.1 / 3600;
        QVERIFY(site.state().importedWh >= lastImported && site.state().exportedWh >= lastExported);
        lastImported = site.state().importedWh;
        lastExported = site.state().exportedWh;
    }
    QVERIFY(lastImported > 100 && lastExported > 100);
    QVERIFY(isNear(lastImported - lastExported, loadWh - pv.totalWh() - battery.dischargedWh() + battery.chargedWh(),
                   1e-3));
}

// 10:07:30: commerce, January, workday, 67.977 kWh a quarter of 1 GWh a year: 271.908 kW x 0.15 = 40.786 kW, +- 3 %.
void SiteModelTest::baseLoadFollowsTheProfile()
{
    SiteModel site = makeSite(0);
    double sum = 0;
    for (int step = 0; step < 9'000; ++step) {
        site.advanceTo(kStart + step * SiteModel::kStep);
        sum += site.state().loadW;
        if (step == 4'500)
            QVERIFY(isNear(site.state().loadW, 40'786.2, 0.03 * 40'787));
    }
    QVERIFY2(isNear(sum / 9'000, 40'740, 200), "the ripple has no bias");
}

void SiteModelTest::stepsDoNotDependOnWhoLooks()
{
    SiteModel often = makeSite();
    SiteModel seldom = makeSite();
    often.addEv(32);
    seldom.addEv(32);
    for (int ms = 0; ms <= 60'000; ms += 37)
        often.advanceTo(kStart + std::chrono::milliseconds(ms));
    often.advanceTo(kStart + 60s);
    seldom.advanceTo(kStart + 60s);
    QCOMPARE(often.nowS(), 60.1);
    QCOMPARE(often.state().gridW, seldom.state().gridW);
    QCOMPARE(often.state().importedWh, seldom.state().importedWh);
}

void SiteModelTest::batteryStoresByHand()
{
    BatteryModel battery({10'000, 5'000, 50, 1e9});
    battery.setSetpoint(5'000, 0);
    battery.step(0, 1800); // long against the lag: 2,500 Wh out, 2,604.1667 Wh from the cells
    QVERIFY(isNear(battery.powerW(), 5'000));
    QVERIFY(isNear(battery.dischargedWh(), 2'500));
    QVERIFY(isNear(battery.storedWh(), 2'395.833333));
    QVERIFY(isNear(battery.socPercent(), 23.95833333));
    battery.setSetpoint(-5'000, 1800);
    battery.step(1800, 1800); // 2,500 Wh in, 2,400 Wh arrive
    QVERIFY(isNear(battery.chargedWh(), 2'500));
    QVERIFY(isNear(battery.storedWh(), 4'795.833333));
}

void SiteModelTest::batteryFollowsWithItsLag()
{
    BatteryModel battery({10'000, 5'000, 50, 60});
    battery.setSetpoint(5'000, 0);
    for (int i = 0; i < 5; ++i)
        battery.step(0.1 * i, 0.1);
    QVERIFY(isNear(battery.powerW(), 3'160.603, 0.001)); // 5,000 (1 - 1/e) after one time constant of 0.5 s
    battery.setSetpoint(0, 0.5);
    for (int i = 5; i < 55; ++i)
        battery.step(0.1 * i, 0.1);
    QCOMPARE(battery.powerW(), 0.0);
}

void SiteModelTest::batteryIsLimitedByItsBms()
{
    BatteryModel nearlyFull({10'000, 5'000, 95, 60});
    QVERIFY(isNear(nearlyFull.maxChargeW(), 2'500));
    QVERIFY(isNear(nearlyFull.maxDischargeW(), 5'000));
    nearlyFull.setSetpoint(-5'000, 0);
    nearlyFull.step(0, 5);
    QVERIFY(isNear(nearlyFull.powerW(), -2'500));

    BatteryModel nearlyEmpty({10'000, 5'000, 10, 60});
    QVERIFY(isNear(nearlyEmpty.maxDischargeW(), 2'500));
    QVERIFY(isNear(nearlyEmpty.maxChargeW(), 5'000));

    BatteryModel drained({10'000, 5'000, 20, 1e9});
    drained.setSetpoint(5'000, 0);
    for (int second = 0; second < 4 * 3600; ++second)
        drained.step(second, 1);
    QVERIFY(drained.socPercent() > 5 && drained.socPercent() < 5.2);
    BatteryModel charged({10'000, 5'000, 80, 1e9});
    charged.setSetpoint(-5'000, 0);
    for (int second = 0; second < 4 * 3600; ++second)
        charged.step(second, 1);
    QVERIFY(charged.socPercent() < 100 && charged.socPercent() > 99.8);
}

void SiteModelTest::batteryFallsToItsSafeValue()
{
    BatteryModel battery({10'000, 5'000, 50, 60});
    battery.setSetpoint(1'000, 0);
    double nowS = 0;
    const auto runUntil = [&](double endS) {
        for (; nowS < endS; ++nowS)
            battery.step(nowS, 1);
    };
    runUntil(50);
    battery.heartbeat(50);
    runUntil(110); // the last step began 59 s after the heartbeat
    QVERIFY(!battery.isSafe());
    QCOMPARE(battery.setpointW(), 1'000.0);
    runUntil(120);
    QVERIFY(battery.isSafe());
    QCOMPARE(battery.setpointW(), 0.0);
    QCOMPARE(battery.powerW(), 0.0);
    battery.setSetpoint(500, 120);
    runUntil(130);
    QVERIFY(!battery.isSafe());
    QVERIFY(isNear(battery.powerW(), 500, 0.001));
}

void SiteModelTest::pvObeysItsLimit()
{
    PvModel pv(10'000, 12'000);
    pv.step(60, 500); // 12 kW x 0.5
    QVERIFY(isNear(pv.powerW(), 6'000));
    QVERIFY(!pv.isLimited());
    pv.setLimitPercent(40);
    pv.step(60, 500);
    QVERIFY(isNear(pv.powerW(), 4'000));
    QVERIFY(pv.isLimited());
    pv.setLimitPercent(100);
    pv.step(60, 1'000); // 12 kW of panels at a 10 kW inverter
    QVERIFY(isNear(pv.powerW(), 10'000));
    QVERIFY(pv.isLimited());
    QVERIFY(isNear(pv.totalWh(), 100 + 4'000 / 60.0 + 10'000 / 60.0));
}

void SiteModelTest::pvStartsEachDayAtZero()
{
    SiteModel site = makeSite();
    const PvModel &pv = site.addPv(30'000, 33'000);
    site.advanceTo(kStart + 10h);
    QVERIFY(pv.todayWh() > 10'000);
    QCOMPARE(pv.powerW(), 0.0);   // 20:00
    site.advanceTo(kStart + 14h); // the step that begins at midnight
    QCOMPARE(pv.todayWh(), 0.0);
    QVERIFY(pv.totalWh() > 10'000);
}

void SiteModelTest::evPausesBelowSixAmperes()
{
    EvModel ev(16, 1, 0);
    ev.step(0, 20, 230);
    QCOMPARE(ev.state(), EvModel::State::Charging);
    QVERIFY(isNear(ev.currentA(), 16, 0.001));
    QVERIFY(isNear(ev.powerW(), 3 * 230 * 16, 1));
    ev.setLimitA(6);
    ev.step(20, 60, 230);
    QVERIFY(isNear(ev.powerW(), 3 * 230 * 6, 0.001));
    ev.setLimitA(5.9);
    ev.step(80, 60, 230);
    QCOMPARE(ev.powerW(), 0.0);
    QCOMPARE(ev.state(), EvModel::State::Waiting);
    ev.setLimitA(16);
    ev.setEnabled(false);
    ev.step(140, 60, 230);
    QCOMPARE(ev.powerW(), 0.0);
    ev.setEnabled(true);
    ev.step(200, 60, 230);
    QVERIFY(isNear(ev.powerW(), 3 * 230 * 16, 0.001));
}

void SiteModelTest::evFillsAndLeaves()
{
    EvModel ev(32, 7, 100);
    QList<EvModel::State> seen;
    double mostWh = 0;
    for (int second = 0; second < 86'400; ++second) {
        ev.step(second, 1, 230);
        if (seen.isEmpty() || seen.last() != ev.state())
            seen.append(ev.state());
        if (second == 99)
            QCOMPARE(ev.state(), EvModel::State::Free);
        mostWh = std::max(mostWh, ev.sessionWh());
    }
    using S = EvModel::State;
    QCOMPARE(seen.first(6), (QList<S>{S::Free, S::Charging, S::Full, S::Free, S::Charging, S::Full}));
    QVERIFY(mostWh >= 5'000 && mostWh < 40'100);
    QVERIFY(ev.totalWh() > mostWh);
}

QTEST_APPLESS_MAIN(SiteModelTest)
#include "tst_sitemodel.moc"
