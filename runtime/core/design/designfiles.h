// SPDX-License-Identifier: Apache-2.0
// DesignFiles: the files of a design folder sorted into its parts, their text read but not yet understood. Pure.
#pragma once

#include "core/design/faultlist.h"

#include <QJsonObject>

#include <map>
#include <optional>

namespace gridloom {

/// The folders of a design; the file name of a part is its id.
enum class DesignFolder : std::uint8_t {
    Channels,
    Devices,
    Aggregations,
    Alarms,
    Triggers,
    Coordination,
    Sinks,
    Stores
};

struct DesignPart {
    QString path; ///< "devices/meter1.json"
    QString id;   ///< "meter1"
    QJsonObject object;
    bool isReadable = true; ///< false: its text is no JSON object, which is a fault already
};

struct DesignFiles {
    std::optional<DesignPart> root;                              ///< gridloom.json
    std::map<DesignFolder, std::map<QString, DesignPart>> parts; ///< by id
    std::map<QString, QString> scripts;                          ///< triggers/ID.lua by id, with LF line ends

    /// Files that are no part of a design (README.md, notes) are left out; what looks like a mistyped part is a fault.
    static DesignFiles read(const DesignDocument &document, FaultList &faults);
    const std::map<QString, DesignPart> &in(DesignFolder folder) const;
    /// The canonical form of what was read.
    QByteArray canonicalForm() const;

private:
    void add(const QString &path, const QByteArray &bytes, FaultList &faults);
};

} // namespace gridloom
