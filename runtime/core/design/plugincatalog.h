// SPDX-License-Identifier: Apache-2.0
// PluginCatalog: what a design may ask of plugins, read from their manifests as data (sdk/plugin.h describes the form).
// The manifests outlive the catalog. Pure.
#pragma once

#include "core/design/objectreader.h"

#include <QHash>
#include <QRegularExpression>

namespace gridloom {

class PluginCatalog {
public:
    /// By "KIND/ID", as DesignContext::manifests.
    explicit PluginCatalog(const std::map<QString, QJsonObject> &manifests) : m_manifests(manifests) {}

    /// The plugin that `key` of the reader names; its manifest, or nothing with a fault "design.unknownPlugin".
    const QJsonObject *read(ObjectReader &reader, QStringView key, const QString &kind, QString &id) const;
    /// The parameters under `key` of the reader, checked against a description such as the manifest's "params", with
    /// the defaults filled in. Without a manifest they come back unchecked.
    static QJsonObject params(ObjectReader &reader, QStringView key, const QJsonObject *manifest,
                              const QString &description);
    /// Whether a driver knows an address of this form; true when its manifest states no pattern.
    bool isAddress(const QString &driver, const QString &address);
    QString addressPattern(const QString &driver) const;
    const QJsonObject *find(const QString &kind, const QString &id) const;

private:
    const std::map<QString, QJsonObject> &m_manifests;
    QHash<QString, QRegularExpression> m_patterns; ///< by driver, compiled once; without pattern: no form is asked for
};

} // namespace gridloom
