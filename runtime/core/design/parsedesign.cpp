// SPDX-License-Identifier: Apache-2.0
// parseDesign(): the order in which the sections of a design are read.
#include "core/design/sections.h"

namespace gridloom {

namespace {

/// False when the rest must not be judged: with the schema of a later version every further fault would be noise.
bool checkRoot(const DesignFiles &files, FaultList &faults)
{
    const QString path = QStringLiteral("gridloom.json");
    if (!files.root) {
        faults.add(
            {path,
             {},
             0,
             QStringLiteral("design.missingFile"),
             QStringLiteral("the file is missing; it marks a folder as a design, so check the folder or add it")});
        return true;
    }
    const qint64 schema = files.root->object.value(u"schema").toInteger(0);
    if (schema <= kDesignSchema)
        return true;
    faults.add({path, QStringLiteral("/schema"), 0, QStringLiteral("design.newerSchema"),
                QStringLiteral("the design was made for schema %1 and this version reads schema %2; update Gridloom "
                               "or export the design for the older schema")
                    .arg(schema)
                    .arg(kDesignSchema)});
    return false;
}

} // namespace

ParsedDesign parseDesign(const DesignDocument &document, const DesignContext &context)
{
    FaultList faults;
    const DesignFiles files = DesignFiles::read(document, faults);
    auto design = std::make_shared<Design>();
    if (checkRoot(files, faults)) {
        DesignScope scope{context, files, faults, *design, PluginCatalog(context.manifests), {}};
        readRoot(scope);
        readChannels(scope);
        readDevices(scope);
        readAggregations(scope);
        readAlarms(scope);
        readTriggers(scope);
        readCoordination(scope);
        readSinks(scope);
        readStores(scope);
    }
    if (!faults.isEmpty())
        return {nullptr, faults.take()};
    design->revision = revisionHash(files.canonicalForm());
    return {std::move(design), {}};
}

} // namespace gridloom
