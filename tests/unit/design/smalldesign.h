// SPDX-License-Identifier: Apache-2.0
// A small design in which every section occurs and every key is right: tests change one thing at a time.
#pragma once

#include "core/design/designdocument.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace gridloom::test {

inline DesignDocument smallDesign()
{
    return {
        {"gridloom.json", R"({"schema": 1, "site": {"id": "hill-farm", "name": "Hill Farm", "zone": "Europe/Vienna"},
            "gateway": {"id": "gw1", "name": "Gateway 1"}, "storage": {"mode": "onChange", "deadband": 0.5}})"},
        {"channels/bus1.json",
         R"({"id": "bus1", "name": "Bus 1", "driver": "fieldbus", "params": {"host": "10.0.0.5"}})"},
        {"devices/meter1.json", R"({"id": "meter1", "name": "meter1", "channel": "bus1", "params": {"unit": 7},
            "storage": {"maxIntervalMs": 60000},
            "points": [
              {"id": "active-power", "name": "activePower", "kind": "measured", "address": "holding:100",
               "type": "float32", "order": "CDAB", "unit": "kW", "periodMs": 500, "storage": {"mode": "realTime"}},
              {"id": "setpoint", "name": "setpoint", "kind": "setpoint", "address": "holding:40", "type": "int16",
               "scale": 0.1, "unit": "kW", "write": {"min": -50, "max": 50, "rampPerS": 25, "minIntervalMs": 200}},
              {"id": "relay", "name": "relay", "kind": "status", "address": "holding:41", "type": "bool", "bit": 3},
              {"id": "losses", "name": "losses", "kind": "computed",
               "expression": "point('meter1.activePower').value * 0.02", "unit": "kW"}]})"},
        {"aggregations/demand.json", R"({"id": "demand", "name": "demand", "aggregations": [
              {"id": "mean-15min", "name": "mean15min", "inputs": ["meter1.active-power"], "windowMs": 900000,
               "fold": "timeWeightedMean", "unit": "kW"},
              {"id": "shaved", "name": "shaved", "unit": "kW"}]})"},
        {"alarms/site.json", R"({"id": "site", "name": "site", "alarms": [
              {"id": "peak", "name": "peak", "severity": "high", "text": "Demand near the limit",
               "condition": {"point": "demand.mean-15min", "kind": "high", "limit": 40, "deadband": 1},
               "onDelayMs": 1000},
              {"id": "silent", "name": "silent",
               "condition": {"point": "meter1.active-power", "kind": "stale", "maxAgeMs": 5000}},
              {"id": "shaving", "name": "shaving", "severity": "low"}]})"},
        {"triggers/peak.json", R"({"id": "peak", "name": "peak shaving", "when": {"kind": "periodic", "periodMs": 1000,
               "phaseMs": 100}, "priority": "demand", "params": {"limit": 40}})"},
        {"triggers/peak.lua", "local p = point(\"meter1.activePower\")\nlog(p.value)\n"},
        {"triggers/watch.json", R"({"id": "watch", "name": "watch", "when": {"kind": "onChange",
               "points": ["meter1.active-power", "meter1.relay"], "deadband": 0.5, "forMs": 10},
               "overlap": "queue", "queueLength": 5, "timeLimitMs": 50, "memoryLimitKb": 512})"},
        {"triggers/watch.lua", "log('changed')\n"},
        {"coordination/island.json", R"({"id": "island", "name": "island mode", "when": {"periodMs": 5000,
               "phaseMs": 500}, "priority": "gridLimit", "leaseMs": 4000, "durable": true, "steps": [
                 {"id": "one", "point": "meter1.setpoint", "value": 5, "deadlineMs": 300,
                  "compensate": {"previous": true}},
                 {"id": "two", "point": "meter1.setpoint", "value": {"point": "demand.shaved"}, "compensate": -50},
                 {"id": "three", "point": "meter1.setpoint", "value": {"run": true}, "compensate": null}]})"},
        {"sinks/broker.json", R"({"id": "broker", "name": "broker", "sink": "mqtt", "params": {"host": "127.0.0.1"},
               "outbox": {"quotaMb": 8}, "state": {"points": ["meter1", "demand.shaved"], "minIntervalMs": 200},
               "commands": true, "commandPriority": "comfort", "publications": [{"id": "meter", "device": "meter1", "points": ["active-power"], "periodMs": 1000},
                                {"id": "all", "device": "meter1", "qos": 0}]})"},
        {"stores/history.json", R"({"id": "history", "name": "history", "store": "embedded"})"},
    };
}

