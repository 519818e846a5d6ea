// SPDX-License-Identifier: Apache-2.0
// The sections of a design, each read from its folder into the Design with every fault found. Called once each, in the
// order of this file: later ones refer to earlier ones. Pure.
#pragma once

#include "core/design/designfiles.h"
#include "core/design/plugincatalog.h"
#include "core/design/pointindex.h"

namespace gridloom {

/// Words that must differ within a scope; the second of two equal ones is the fault.
class UniqueWords {
public:
    explicit UniqueWords(const char *code) : m_code(code) {}
    /// Empty words are faults already and not compared.
    void add(ObjectReader &reader, QStringView key, const QString &word);

private:
    const char *m_code;
    struct Place {
        QString path, pointer; ///< of the object
    };
    QHash<QString, Place> m_places;
};

/// What the sections share while one design is read.
struct DesignScope {
    const DesignContext &context;
    const DesignFiles &files;
    FaultList &faults;
    Design &design;
    PluginCatalog plugins;
    PointIndex points;
    UniqueWords ownerNames{"design.duplicateName"}; ///< devices and aggregation sets share one name space

    /// Calls read(reader, id, name) for each readable part of a folder, then faults unknown keys. The id is the file's.
    template<typename Read>
    void forEachPart(DesignFolder folder, UniqueWords &names, Read read);
    /// Syntax check, when the context has one; the fault goes to `path`, with `pointer` or a line.
    void checkLua(const QString &lua, bool isExpression, const QString &path, const QString &pointer);
};

void readRoot(DesignScope &scope);
void readChannels(DesignScope &scope);
void readDevices(DesignScope &scope);
/// Also gives all points their handles: whatever comes after can refer to points.
void readAggregations(DesignScope &scope);
void readAlarms(DesignScope &scope);
void readTriggers(DesignScope &scope);
void readCoordination(DesignScope &scope);
void readSinks(DesignScope &scope);
void readStores(DesignScope &scope);

/// "storage" of the object, each absent key taken from `inherited`.
StoragePolicy readStorage(ObjectReader &reader, const StoragePolicy &inherited);
/// A word of ControlPriority.
ControlPriority readPriority(ObjectReader &reader, QStringView key, ControlPriority byDefault);

/// "periodMs" and "phaseMs" of the object.
PeriodicTrigger readPeriod(ObjectReader &when);

inline constexpr std::int64_t kDesignSchema = 1;
inline constexpr Milliseconds kShortestPeriod{10};

template<typename Read>
void DesignScope::forEachPart(DesignFolder folder, UniqueWords &names, Read read)
{
    for (const auto &[id, part] : files.in(folder)) {
        if (!part.isReadable)
            continue;
        ObjectReader reader(part.object, part.path, {}, faults);
        const QString stated = reader.id(u"id");
        if (!stated.isEmpty() && stated != id)
            reader.fault(
                u"id", "design.idMismatch",
                QStringLiteral("\"%1\" differs from the file name; write \"%2\" or rename the file").arg(stated, id));
        const QString name = reader.name(u"name");
        names.add(reader, u"name", name);
        read(reader, id, name);
        reader.finish();
    }
}

} // namespace gridloom
