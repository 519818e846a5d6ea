// SPDX-License-Identifier: Apache-2.0
#include "engine/pluginhost.h"

#include <QFileInfo>
#include <QJsonObject>
#include <QPluginLoader>
#include <QVersionNumber>

namespace gridloom {

namespace {
// What the metadata says against loading the plugin; empty when nothing does.
QString incompatibility(const QJsonObject &metaData, const QString &kind, const QString &id, const char *iid)
{
    if (metaData[QLatin1String("IID")].toString() != QLatin1String(iid))
        return QStringLiteral("it is for interface \"%1\", this program has \"%2\"")
            .arg(metaData[QLatin1String("IID")].toString(), QLatin1String(iid));
    const QJsonObject manifest = metaData[QLatin1String("MetaData")].toObject();
    if (manifest[QLatin1String("id")].toString() != id || manifest[QLatin1String("kind")].toString() != kind)
        return QStringLiteral("its manifest is that of %1 \"%2\"")
            .arg(manifest[QLatin1String("kind")].toString(), manifest[QLatin1String("id")].toString());
    if (manifest[QLatin1String("api")].toInt() != kSdkApi)
        return QStringLiteral("it was built for plugin API %1, this program has %2")
            .arg(manifest[QLatin1String("api")].toInt())
            .arg(kSdkApi);
    const auto needed = QVersionNumber::fromString(manifest[QLatin1String("qt")].toString());
    if (needed > QVersionNumber::fromString(QLatin1String(qVersion())))
        return QStringLiteral("it needs Qt %1, this is %2").arg(needed.toString(), QLatin1String(qVersion()));
    return {};
}
} // namespace

template<typename Factory>
Result<Factory *> PluginHost::load(const char *kind, const QString &id, const char *iid) const
{
    const QString kindName = QLatin1String(kind);
    const QString file = QStringLiteral("%1/%2s/%3/lib%3.so").arg(m_folder, kindName, id);
    if (!QFileInfo::exists(file))
        return Error{
            QStringLiteral("plugin.notFound"),
            QStringLiteral("No %1 plugin \"%2\": %3 does not exist. Check --plugin-dir.").arg(kindName, id, file)};
    QPluginLoader loader(file);
    const QString why = incompatibility(loader.metaData(), kindName, id, iid);
    if (!why.isEmpty())
        return Error{
            QStringLiteral("plugin.incompatible"),
            QStringLiteral("Plugin %1 was not loaded: %2. Install the plugin of this version.").arg(file, why)};
    auto *factory = qobject_cast<Factory *>(loader.instance());
    if (!factory)
        return Error{QStringLiteral("plugin.loadFailed"),
                     QStringLiteral("Plugin %1 could not be loaded: %2").arg(file, loader.errorString())};
    return factory;
}

Result<DriverFactory *> PluginHost::driver(const QString &id) const
{
    return load<DriverFactory>("driver", id, GRIDLOOM_DRIVER_IID);
}

Result<SinkFactory *> PluginHost::sink(const QString &id) const
{
    return load<SinkFactory>("sink", id, GRIDLOOM_SINK_IID);
}

Result<StoreFactory *> PluginHost::store(const QString &id) const
{
    return load<StoreFactory>("store", id, GRIDLOOM_STORE_IID);
}

} // namespace gridloom
