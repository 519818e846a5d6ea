// SPDX-License-Identifier: Apache-2.0
// sinks/ID.json: outbound connections and what they publish.
#include "core/design/nearestname.h"
#include "core/design/sections.h"

#include <QJsonArray>

#include <algorithm>

namespace gridloom {

namespace {

constexpr qsizetype kMostPublications = 10'000;
constexpr qsizetype kMostPoints = 10'000;
constexpr std::int64_t kMostQuotaMb = 4'096;

const Device *readDeviceOf(DesignScope &scope, ObjectReader &reader)
{
    const QString id = reader.text(u"device");
    const auto device = scope.design.devices.find(id);
    if (device != scope.design.devices.end())
        return &device->second;
    const auto &files = scope.files.in(DesignFolder::Devices);
    if (id.isEmpty() || files.count(id) > 0)
        return nullptr; // the text or the device's file is a fault already
    QStringList known;
    for (const auto &[deviceId, part] : files)
        known.append(deviceId);
    reader.fault(u"device", "design.unknownDevice",
                 QStringLiteral("there is no device %1%2; name a device by its id")
                     .arg(describe(id), reader.faults().mayStillSuggest() ? suggestion(id, known) : QString()));
    return nullptr;
}

QList<PointHandle> pointsOf(ObjectReader &reader, const Device &device, const std::vector<PlacedText> &wanted)
{
    QList<PointHandle> handles;
    if (!reader.has(u"points"))
        for (const Point &point : device.points)
            handles.append(point.handle);
    // Lists follow the order of the device for the most part: the search goes on where the last one ended.
    qsizetype at = 0;
    for (const PlacedText &id : wanted) {
        const auto isWanted = [&id](const Point &point) { return point.id == id.text; };
        auto found = std::find_if(device.points.begin() + at, device.points.end(), isWanted);
        if (found == device.points.end())
            found = std::find_if(device.points.begin(), device.points.begin() + at, isWanted);
        const bool isKnown = found != device.points.end() && isWanted(*found);
        if (isKnown) {
            at = found - device.points.begin();
            handles.append(found->handle);
        } else {
            QStringList known;
            for (const Point &point : device.points)
                known.append(point.id);
            reader.faultAt(id.pointer, "design.unknownPoint",
                           QStringLiteral("device \"%1\" has no point %2%3; name a point by its id alone")
                               .arg(device.id, describe(id.text),
                                    reader.faults().mayStillSuggest() ? suggestion(id.text, known) : QString()));
        }
    }
    return handles;
}

Publication readPublication(DesignScope &scope, ObjectReader &reader)
{
    Publication publication;
    publication.id = reader.id(u"id");
    const auto wanted = reader.texts(u"points", kMostPoints);
    if (const Device *device = readDeviceOf(scope, reader)) {
        publication.device = device->name;
        publication.points = pointsOf(reader, *device, wanted);
    }
    publication.period = reader.duration(u"periodMs", kShortestPeriod, publication.period);
    publication.qos = static_cast<int>(reader.integer(u"qos", 0, 2, publication.qos));
    reader.finish();
    return publication;
}

void readOutbox(ObjectReader &reader, SinkDefinition &sink)
{
    auto outbox = reader.child(u"outbox");
    if (!outbox)
        return;
    sink.outboxQuota = outbox->integer(u"quotaMb", 1, kMostQuotaMb, sink.outboxQuota >> 20) << 20;
    outbox->finish();
}

void readState(DesignScope &scope, ObjectReader &reader, SinkDefinition &sink)
{
    auto state = reader.child(u"state");
    if (!state)
        return;
    state->require(u"points");
    for (const PlacedText &reference : state->texts(u"points", kMostPoints)) {
        const auto device = scope.design.devices.find(reference.text);
        if (device == scope.design.devices.end()) {
            if (const PointHandle handle = scope.points.resolve(*state, reference); handle != kNoPoint)
                sink.statePoints.append(handle);
            continue;
        }
        for (const Point &point : device->second.points)
            sink.statePoints.append(point.handle);
    }
    std::sort(sink.statePoints.begin(), sink.statePoints.end()); // a device and a point of it may both be named
    sink.statePoints.erase(std::unique(sink.statePoints.begin(), sink.statePoints.end()), sink.statePoints.end());
    sink.stateMinInterval = state->duration(u"minIntervalMs", kShortestPeriod, sink.stateMinInterval);
    state->finish();
}

void readCommands(ObjectReader &reader, const QJsonObject *manifest, SinkDefinition &sink)
{
    sink.acceptsCommands = reader.boolean(u"commands", false);
    if (!sink.acceptsCommands) {
        reader.refuse(u"commandPriority", QStringLiteral("belongs to \"commands\": true"));
        return;
    }
    sink.commandPriority = readPriority(reader, u"commandPriority", sink.commandPriority);
    if (manifest && !manifest->value(u"capabilities").toArray().contains(QLatin1String("commands")))
        reader.fault(u"commands", "design.notAllowed", QStringLiteral("a sink of this kind receives nothing"));
}

} // namespace

void readSinks(DesignScope &scope)
{
    UniqueWords sinkNames("design.duplicateName");
    scope.forEachPart(
        DesignFolder::Sinks, sinkNames, [&](ObjectReader &reader, const QString &id, const QString &name) {
            SinkDefinition sink;
            sink.id = id;
            sink.name = name;
            const QJsonObject *manifest = scope.plugins.read(reader, u"sink", QStringLiteral("sink"), sink.sink);
            sink.params = PluginCatalog::params(reader, u"params", manifest, QStringLiteral("params"));
            sink.publishesAlarms = reader.boolean(u"alarms", true);
            readOutbox(reader, sink);
            readState(scope, reader, sink);
            readCommands(reader, manifest, sink);
            UniqueWords ids("design.duplicateId");
            for (ObjectReader &item : reader.children(u"publications", kMostPublications, false)) {
                sink.publications.append(readPublication(scope, item));
                ids.add(item, u"id", sink.publications.constLast().id);
            }
            scope.design.sinks.emplace(id, std::move(sink));
        });
}

} // namespace gridloom
