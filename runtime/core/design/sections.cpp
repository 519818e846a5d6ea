// SPDX-License-Identifier: Apache-2.0
#include "core/design/sections.h"

#include "core/design/jsontext.h"

#include "core/design/nearestname.h"

#include <QTimeZone>

namespace gridloom {

namespace {
void checkZone(ObjectReader &site, const QByteArray &zone)
{
    const QList<QByteArray> known = QTimeZone::availableTimeZoneIds();
    // Qt also lists fixed offsets ("UTC+01:00"), which have no daylight saving and are no IANA names.
    if (zone.isEmpty() || (known.contains(zone) && !zone.startsWith("UTC+") && !zone.startsWith("UTC-")))
        return;
    QStringList names;
    for (const QByteArray &id : known)
        names.append(QString::fromLatin1(id));
    const QString text = QString::fromUtf8(zone);
    site.fault(u"zone", "design.unknownZone",
               QStringLiteral("there is no time zone %1%2; use an IANA name such as \"Europe/Vienna\"")
                   .arg(describe(text), suggestion(text, names)));
}
} // namespace

void UniqueWords::add(ObjectReader &reader, QStringView key, const QString &word)
{
    if (word.isEmpty())
        return;
    const auto it = m_places.constFind(word);
    if (it == m_places.constEnd())
        m_places.insert(word, {reader.path(), reader.pointer()});
    else
        reader.fault(key, m_code,
                     QStringLiteral("%1 is taken by %2; choose another")
                         .arg(describe(word), it->path + it->pointer + QLatin1Char('/') + escapedForPointer(key)));
}

void DesignScope::checkLua(const QString &lua, bool isExpression, const QString &path, const QString &pointer)
{
    if (!context.checkLua)
        return;
    if (const auto error = context.checkLua(lua, isExpression))
        faults.add({path, pointer, error->first, QStringLiteral("design.luaSyntax"),
                    error->second + QStringLiteral("; correct the Lua text")});
}

StoragePolicy readStorage(ObjectReader &reader, const StoragePolicy &inherited)
{
    static constexpr Choice<StoragePolicy::Mode> kModes[] = {{u"onChange", StoragePolicy::Mode::OnChange},
                                                             {u"realTime", StoragePolicy::Mode::RealTime},
                                                             {u"none", StoragePolicy::Mode::None}};
    auto storage = reader.child(u"storage");
    if (!storage)
        return inherited;
    StoragePolicy policy;
    policy.mode = storage->choice(u"mode", kModes, std::optional(inherited.mode));
    policy.deadband = storage->notNegative(u"deadband", inherited.deadband);
    policy.maxInterval = storage->duration(u"maxIntervalMs", kShortestPeriod, inherited.maxInterval);
    storage->finish();
    return policy;
}

void readRoot(DesignScope &scope)
{
    if (!scope.files.root || !scope.files.root->isReadable)
        return;
    const DesignPart &part = *scope.files.root;
    Design &design = scope.design;
    ObjectReader root(part.object, part.path, {}, scope.faults);
    root.integer(u"schema", 1, kDesignSchema);
    root.require(u"site");
    if (auto site = root.child(u"site")) {
        design.siteId = site->id(u"id");
        design.siteName = site->name(u"name");
        design.zone = site->text(u"zone").toUtf8();
        checkZone(*site, design.zone);
        site->finish();
    }
    root.require(u"gateway");
    if (auto gateway = root.child(u"gateway")) {
        design.gatewayId = gateway->id(u"id");
        design.gatewayName = gateway->name(u"name");
        gateway->finish();
    }
    design.storage = readStorage(root, StoragePolicy());
    root.finish();
}

void readChannels(DesignScope &scope)
{
    UniqueWords names("design.duplicateName");
    scope.forEachPart(DesignFolder::Channels, names, [&](ObjectReader &reader, const QString &id, const QString &name) {
        Channel channel;
        channel.id = id;
        channel.name = name;
        const QJsonObject *manifest = scope.plugins.read(reader, u"driver", QStringLiteral("driver"), channel.driver);
        channel.params = PluginCatalog::params(reader, u"params", manifest, QStringLiteral("params"));
        channel.isEnabled = reader.boolean(u"enabled", true);
        scope.design.channels.emplace(id, std::move(channel));
    });
}

void readStores(DesignScope &scope)
{
    UniqueWords names("design.duplicateName");
    scope.forEachPart(DesignFolder::Stores, names, [&](ObjectReader &reader, const QString &id, const QString &name) {
        StoreDefinition store;
        store.id = id;
        store.name = name;
        const QJsonObject *manifest = scope.plugins.read(reader, u"store", QStringLiteral("store"), store.store);
        store.params = PluginCatalog::params(reader, u"params", manifest, QStringLiteral("params"));
        if (!scope.design.stores.empty())
            reader.fault({}, "design.tooMany",
                         QStringLiteral("history has at most one store; remove this file or the other"));
        scope.design.stores.emplace(id, std::move(store));
    });
}

} // namespace gridloom
