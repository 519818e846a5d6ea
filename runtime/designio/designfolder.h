// SPDX-License-Identifier: Apache-2.0
// Reads a design folder into a DesignDocument. Blocking file access; any thread.
#pragma once

#include "core/design/designdocument.h"
#include "core/result.h"

namespace gridloom {

/// gridloom.json and every *.json and *.lua of the sub-folders (channels, devices, ...; one level), each at most 4 MB,
/// 64 MB together; symbolic links, hidden and other files are left out. Whether they make a design is parseDesign()'s
/// business. Error "design.noFolder", "design.unreadable", "design.tooLarge".
Result<DesignDocument> readDesignFolder(const QString &folder);

/// All manifests below a plugin folder (KINDS/ID/plugin.json) as DesignContext::manifests wants them; none when there
/// is no such folder. Error "design.unreadable" when one is no JSON or states no kind and id.
Result<std::map<QString, QJsonObject>> readManifests(const QString &pluginFolder);

} // namespace gridloom
