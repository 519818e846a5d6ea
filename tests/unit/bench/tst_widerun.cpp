// SPDX-License-Identifier: Apache-2.0
#include "bench/wideload.h"
#include "bench/widerun.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

using namespace gridloom;

class WideRunTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void delaysAreThoseSinceTheGrid();
    void theDesignHasEveryPointOnce();
};

void WideRunTest::delaysAreThoseSinceTheGrid()
{
    constexpr std::int64_t kMs = 1'000'000;
    // Due at 100, 200, 300, 400 ms; the second comes 101 ms late, just before the third.
    const std::vector<double> expected{1, 101, 2, 99};
    QCOMPARE(delaysOnGrid({101 * kMs, 301 * kMs, 302 * kMs, 499 * kMs}, 100 * kMs), expected);
}

void WideRunTest::theDesignHasEveryPointOnce()
{
    const WideLoad load{.devices = 2, .pointsPerDevice = 6, .groupsPerDevice = 3, .writePeriodMs = 100};
    const DesignDocument files =
        wideDesign(load, {{QStringLiteral("wide-001"), 5001}, {QStringLiteral("wide-002"), 5002}}, 1883);
    QStringList acquired, published;
    for (const QByteArray path : {"devices/wide-001.json", "devices/wide-002.json"}) {
        const QJsonObject device = QJsonDocument::fromJson(files.at(path)).object();
        for (const QJsonValue &point : device.value(QLatin1String("points")).toArray())
            if (point.toObject().value(QLatin1String("kind")).toString() == QLatin1String("measured"))
                acquired << device.value(QLatin1String("id")).toString()
                        + point.toObject().value(QLatin1String("id")).toString();
    }
    const QJsonObject sink = QJsonDocument::fromJson(files.at("sinks/broker.json")).object();
    for (const QJsonValue &publication : sink.value(QLatin1String("publications")).toArray())
        for (const QJsonValue &point : publication.toObject().value(QLatin1String("points")).toArray())
            published << publication.toObject().value(QLatin1String("device")).toString() + point.toString();
    QCOMPARE(acquired.size(), load.points());
    QCOMPARE(published, acquired);
    QCOMPARE(QJsonDocument::fromJson(files.at("channels/wide-002.json"))
                 .object()
                 .value(QLatin1String("params"))
                 .toObject()
                 .value(QLatin1String("port"))
                 .toInt(),
             5002);
}

QTEST_APPLESS_MAIN(WideRunTest)
#include "tst_widerun.moc"
