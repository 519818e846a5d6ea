// SPDX-License-Identifier: Apache-2.0
// Reads a design folder into a DesignDocument. Blocking file access; any thread.
#pragma once

#include "core/design/designdocument.h"
#include "core/result.h"

namespace gridloom {

/// Every file of the known sub-folders (channels, devices, ...) and gridloom.json, each at most 4 MB, 64 MB together;
/// symbolic links and other files are left out. Error "design.noFolder", "design.unreadable", "design.tooLarge".
Result<DesignDocument> readDesignFolder(const QString &folder);

/// All manifests below a plugin folder (KIND/ID/plugin.json) as DesignContext::manifests wants them.
Result<std::map<QString, QJsonObject>> readManifests(const QString &pluginFolder);

} // namespace gridloom
