// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/generated.h"
#include "tools/sim/loadprofile.h"
#include "tools/sim/localtime.h"
#include "tools/sim/solarday.h"

#include <QFile>
#include <QTest>

using namespace gridloom;

namespace {

QByteArray profileFile(const char *name)
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/profiles/") + QLatin1String(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

double secondsOf(int hours, int minutes, int seconds = 0)
{
    return 3600 * hours + 60 * minutes + seconds;
}

bool isNear(double a, double b, double tolerance = 1e-9)
{
    return std::abs(a - b) <= tolerance;
}

} // namespace

class SimProfilesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void loadIsInterpolatedBetweenMiddlesOfQuarters();
    void loadTakesNearestMonthAndDayType();
    void loadRefusesGaps();
    void irradianceIsInterpolated();
    void solarDayMustBeComplete();
    void localTimeFollowsTheZone();
    void generatedSeriesStayInRange();
};

// Values of the file: commerce, January, workday: 11:00 68.055 and 11:15 67.816 kWh per quarter, that is 272.220 and
// 271.264 kW.
void SimProfilesTest::loadIsInterpolatedBetweenMiddlesOfQuarters()
{
    const auto profile = LoadProfile::parse(profileFile("load_profiles_15min.csv"), QStringLiteral("commerce"));
    QVERIFY(profile);
    const QDate thursday(2026, 1, 15);
    QVERIFY(isNear(profile.value().kilowatts(thursday, secondsOf(11, 7, 30)), 272.220));
    QVERIFY(isNear(profile.value().kilowatts(thursday, secondsOf(11, 22, 30)), 271.264));
    QVERIFY(isNear(profile.value().kilowatts(thursday, secondsOf(11, 15)), 271.742));
    QVERIFY(isNear(profile.value().kilowatts(thursday, secondsOf(11, 11, 15)), 271.981));
    // Saturday ends with 14.994, Sunday begins with 14.658 kWh: 59.976 and 58.632 kW, in the middle 59.304.
    QVERIFY(isNear(profile.value().kilowatts(QDate(2026, 1, 18), 0), 59.304));
    QVERIFY(isNear(profile.value().kilowatts(QDate(2026, 1, 17), 86'400), 59.304));
}

void SimProfilesTest::loadTakesNearestMonthAndDayType()
{
    const auto profile = LoadProfile::parse(profileFile("load_profiles_15min.csv"), QStringLiteral("commerce"));
    QVERIFY(profile);
    const auto atNoon = [&](int month, int day) {
        return profile.value().kilowatts(QDate(2026, month, day), secondsOf(12, 7, 30));
    };
    // Januaries at 12:00: workday 64.255, Saturday 33.241, Sunday 18.313 kWh.
    QVERIFY(isNear(atNoon(1, 15), 257.020));
    QVERIFY(isNear(atNoon(1, 17), 132.964));
    QVERIFY(isNear(atNoon(1, 18), 73.252));
    QCOMPARE(atNoon(12, 15), atNoon(1, 15)); // Tuesday; December is next to January
    QCOMPARE(atNoon(2, 12), atNoon(1, 15));
    QCOMPARE(atNoon(3, 12), atNoon(4, 9));
    QVERIFY(atNoon(3, 12) != atNoon(1, 15));
}

void SimProfilesTest::loadRefusesGaps()
{
    QByteArray csv = profileFile("load_profiles_15min.csv");
    QVERIFY(!LoadProfile::parse(csv, QStringLiteral("industry")));
    csv.replace("commerce,7,sunday,13:15", "commerce,7,sunday,13:30");
    const auto parsed = LoadProfile::parse(csv, QStringLiteral("commerce"));
    QVERIFY(!parsed);
    QCOMPARE(parsed.error().code, QStringLiteral("sim.profile"));
    QVERIFY(parsed.error().message.contains(QLatin1String("month 7")));
}

void SimProfilesTest::irradianceIsInterpolated()
{
    QByteArray csv("local_time,ghi_w_per_m2\n");
    for (int i = 0; i < 288; ++i)
        csv += QTime(0, 0).addSecs(300 * i).toString(QStringLiteral("HH:mm")).toLatin1() + ','
            + QByteArray::number(2 * i) + '\n';
    const auto day = SolarDay::parse(csv);
    QVERIFY(day);
    QCOMPARE(day.value().irradiance(0), 0.0);
    QCOMPARE(day.value().irradiance(300), 2.0);
    QCOMPARE(day.value().irradiance(375), 2.5);
    QCOMPARE(day.value().irradiance(287 * 300 + 150), 287.0); // half way from 574 back to midnight's 0
    QVERIFY(SolarDay::parse(profileFile("solar_day_5min.csv")));
}

void SimProfilesTest::solarDayMustBeComplete()
{
    QByteArray csv = profileFile("solar_day_5min.csv");
    QVERIFY(!SolarDay::parse(csv.chopped(9)));
    csv.replace("12:00,", "12:01,");
    const auto parsed = SolarDay::parse(csv);
    QVERIFY(!parsed);
    QVERIFY(parsed.error().message.contains(QLatin1String("12:00")));
}

// Europe/Vienna leaves summer time on 2026-10-25 at 01:00 UTC: local 02:59:59 is followed by 02:00:00.
void SimProfilesTest::localTimeFollowsTheZone()
{
    const QTimeZone vienna("Europe/Vienna");
    LocalTime time(QDateTime(QDate(2026, 10, 25), QTime(0, 30), vienna), vienna);
    QCOMPARE(time.at(0).date, QDate(2026, 10, 25));
    QCOMPARE(time.at(0).secondsOfDay, secondsOf(0, 30));
    QCOMPARE(time.at(secondsOf(2, 29, 59)).secondsOfDay, secondsOf(2, 59, 59));
    QCOMPARE(time.at(secondsOf(2, 30)).secondsOfDay, secondsOf(2, 0));
    // The day has 25 hours.
    QCOMPARE(time.at(secondsOf(24, 29, 59)).date, QDate(2026, 10, 25));
    QCOMPARE(time.at(secondsOf(24, 30)).date, QDate(2026, 10, 26));
    QCOMPARE(time.at(secondsOf(24, 30)).secondsOfDay, 0.0);
}

void SimProfilesTest::generatedSeriesStayInRange()
{
    double least = 1;
    double most = 0;
    int switches = 0;
    for (int tenths = 0; tenths < 36'000; ++tenths) {
        const double timeS = tenths / 10.0;
        const double sun = cloudTransmittance(3, timeS);
        QVERIFY(sun >= 0.35 - 1e-12 && sun <= 1);
        QVERIFY2(std::abs(sun - cloudTransmittance(3, timeS + 0.1)) < 0.05, "clouds come and go smoothly");
        least = std::min(least, sun);
        most = std::max(most, sun);
        switches += isMachineOn(3, timeS) != isMachineOn(3, timeS + 0.1);
    }
    QVERIFY(most == 1 && isNear(least, 0.35));
    // One cycle of 25 s switches twice: 288 times an hour.
    QVERIFY(switches >= 286 && switches <= 288);
    QVERIFY(ripple(1, 0.5, 2) != ripple(2, 0.5, 2));
}

QTEST_APPLESS_MAIN(SimProfilesTest)
#include "tst_simprofiles.moc"
