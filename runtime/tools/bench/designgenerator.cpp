// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/designgenerator.h"

#include "tools/bench/bulkdesign.h"
#include "tools/bench/coordinationgenerator.h"
#include "tools/sim/bulklayout.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace gridloom {

namespace {

QString triggerId(int trigger)
{
    return numbered("trigger", trigger);
}

QString typeName(RegisterType type)
{
    switch (type) {
    case RegisterType::Int16: return QStringLiteral("int16");
    case RegisterType::UInt32: return QStringLiteral("uint32");
    default: return QStringLiteral("float32");
    }
}

QString orderName(const RegisterFormat &format)
{
    if (registerCount(format.type) == 1)
        return QStringLiteral("AB");
    return format.order == ByteOrder::WordSwapped ? QStringLiteral("CDAB") : QStringLiteral("ABCD");
}

class Generator {
public:
    Generator(const Scenario &scenario, const QHash<QString, int> &ports, int brokerPort)
        : m_scenario(scenario), m_ports(ports), m_brokerPort(brokerPort)
    {
    }

    DesignDocument files()
    {
        root();
        for (int d = 0; d < m_scenario.bulkDevices(); ++d)
            device(d);
        aggregations();
        alarms();
        for (int t = 0; t < m_scenario.triggers(); ++t)
            trigger(t);
        m_files.merge(coordinationTasks(m_scenario));
        sink();
        put(QStringLiteral("stores/history.json"),
            {{QStringLiteral("id"), QStringLiteral("history")},
             {QStringLiteral("name"), QStringLiteral("History")},
             {QStringLiteral("store"), QStringLiteral("embedded")}});
        return std::move(m_files);
    }

private:
    void put(const QString &path, const QJsonObject &content)
    {
        m_files.emplace(path.toUtf8(), QJsonDocument(content).toJson());
    }

    static QJsonObject storedAlways() { return {{QStringLiteral("mode"), QStringLiteral("realTime")}}; }

    void root()
    {
        QJsonObject site = identity(QStringLiteral("bench"), QStringLiteral("Bench"));
        site.insert(QStringLiteral("zone"), QStringLiteral("Europe/Vienna"));
        QJsonObject storage = storedAlways();
        if (!m_scenario.isRealTimeStorage)
            storage = {{QStringLiteral("mode"), QStringLiteral("onChange")},
                       {QStringLiteral("deadband"), 0},
                       {QStringLiteral("maxIntervalMs"), m_scenario.maxIntervalS * 1000}};
        put(QStringLiteral("gridloom.json"),
            {{QStringLiteral("schema"), 1},
             {QStringLiteral("site"), site},
             {QStringLiteral("gateway"), identity(QStringLiteral("bench"), QStringLiteral("bench"))},
             {QStringLiteral("storage"), storage}});
    }

    void device(int d)
    {
        const QString id = bulkDeviceId(d);
        QJsonObject channel = identity(id, id);
        channel.insert(QStringLiteral("driver"), QStringLiteral("modbus"));
        channel.insert(QStringLiteral("params"),
                       QJsonObject{{QStringLiteral("host"), QStringLiteral("127.0.0.1")},
                                   {QStringLiteral("port"), m_ports.value(id)}});
        put(QStringLiteral("channels/%1.json").arg(id), channel);

        QJsonArray points;
        for (const BulkPoint &p : bulkLayout(d)) {
            QJsonObject point = identity(p.id, p.id);
            point.insert(QStringLiteral("kind"), QStringLiteral("measured"));
            point.insert(QStringLiteral("address"), QStringLiteral("holding:%1").arg(p.address));
            point.insert(QStringLiteral("type"), typeName(p.format.type));
            point.insert(QStringLiteral("order"), orderName(p.format));
            if (p.format.scale != 1.0)
                point.insert(QStringLiteral("scale"), p.format.scale);
            point.insert(QStringLiteral("periodMs"), 1000);
            points.append(point);
        }
        for (int t = d; t < m_scenario.triggers(); t += m_scenario.bulkDevices())
            points.append(bulkSetpoint(setpointId(t), t / m_scenario.bulkDevices()));
        for (const QJsonObject &output : coordinationOutputs(m_scenario, d))
            points.append(output);
        QJsonObject device = identity(id, id);
        device.insert(QStringLiteral("channel"), id);
        device.insert(QStringLiteral("params"), QJsonObject{{QStringLiteral("unit"), 1}});
        device.insert(QStringLiteral("points"), points);
        put(QStringLiteral("devices/%1.json").arg(id), device);
    }

    int deviceOf(int trigger) const { return trigger % m_scenario.bulkDevices(); }
    QString setpointId(int trigger) const { return numbered("setpoint", trigger / m_scenario.bulkDevices()); }

