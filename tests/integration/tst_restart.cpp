// SPDX-License-Identifier: Apache-2.0
// What a restart of the real gridloomd finds again (docs/adr/0004-restart-state.md): an alarm, an open window, a script's
// state, the numbers.
#include "support/gatewaybed.h"

#include <QDateTime>
#include <QJsonArray>
#include <QTest>
#include <QTimeZone>

#include <sqlite3.h>

using namespace gridloom;

namespace {
constexpr const char *kDevice = R"({"devices":[{"id":"dev","type":"bulk","setpoints":4}]})";
constexpr qint64 kWindowMs = 6'000;

DesignDocument design(int devicePort)
{
    DesignDocument files = GatewayBed::baseDesign(1); // nobody listens there
    GatewayBed::addBulkDevice(files, devicePort);
    GatewayBed::addPeriodicTrigger(files, "count", 200, R"(
        state.n = (state.n or 0) + 1
        state.first = state.first or {run = run.number, text = "kept"}
        if state.n == 3 then alarm.raise("site.event", "raised once") end
        aggregation.write("sums.n", state.n)
        aggregation.write("sums.first", state.first.run))");
    files["alarms/site.json"] =
        R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})";
    files["aggregations/sums.json"] = R"({"id":"sums","name":"sums","aggregations":[
        {"id":"n","name":"n"},{"id":"first","name":"first"},
        {"id":"mean","name":"mean","inputs":["dev.a"],"windowMs":6000,"fold":"timeWeightedMean","maxGapMs":5000}]})";
    return files;
}

QJsonValue valueOf(const QJsonObject &status, const char *point)
{
    return status[QLatin1String("values")][QLatin1String(point)];
}
qint64 number(const QJsonObject &status, const char *point)
{
    return valueOf(status, point)[QLatin1String("v")].toInteger(-1);
}
QJsonObject alarmOf(const QJsonObject &status, const char *id)
{
    for (const QJsonValue &alarm : status[QLatin1String("alarms")].toArray())
        if (alarm[QLatin1String("id")] == QLatin1String(id))
            return alarm.toObject();
    return {};
}
qint64 wallMs()
{
    return QDateTime::currentMSecsSinceEpoch();
}

QString textOf(const QString &database, const char *sql)
{
    sqlite3 *db = nullptr;
    sqlite3_stmt *statement = nullptr;
    QString text;
    if (sqlite3_open_v2(database.toUtf8().constData(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK
        && sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        text = QString::fromUtf8(reinterpret_cast<const char *>(sqlite3_column_text(statement, 0)));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}
} // namespace

class RestartTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void alarmsWindowsAndStatesGoOn();
};

void RestartTest::alarmsWindowsAndStatesGoOn()
{
    GatewayBed bed;
    const auto ports = bed.startSimulator(kDevice);
    bed.writeDesign(design(ports[QStringLiteral("dev")]));
    const QStringList watched = {QStringLiteral("--status-points"), QStringLiteral("sums.n,sums.first,sums.mean")};
    QVERIFY2(bed.startRuntime(watched), bed.runtime().output().constData());
    const auto hasGoodMean = [](const QJsonObject &s) {
        return valueOf(s, "sums.mean")[QLatin1String("q")] == QLatin1String("Good");
    };
    // A whole window has gone by, so the open one was seen from its beginning; restart in its first half.
    const QJsonObject before = bed.statusWhere([&](const QJsonObject &s) {
        const qint64 phase = wallMs() % kWindowMs;
        return hasGoodMean(s) && number(s, "sums.n") >= 5 && phase > 1'000 && phase < 2'600;
    });
    QVERIFY2(!before.isEmpty(), bed.runtime().output().constData());
    const qint64 windowStart = wallMs() / kWindowMs * kWindowMs;
    const QJsonObject alarm = alarmOf(before, "site.event");
    QCOMPARE(alarm[QLatin1String("state")].toString(), QStringLiteral("Unacknowledged"));
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().constData());
    const qint64 n = number(report, "sums.n");
    QVERIFY2(bed.startRuntime(watched), bed.runtime().output().constData());
    QVERIFY2(wallMs() < windowStart + kWindowMs - 500, "the machine is too busy: the window is over");

    const QString start =
        QDateTime::fromMSecsSinceEpoch(windowStart, QTimeZone::utc()).toString(QStringLiteral("yyyy-MM-ddTHH:mm:ss"));
    const QJsonObject after = bed.statusWhere(
        [&](const QJsonObject &s) { return valueOf(s, "sums.mean")[QLatin1String("t")].toString().startsWith(start); });
    QVERIFY2(!after.isEmpty(), bed.runtime().output().constData());
    QVERIFY(hasGoodMean(after)); // known from its first to its last second, in spite of the restart
    QVERIFY2(number(after, "sums.n") > n, qPrintable(QString::number(number(after, "sums.n"))));
    QCOMPARE(number(after, "sums.first"), number(before, "sums.first"));
    QCOMPARE(alarmOf(after, "site.event"), alarm);
    // The numbers went on, the revision is recorded once.
    const QString database = bed.stateDir() + QStringLiteral("/records.db");
    bed.killRuntime();
    QVERIFY2(bed.startRuntime(watched), bed.runtime().output().constData());
    const QJsonObject afterKill = bed.statusWhere([](const QJsonObject &s) { return number(s, "sums.first") > 0; });
    QCOMPARE(alarmOf(afterKill, "site.event"), alarm);
    QVERIFY(number(afterKill, "sums.n") > n); // at least what the orderly stop wrote
    QCOMPARE(number(afterKill, "sums.first"), number(before, "sums.first"));
    QVERIFY(bed.stopRuntime(report) == 0);
    QCOMPARE(textOf(database, "SELECT count(*) || ' ' || min(state) || ' ' || min(who) FROM deployments"),
             QStringLiteral("1 Applied start"));
    QCOMPARE(textOf(database, "SELECT count(*) FROM alarm_transitions WHERE alarm_id = 'site.event'"),
             QStringLiteral("1"));
    QVERIFY(textOf(database, "SELECT value FROM meta WHERE key = 'next_message'").toLongLong() < 400'000);
}

QTEST_GUILESS_MAIN(RestartTest)
#include "tst_restart.moc"
