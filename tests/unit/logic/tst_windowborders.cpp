// SPDX-License-Identifier: Apache-2.0
// Borders of local windows (T10, T11, PC-19) against instants from the tz database's own tables and against a
// reference that walks through the local calendar minute by minute.
#include "core/window/tumblingwindow.h"

#include <QDateTime>
#include <QTest>

#include <random>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

WallTime wall(const char *iso)
{
    const QDateTime t = QDateTime::fromString(QLatin1String(iso), Qt::ISODateWithMs);
    return WallTime(std::chrono::milliseconds(t.toMSecsSinceEpoch()));
}

std::vector<WallTime> windowsBetween(WallTime from, WallTime to, Milliseconds size, const QTimeZone &zone)
{
    std::vector<WallTime> starts;
    for (WallTime t = from; t < to; t = TumblingWindow::windowEnd(t, size, zone))
        starts.push_back(t);
    return starts;
}

/// Borders in (from, to] found by walking minute by minute and asking the calendar for the local time.
std::vector<WallTime> walkedBorders(WallTime from, WallTime to, Milliseconds size, const QTimeZone &zone)
{
    const auto localOf = [&](WallTime t) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
        const QDateTime local = QDateTime::fromMSecsSinceEpoch(ms, zone);
        const qint64 sinceEpoch =
            QDate(1970, 1, 1).daysTo(local.date()) * 86'400'000 + local.time().msecsSinceStartOfDay();
        return std::pair(sinceEpoch, sinceEpoch - ms);
    };
    std::vector<WallTime> borders;
    for (WallTime t = from + 1min; t <= to; t += 1min) {
        const auto [before, offsetBefore] = localOf(t - 1min);
        const auto [now, offsetNow] = localOf(t);
        const bool isRepeat = offsetBefore != offsetNow && (offsetNow - offsetBefore) % size.count() == 0;
        if (isRepeat || before / size.count() != now / size.count())
            borders.push_back(t);
    }
    return borders;
}

} // namespace

class WindowBordersTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void localDays_data();
    void localDays();
    void agreesWithTheCalendar_data();
    void agreesWithTheCalendar();
    void everyInstantIsInItsWindow();
    void quarterHoursAtRandomStarts();
    void sizesThatDoNotDivideADay();
    void beforeTheEpoch();
};

void WindowBordersTest::localDays_data()
{
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<QByteArray>("start");
    QTest::addColumn<double>("hours");
    const auto row = [](const char *name, const char *zone, const char *start, double hours) {
        QTest::newRow(name) << QByteArray(zone) << QByteArray(start) << hours;
    };
    row("Vienna, end of summer time", "Europe/Vienna", "2025-10-25T22:00:00Z", 25);
    row("Vienna, start of summer time", "Europe/Vienna", "2026-03-28T23:00:00Z", 23);
    row("Vienna, a day of 2050", "Europe/Vienna", "2050-07-14T22:00:00Z", 24);
    row("Sydney, end", "Australia/Sydney", "2026-04-04T13:00:00Z", 25);
    row("Sydney, start", "Australia/Sydney", "2026-10-03T14:00:00Z", 23);
    row("Lord Howe, end: half an hour", "Australia/Lord_Howe", "2026-04-04T13:00:00Z", 24.5);
    row("Lord Howe, start", "Australia/Lord_Howe", "2026-10-03T13:30:00Z", 23.5);
    row("Kathmandu, 5:45 ahead", "Asia/Kathmandu", "2026-06-30T18:15:00Z", 24);
    row("Santiago, no midnight", "America/Santiago", "2025-09-07T04:00:00Z", 23);
    row("Santiago, end before midnight", "America/Santiago", "2025-04-05T03:00:00Z", 25);
    row("Havana, midnight twice", "America/Havana", "2025-11-02T04:00:00Z", 25);
    row("Shanghai", "Asia/Shanghai", "2026-07-29T16:00:00Z", 24);
    row("UTC", "UTC", "2026-07-29T00:00:00Z", 24);
}

void WindowBordersTest::localDays()
{
    QFETCH(QByteArray, zone);
    QFETCH(QByteArray, start);
    QFETCH(double, hours);
    const QTimeZone tz(zone);
    QVERIFY(tz.isValid());
    const WallTime from = wall(start.constData());
    const WallTime to = from + std::chrono::minutes(static_cast<int>(hours * 60));
    for (const WallTime t : {from, from + 1us, from + 90min, from + 3h, to - 1us})
        QCOMPARE(TumblingWindow::windowStart(t, 24h, tz).time_since_epoch().count(), from.time_since_epoch().count());
    QVERIFY(TumblingWindow::windowStart(from - 1us, 24h, tz) < from);
    QCOMPARE(TumblingWindow::windowEnd(from, 24h, tz).time_since_epoch().count(), to.time_since_epoch().count());
    QCOMPARE(windowsBetween(from, to, 15min, tz).size(), static_cast<std::size_t>(hours * 4));
}