    void aggregations()
    {
        QJsonArray means;
        for (int a = 0; a < m_scenario.aggregations; ++a) {
            QJsonArray inputs;
            for (int i = 0; i < kInputsPerAggregation; ++i) {
                const int d = (2 * a + i / kPointsPerBulkDevice) % m_scenario.bulkDevices();
                inputs.append(bulkDeviceId(d) + QLatin1Char('.') + bulkLayout(d).at(i % kPointsPerBulkDevice).id);
            }
            QJsonObject mean = identity(numbered("mean", a), numbered("mean", a));
            mean.insert(QStringLiteral("inputs"), inputs);
            mean.insert(QStringLiteral("windowMs"), 10'000);
            mean.insert(QStringLiteral("fold"), QStringLiteral("mean"));
            mean.insert(QStringLiteral("storage"), storedAlways());
            means.append(mean);
        }
        putSet(QStringLiteral("aggregations"), QStringLiteral("means"), means);

        QJsonArray rows;
        for (int t = 0; t < m_scenario.triggers(); ++t) {
            QJsonObject row = identity(triggerId(t), triggerId(t));
            row.insert(QStringLiteral("storage"), storedAlways());
            rows.append(row);
        }
        putSet(QStringLiteral("aggregations"), QStringLiteral("runs"), rows);
    }

    void alarms()
    {
        QJsonArray alarms;
        for (int t = 0; t < m_scenario.triggers(); ++t) {
            QJsonObject alarm = identity(triggerId(t), triggerId(t));
            alarm.insert(QStringLiteral("severity"), QStringLiteral("low"));
            alarm.insert(QStringLiteral("text"), QStringLiteral("Raised by every other run"));
            alarms.append(alarm);
        }
        putSet(QStringLiteral("alarms"), QStringLiteral("bench"), alarms);
    }

    /// A set is a file whose list is named like its folder.
    void putSet(const QString &folder, const QString &id, const QJsonArray &members)
    {
        QJsonObject set = identity(id, id);
        set.insert(folder, members);
        put(QStringLiteral("%1/%2.json").arg(folder, id), set);
    }

    QJsonObject when(int t) const
    {
        const bool isFast = t >= m_scenario.regularTriggers;
        if (!isFast && t % 2 == 1) {
            const int d = deviceOf(t);
            const QList<BulkPoint> points = bulkLayout(d);
            const auto changing = std::find_if(points.begin(), points.end(), [](const auto &p) { return p.changes; });
            return {{QStringLiteral("kind"), QStringLiteral("onChange")},
                    {QStringLiteral("points"), QJsonArray{bulkDeviceId(d) + QLatin1Char('.') + changing->id}}};
        }
        return {{QStringLiteral("kind"), QStringLiteral("periodic")},
                {QStringLiteral("periodMs"), isFast ? 1000 / kFastRunsPerSecond : 1000}};
    }

    void trigger(int t)
    {
        const QString id = triggerId(t);
        QJsonObject trigger = identity(id, id);
        trigger.insert(QStringLiteral("when"), when(t));
        trigger.insert(QStringLiteral("priority"), QStringLiteral("schedule"));
        put(QStringLiteral("triggers/%1.json").arg(id), trigger);
        const QString script = QStringLiteral("-- One run: a verified write, an alarm transition, a message, a row.\n"
                                              "control.write(\"%2.%3\", run.number)\n"
                                              "state.raised = not state.raised\n"
                                              "if state.raised then\n"
                                              "  alarm.raise(\"bench.%1\")\n"
                                              "else\n"
                                              "  alarm.clear(\"bench.%1\")\n"
                                              "end\n"
                                              "mqtt.publish(\"bench/%1\", {trigger = \"%1\", run = run.number})\n"
                                              "aggregation.write(\"runs.%1\", run.number)\n")
                                   .arg(id, bulkDeviceId(deviceOf(t)), setpointId(t));
        m_files.emplace(QStringLiteral("triggers/%1.lua").arg(id).toUtf8(), script.toUtf8());
    }

    void sink()
    {
        QJsonArray publications;
        for (int m = 0; m < m_scenario.mqttTargetPerS; ++m) {
            const int d = m * m_scenario.bulkDevices() / m_scenario.mqttTargetPerS;
            QJsonArray points;
            for (const BulkPoint &p : bulkLayout(d).mid(0, kPointsPerPublication))
                points.append(p.id);
            publications.append(QJsonObject{{QStringLiteral("id"), numbered("publication", m)},
                                            {QStringLiteral("device"), bulkDeviceId(d)},
                                            {QStringLiteral("points"), points},
                                            {QStringLiteral("periodMs"), 1000},
                                            {QStringLiteral("qos"), 1}});
        }
        QJsonObject sink = identity(QStringLiteral("broker"), QStringLiteral("broker"));
        sink.insert(QStringLiteral("sink"), QStringLiteral("mqtt"));
        sink.insert(
            QStringLiteral("params"),
            QJsonObject{{QStringLiteral("host"), QStringLiteral("127.0.0.1")}, {QStringLiteral("port"), m_brokerPort}});
        // A run's own message is its MQTT alarm; a second one for each transition is no part of the task.
        sink.insert(QStringLiteral("alarms"), false);
        sink.insert(QStringLiteral("publications"), publications);
        put(QStringLiteral("sinks/broker.json"), sink);
    }

    const Scenario &m_scenario;
    const QHash<QString, int> &m_ports;
    int m_brokerPort;
    DesignDocument m_files;
};

} // namespace

QByteArray generateSimulation(const Scenario &scenario)
{
    const int setpoints = scenario.triggerSetpoints() + coordinationSetpoints(scenario);
    QJsonArray devices;
    for (int d = 0; d < scenario.bulkDevices(); ++d)
        devices.append(QJsonObject{{QStringLiteral("id"), bulkDeviceId(d)},
                                   {QStringLiteral("type"), QStringLiteral("bulk")},
                                   {QStringLiteral("port"), 0},
                                   {QStringLiteral("unit"), 1},
                                   {QStringLiteral("setpoints"), setpoints}});
    return QJsonDocument(QJsonObject{{QStringLiteral("devices"), devices}}).toJson();
}

DesignDocument generateDesign(const Scenario &scenario, const QHash<QString, int> &ports, int brokerPort)
{
    return Generator(scenario, ports, brokerPort).files();
}

} // namespace gridloom
