// SPDX-License-Identifier: Apache-2.0
#include "bench/wideload.h"

#include "tools/sim/bulklayout.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace gridloom {

namespace {

QString deviceId(int device)
{
    return QStringLiteral("wide-%1").arg(device + 1, 3, 10, QLatin1Char('0'));
}
QString pointId(int point)
{
    return QStringLiteral("p%1").arg(point + 1, 5, 10, QLatin1Char('0'));
}

QJsonObject identity(const QString &id)
{
    return {{QStringLiteral("id"), id}, {QStringLiteral("name"), id}};
}

void put(DesignDocument &files, const QString &path, const QJsonObject &content)
{
    files.emplace(path.toUtf8(), QJsonDocument(content).toJson(QJsonDocument::Compact));
}

QJsonObject point(const QString &id, const char *kind, const char *type, int address, int periodMs)
{
    QJsonObject point = identity(id);
    point.insert(QStringLiteral("kind"), QLatin1String(kind));
    point.insert(QStringLiteral("address"), QStringLiteral("holding:%1").arg(address));
    point.insert(QStringLiteral("type"), QLatin1String(type));
    point.insert(QStringLiteral("order"), QStringLiteral("ABCD"));
    point.insert(QStringLiteral("periodMs"), periodMs);
    return point;
}

void putDevice(DesignDocument &files, const WideLoad &load, const QString &id, int port)
{
    QJsonObject channel = identity(id);
    channel.insert(QStringLiteral("driver"), QStringLiteral("modbus"));
    channel.insert(QStringLiteral("params"),
                   QJsonObject{{QStringLiteral("host"), QStringLiteral("127.0.0.1")}, {QStringLiteral("port"), port}});
    put(files, QStringLiteral("channels/%1.json").arg(id), channel);

    QJsonArray points;
    for (int p = 0; p < load.pointsPerDevice; ++p)
        points.append(point(pointId(p), "measured", "float32", 2 * p, load.periodMs));
    if (load.writePeriodMs > 0) {
        QJsonObject setpoint = point(QStringLiteral("setpoint"), "setpoint", "uint32", kWideSetpointBase, 60'000);
        setpoint.insert(QStringLiteral("write"), QJsonObject{{QStringLiteral("verify"), true}});
        points.append(setpoint);
        QJsonObject trigger = identity(id);
        trigger.insert(QStringLiteral("when"),
                       QJsonObject{{QStringLiteral("kind"), QStringLiteral("periodic")},
                                   {QStringLiteral("periodMs"), load.writePeriodMs}});
        put(files, QStringLiteral("triggers/%1.json").arg(id), trigger);
        files.emplace(QStringLiteral("triggers/%1.lua").arg(id).toUtf8(),
                      QStringLiteral("control.write(\"%1.setpoint\", run.number)\n").arg(id).toUtf8());
    }
    QJsonObject device = identity(id);
    device.insert(QStringLiteral("channel"), id);
    device.insert(QStringLiteral("params"), QJsonObject{{QStringLiteral("unit"), 1}});
    device.insert(QStringLiteral("points"), points);
    put(files, QStringLiteral("devices/%1.json").arg(id), device);
}

void putSink(DesignDocument &files, const WideLoad &load, int brokerPort)
{
    QJsonArray publications;
    const int perGroup = load.pointsPerDevice / load.groupsPerDevice;
    for (int d = 0; d < load.devices; ++d) {
        for (int g = 0; g < load.groupsPerDevice; ++g) {
            QJsonArray points;
            for (int p = 0; p < perGroup; ++p)
                points.append(pointId(g * perGroup + p));
            publications.append(QJsonObject{{QStringLiteral("id"), QStringLiteral("%1-%2").arg(deviceId(d)).arg(g)},
                                            {QStringLiteral("device"), deviceId(d)},
                                            {QStringLiteral("points"), points},
                                            {QStringLiteral("periodMs"), 1000},
                                            {QStringLiteral("qos"), 1}});
        }
    }
    QJsonObject sink = identity(QStringLiteral("broker"));
    sink.insert(QStringLiteral("sink"), QStringLiteral("mqtt"));
    sink.insert(
        QStringLiteral("params"),
        QJsonObject{{QStringLiteral("host"), QStringLiteral("127.0.0.1")}, {QStringLiteral("port"), brokerPort}});
    sink.insert(QStringLiteral("publications"), publications);
    put(files, QStringLiteral("sinks/broker.json"), sink);
}

} // namespace

QByteArray wideSimulation(const WideLoad &load)
{
    QJsonArray devices;
    for (int d = 0; d < load.devices; ++d)
        devices.append(QJsonObject{{QStringLiteral("id"), deviceId(d)},
                                   {QStringLiteral("type"), QStringLiteral("wide")},
                                   {QStringLiteral("values"), load.pointsPerDevice},
                                   {QStringLiteral("changeEveryMs"), load.periodMs}});
    return QJsonDocument(QJsonObject{{QStringLiteral("devices"), devices}}).toJson();
}

DesignDocument wideDesign(const WideLoad &load, const QHash<QString, int> &ports, int brokerPort)
{
    DesignDocument files;
    QJsonObject site = identity(QStringLiteral("bench"));
    site.insert(QStringLiteral("zone"), QStringLiteral("Europe/Vienna"));
    const QString mode = load.isStoredAlways ? QStringLiteral("realTime") : QStringLiteral("none");
    put(files, QStringLiteral("gridloom.json"),
        {{QStringLiteral("schema"), 1},
         {QStringLiteral("site"), site},
         {QStringLiteral("gateway"), identity(QStringLiteral("bench"))},
         {QStringLiteral("storage"), QJsonObject{{QStringLiteral("mode"), mode}}}});
    for (int d = 0; d < load.devices; ++d)
        putDevice(files, load, deviceId(d), ports.value(deviceId(d)));
    if (load.groupsPerDevice > 0)
        putSink(files, load, brokerPort);
    QJsonObject store = identity(QStringLiteral("history"));
    store.insert(QStringLiteral("store"), QStringLiteral("embedded"));
    put(files, QStringLiteral("stores/history.json"), store);
    return files;
}

} // namespace gridloom