void WindowBordersTest::agreesWithTheCalendar_data()
{
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<QByteArray>("from");
    for (const auto &[zone, from] :
         {std::pair{"Europe/Vienna", "2025-10-25T12:00:00Z"}, std::pair{"Europe/Vienna", "2026-03-28T12:00:00Z"},
          std::pair{"Australia/Lord_Howe", "2026-04-04T03:00:00Z"},
          std::pair{"Australia/Lord_Howe", "2026-10-03T03:00:00Z"},
          std::pair{"America/Santiago", "2025-09-06T12:00:00Z"}, std::pair{"America/Santiago", "2025-04-05T12:00:00Z"},
          std::pair{"America/Havana", "2025-11-01T12:00:00Z"}, std::pair{"America/St_Johns", "2026-11-01T00:00:00Z"},
          std::pair{"Asia/Kathmandu", "2026-01-01T00:00:00Z"}})
        QTest::newRow(zone + QByteArray(" ") + from) << QByteArray(zone) << QByteArray(from);
}

void WindowBordersTest::agreesWithTheCalendar()
{
    QFETCH(QByteArray, zone);
    QFETCH(QByteArray, from);
    const QTimeZone tz(zone);
    const WallTime begin = wall(from.constData());
    const WallTime end = begin + 60h;
    for (const Milliseconds size : {Milliseconds(1min), Milliseconds(5min), Milliseconds(15min), Milliseconds(30min),
                                    Milliseconds(40min), Milliseconds(1h), Milliseconds(2h), Milliseconds(4h),
                                    Milliseconds(6h), Milliseconds(12h), Milliseconds(24h)}) {
        std::vector<WallTime> borders;
        WallTime t = TumblingWindow::windowEnd(TumblingWindow::windowStart(begin, size, tz), size, tz);
        for (; t <= end; t = TumblingWindow::windowEnd(t, size, tz)) {
            QCOMPARE(TumblingWindow::windowStart(t, size, tz) == t, true);
            borders.push_back(t);
        }
        QVERIFY2(borders == walkedBorders(begin, end, size, tz), qPrintable(QString::number(size.count())));
    }
}

void WindowBordersTest::everyInstantIsInItsWindow()
{
    std::mt19937_64 random(19);
    const QTimeZone zones[] = {QTimeZone("Europe/Vienna"), QTimeZone("Australia/Lord_Howe"),
                               QTimeZone("America/Santiago"), QTimeZone("Asia/Kathmandu")};
    const Milliseconds sizes[] = {100ms, 10s, 15min, 1h, 24h, 7min};
    for (int i = 0; i < 4000; ++i) {
        // 1990 to 2040, to the microsecond
        const WallTime t(std::chrono::microseconds(631'152'000'000'000
                                                   + static_cast<std::int64_t>(random() % 1'577'836'800'000'000)));
        const QTimeZone &zone = zones[random() % std::size(zones)];
        const Milliseconds size = sizes[random() % std::size(sizes)];
        const WallTime start = TumblingWindow::windowStart(t, size, zone);
        const WallTime end = TumblingWindow::windowEnd(start, size, zone);
        QVERIFY(start <= t && t < end);
        QVERIFY(TumblingWindow::windowStart(start, size, zone) == start);
        QVERIFY(TumblingWindow::windowStart(end - 1us, size, zone) == start);
        QVERIFY(TumblingWindow::windowStart(end, size, zone) == end);
    }
}

// T11: wherever a start falls, borders are at :00 :15 :30 :45 local.
void WindowBordersTest::quarterHoursAtRandomStarts()
{
    std::mt19937 random(11);
    const QTimeZone zone("Asia/Kathmandu");
    for (int i = 0; i < 200; ++i) {
        const WallTime t = wall("2026-08-01T00:00:00Z") + std::chrono::seconds(random() % 86'400);
        const WallTime start = TumblingWindow::windowStart(t, 15min, zone);
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(start.time_since_epoch()).count();
        const QTime local = QDateTime::fromMSecsSinceEpoch(ms, zone).time();
        QCOMPARE(local.minute() % 15, 0);
        QCOMPARE(local.second() * 1000 + local.msec(), 0);
        QVERIFY(t - start < 15min);
    }
}

void WindowBordersTest::sizesThatDoNotDivideADay()
{
    const QTimeZone vienna("Europe/Vienna");
    const WallTime t = wall("2025-10-26T00:30:00Z");
    const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
    const WallTime start = TumblingWindow::windowStart(t, 7min, vienna);
    QCOMPARE(std::chrono::duration_cast<std::chrono::seconds>(start.time_since_epoch()).count(),
             seconds - seconds % 420);
    QVERIFY(TumblingWindow::windowEnd(start, 7min, vienna) == start + 7min);
}

void WindowBordersTest::beforeTheEpoch()
{
    const QTimeZone vienna("Europe/Vienna"); // +1:00 in 1969
    const WallTime t = wall("1969-12-31T22:59:59.999Z");
    QVERIFY(TumblingWindow::windowStart(t, 24h, vienna) == wall("1969-12-30T23:00:00Z"));
    QVERIFY(TumblingWindow::windowStart(t, 15min, vienna) == wall("1969-12-31T22:45:00Z"));
    QVERIFY(TumblingWindow::windowStart(t, 7min, vienna) <= t);
}

QTEST_APPLESS_MAIN(WindowBordersTest)
#include "tst_windowborders.moc"