inline QJsonObject json(const char *text)
{
    return QJsonDocument::fromJson(text).object();
}

/// Manifests of the tests' own, so that these tests do not follow the plugins; no Lua check.
inline DesignContext smallContext()
{
    DesignContext context;
    context.manifests.emplace(QStringLiteral("driver/fieldbus"), json(R"({
        "params": {"host": {"type": "string", "required": true},
                   "port": {"type": "integer", "default": 502, "min": 1, "max": 65535},
                   "mode": {"type": "string", "default": "plain", "enum": ["plain", "fast"]},
                   "factor": {"type": "number", "max": 2.5, "unit": "s"},
                   "quirks": {"type": "object"}, "holes": {"type": "array"}, "keep": {"type": "boolean"}},
        "deviceParams": {"unit": {"type": "integer", "default": 1, "min": 0, "max": 255}},
        "addressPattern": "(holding|coil):[0-9]{1,5}", "capabilities": ["read", "write"]})"));
    context.manifests.emplace(QStringLiteral("driver/gauge"), json(R"({"capabilities": ["read"]})"));
    context.manifests.emplace(QStringLiteral("sink/mqtt"), json(R"({
        "params": {"host": {"type": "string", "required": true}, "port": {"type": "integer", "default": 1883}},
        "capabilities": ["commands"]})"));
    context.manifests.emplace(QStringLiteral("store/embedded"), json(R"({"params": {}})"));
    return context;
}

/// `root` with the value at a JSON pointer replaced; an undefined value removes it.
inline QJsonValue replaced(const QJsonValue &root, const QString &pointer, const QJsonValue &value)
{
    if (pointer.isEmpty())
        return value;
    QString step = pointer.section(QLatin1Char('/'), 1, 1);
    step.replace(QLatin1String("~1"), QLatin1String("/")).replace(QLatin1String("~0"), QLatin1String("~"));
    const QString rest = pointer.section(QLatin1Char('/'), 2);
    const QString below = rest.isEmpty() ? QString() : QLatin1Char('/') + rest;
    if (root.isArray()) {
        QJsonArray array = root.toArray();
        const QJsonValue item = replaced(array.at(step.toInt()), below, value);
        if (step.toInt() == array.size())
            array.append(item);
        else
            array.replace(step.toInt(), item);
        return array;
    }
    QJsonObject object = root.toObject();
    const QJsonValue member = replaced(object.value(step), below, value);
    if (member.isUndefined())
        object.remove(step);
    else
        object.insert(step, member);
    return object;
}

/// The small design with one value of one file replaced by JSON text; no text removes it.
inline DesignDocument changed(const QByteArray &path, const QString &pointer, const QByteArray &jsonText)
{
    DesignDocument document = smallDesign();
    const QJsonValue value = jsonText.isEmpty() ? QJsonValue(QJsonValue::Undefined)
                                                : QJsonDocument::fromJson("[" + jsonText + "]").array().at(0);
    const QJsonObject root = QJsonDocument::fromJson(document[path]).object();
    document[path] = QJsonDocument(replaced(root, pointer, value).toObject()).toJson();
    return document;
}

inline QByteArray texts(const std::vector<DesignFault> &faults)
{
    QByteArray all;
    for (const DesignFault &fault : faults)
        all += fault.code.toUtf8() + "  " + fault.text().toUtf8() + '\n';
    return all;
}

} // namespace gridloom::test
