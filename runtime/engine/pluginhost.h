// SPDX-License-Identifier: Apache-2.0
// PluginHost: finds and loads plugins below PLUGINDIR/KINDs/ID/. At start, on
// the thread that will use the plugin; plugins are never unloaded.
#pragma once

#include "core/result.h"
#include "sdk/plugin.h"

#include <QString>

namespace gridloom {

class PluginHost {
public:
    explicit PluginHost(QString folder) : m_folder(std::move(folder)) {}

    /// The factory of a plugin. IID, api and Qt version are compared from the metadata before any of its code runs.
    /// Errors "plugin.notFound", "plugin.incompatible", "plugin.loadFailed" name the file.
    Result<DriverFactory *> driver(const QString &id) const;
    Result<SinkFactory *> sink(const QString &id) const;
    Result<StoreFactory *> store(const QString &id) const;

private:
    template<typename Factory>
    Result<Factory *> load(const char *kind, const QString &id, const char *iid) const;
    QString m_folder;
};

} // namespace gridloom
